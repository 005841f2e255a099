import assert from "node:assert/strict";
import { test } from "node:test";
import { aroundStatements, histogramStatement, identifier, lineAndColumn, literal, patternCondition, rowsStatement, topStatement, wordAt } from "../../../console/lib/sql.js";

test("names are quoted where PostgreSQL needs it", () => {
  assert.deepEqual(["level", "Level", "@timestamp", "order", 'a"b', "1st"].map(identifier), ["level", '"Level"', '"@timestamp"', '"order"', '"a""b"', '"1st"']);
});

test("values are literals", () => assert.deepEqual([1, "it's", true, null, -0.5].map(literal), ["1", "'it''s'", "true", "NULL", "-0.5"]));

test("rows are the newest first, up to the limit", () => {
  assert.equal(rowsStatement({ dataset: "app", where: "a = 1", time: "p_timestamp", limit: 10 }), "SELECT * FROM app WHERE a = 1 ORDER BY p_timestamp DESC LIMIT 10");
  assert.equal(rowsStatement({ dataset: "a-b" }), 'SELECT * FROM "a-b"');
});

test("a histogram keeps the named values apart", () => {
  const statement = histogramStatement({ dataset: "app", time: "t", widthMs: 1000, originMs: 0, field: "level", values: ["info", "x'y"] });
  assert.match(statement, /level::text IN \('info', 'x''y'\) THEN level::text WHEN level IS NULL THEN '\(none\)' ELSE '\(other\)' END AS k/);
  assert.match(statement, /date_bin\('1000 milliseconds', t, TIMESTAMPTZ '1970-01-01T00:00:00.000Z'\)/);
});

test("top values are counted as text", () => assert.match(topStatement({ dataset: "app", where: "", field: "a b", limit: 3 }), /SELECT "a b"::text AS value, count\(\*\) AS n FROM app GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT 3/));

test("surrounding rows are asked for either side", () => {
  const [before, after] = aroundStatements({ dataset: "app", time: "t", at: "2026-01-01T00:00:00Z", where: "a = 1 OR b = 2", count: 5 });
  assert.match(before, /\(a = 1 OR b = 2\) AND t < '2026-01-01T00:00:00Z' ORDER BY t DESC LIMIT 5/);
  assert.match(after, /t >= '2026-01-01T00:00:00Z' ORDER BY t ASC LIMIT 5/);
});

test("a pattern becomes a condition that takes its own signs as they are", () => assert.equal(patternCondition("message", "100% of <n> ms_<id>"), "message LIKE '100\\% of % ms\\_%'"));

test("a position is a line and a column, in characters", () => {
  assert.deepEqual(lineAndColumn("SELECT 1\nFROM 😀 x", 17), { line: 2, column: 8 });
  assert.deepEqual(lineAndColumn("SELECT", 1), { line: 1, column: 1 });
});

test("the word at a position is marked, the last character at the end", () => {
  assert.deepEqual(wordAt("SELECT foo FROM", 8), [7, 10]);
  assert.deepEqual(wordAt("😀 foo", 3), [3, 6]);
  assert.deepEqual(wordAt("SELECT", 7), [5, 6]);
});
