// The parameters `$1`, `$2`, … of a statement: where they stand, and their values in an address. Pure.
import { literal } from "./sql.js";

// What may hold a `$1` that is none: texts, quoted names, comments, dollar-quoted texts (PostgreSQL manual 4.1).
const TOKENS = /\b[eE]'(?:[^'\\]|\\[\s\S]|'')*'|'(?:[^']|'')*'|"(?:[^"]|"")*"|--[^\n]*|\/\*[\s\S]*?\*\/|\$([A-Za-z_]\w*)?\$[\s\S]*?\$\1\$|\$(\d{1,3})/g;

/** How many values the statement takes: the highest number of a placeholder. */
export const countParameters = (text) => Math.max(0, ...[...text.matchAll(TOKENS)].map((found) => Number(found[2] ?? 0)));

const name = (at) => `p${at + 1}`;

/** The values that an address holds for so many placeholders. */
export const valuesIn = (query, count) => Array.from({ length: count }, (_, at) => query[name(at)] ?? "");

/** The values as an address holds them; those of placeholders that are gone, and empty ones, are taken out. */
export const asQuery = (values, before) => ({
  ...Object.fromEntries(Object.keys(before).filter((each) => /^p\d+$/.test(each)).map((each) => [each, ""])),
  ...Object.fromEntries(values.map((value, at) => [name(at), value])),
});

/** The statement with its values as texts, for those who keep statements without parameters. */
export const inlined = (text, values) =>
  text.replace(TOKENS, (whole, _, number) => (number && Number(number) >= 1 && Number(number) <= values.length ? literal(values[Number(number) - 1]) : whole));
