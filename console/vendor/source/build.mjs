// `make vendor`: bundles what the console takes from npm, with its licences and checksums beside it.
import { createHash } from "node:crypto";
import { readFileSync, readdirSync, writeFileSync } from "node:fs";
import { build } from "esbuild";

const ENTRIES = ["core.js", "plot.js", "plot.css", "editor.js"];

const { metafile } = await build({
  entryPoints: ENTRIES,
  outdir: "..",
  bundle: true,
  minify: true,
  format: "esm",
  target: "es2022",
  legalComments: "none", // LICENSES.txt has them all, and whole.
  metafile: true,
});

// Every package that a byte of a bundle comes from.
const packages = new Set(
  Object.values(metafile.outputs)
    .flatMap((output) => Object.keys(output.inputs))
    .map((path) => /node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(path)?.[1])
    .filter(Boolean),
);

const texts = [...packages].sort().map((name) => {
  const folder = `node_modules/${name}`;
  const { version, license } = JSON.parse(readFileSync(`${folder}/package.json`, "utf8"));
  const file = readdirSync(folder).find((each) => /^licen[cs]e/i.test(each));
  if (!file) throw new Error(`${name} comes without its licence`);
  return `${name} ${version} (${license})\n\n${readFileSync(`${folder}/${file}`, "utf8").trim()}\n`;
});
writeFileSync("../LICENSES.txt", texts.join(`\n${"-".repeat(80)}\n\n`));

const digest = (name) => createHash("sha256").update(readFileSync(`../${name}`)).digest("hex");
const sources = readdirSync(".").filter((name) => name !== "node_modules");
const listed = [...ENTRIES, "LICENSES.txt", ...sources.sort().map((name) => `source/${name}`)];
writeFileSync("../SHA256SUMS", listed.map((name) => `${digest(name)}  ${name}\n`).join(""));
