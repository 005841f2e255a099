// Asks as a program with node-postgres does; prints what it got as JSON.
const { Client } = require("pg");
const Cursor = require("pg-cursor");

async function main() {
  const [port, user, password] = process.argv.slice(2);
  const client = new Client({ host: "127.0.0.1", port: Number(port), user, password, database: "weir" });
  await client.connect();
  const counted = await client.query("SELECT level, count(*)::int AS n FROM app WHERE took > $1 GROUP BY 1 ORDER BY 1", [100]);
  const named = await client.query({ name: "q", text: "SELECT tags, ok FROM app WHERE message = $1", values: ["it's 3"] });
  const cursor = client.query(new Cursor("SELECT message FROM app"));
  const read = [(await cursor.read(5)).length, (await cursor.read(7)).length];
  await cursor.close();
  const failed = await client.query("SELECT nope FROM app").catch((error) => [error.code, error.position]);
  await client.end();
  console.log(JSON.stringify({ counted: counted.rows, named: named.rows, read, failed }));
}

main();
