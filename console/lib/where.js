// Conditions: as the pills of a page and as the SQL behind WHERE, from either to the other without loss. Pure.
import { identifier, literal } from "./sql.js";

/**
 * @typedef {{field?: string, op?: string, value?: string | number | boolean | null, sql?: string}} Pill
 * What cannot be shown as field, operator and value stays SQL.
 */

export const OPERATORS = [
  ["=", "is"],
  ["!=", "is not"],
  ["contains", "contains"],
  ["excludes", "does not contain"],
  [">", "is over"],
  [">=", "is at least"],
  ["<", "is under"],
  ["<=", "is at most"],
  ["null", "is empty"],
  ["present", "is present"],
];

/** @param {Pill[]} pills */
export const toWhere = (pills) => pills.map(toSql).filter(Boolean).join(" AND ");

/** @param {Pill} pill */
export function toSql(pill) {
  if ("sql" in pill) return pill.sql;
  const field = identifier(pill.field);
  switch (pill.op) {
    case "null":
      return `${field} IS NULL`;
    case "present":
      return `${field} IS NOT NULL`;
    case "contains":
      return `${field} ILIKE ${literal(`%${escapeLike(String(pill.value))}%`)}`;
    case "excludes":
      return `${field} NOT ILIKE ${literal(`%${escapeLike(String(pill.value))}%`)}`;
    case "!=":
      // Rows without a value are not equal to it either: who excludes `debug` wants to keep them.
      return `${field} IS DISTINCT FROM ${literal(pill.value)}`;
    default:
      return `${field} ${pill.op} ${literal(pill.value)}`;
  }
}

const escapeLike = (text) => text.replace(/[\\%_]/g, "\\$&");
const unescapeLike = (text) => text.replace(/\\([\\%_])/g, "$1");

const FIELD = String.raw`("(?:[^"]|"")+"|[a-z_][a-z0-9_]*)`;
const VALUE = String.raw`('(?:[^']|'')*'|-?\d+(?:\.\d+)?|true|false)`;
const COMPARISON = new RegExp(`^${FIELD}\\s*(=|!=|<>|>=|<=|>|<|IS DISTINCT FROM)\\s*${VALUE}$`, "i");
const LIKE = new RegExp(`^${FIELD}\\s+(NOT\\s+)?ILIKE\\s+('(?:[^']|'')*')$`, "i");
const NULLNESS = new RegExp(`^${FIELD}\\s+IS\\s+(NOT\\s+)?NULL$`, "i");

/**
 * The pills of a condition. What it does not understand is a pill of its own, as it stands.
 * @param {string} where
 * @returns {Pill[]}
 */
export function fromWhere(where) {
  const parts = splitAnd(where);
  return parts.map((part) => fromComparison(part) ?? { sql: parts.length > 1 ? enclosed(part) : part });
}

function fromComparison(text) {
  let found = COMPARISON.exec(text);
  if (found) {
    const op = found[2].toUpperCase();
    return { field: fieldOf(found[1]), op: op === "<>" || op === "IS DISTINCT FROM" ? "!=" : op, value: valueOf(found[3]) };
  }
  found = LIKE.exec(text);
  if (found) {
    const pattern = String(valueOf(found[3]));
    const inner = /^%((?:[^%_\\]|\\[%_\\])*)%$/.exec(pattern);
    return inner ? { field: fieldOf(found[1]), op: found[2] ? "excludes" : "contains", value: unescapeLike(inner[1]) } : null;
  }
  found = NULLNESS.exec(text);
  return found ? { field: fieldOf(found[1]), op: found[2] ? "present" : "null" } : null;
}

const fieldOf = (text) => (text.startsWith('"') ? text.slice(1, -1).replaceAll('""', '"') : text.toLowerCase());

function valueOf(text) {
  if (text.startsWith("'")) return text.slice(1, -1).replaceAll("''", "'");
  return /^(true|false)$/i.test(text) ? text.toLowerCase() === "true" : Number(text);
}

const enclosed = (text) => (/\bOR\b/i.test(text) && !/^\(.*\)$/s.test(text) ? `(${text})` : text);

/** The parts between the ANDs that stand outside of quotes, brackets, BETWEEN and CASE; one part if there is an OR. */
export function splitAnd(where) {
  const parts = [""];
  let depth = 0;
  let between = 0;
  for (const token of tokens(where)) {
    const word = token.toUpperCase();
    if (token === "(" || token === "[" || word === "CASE") depth += 1;
    else if (token === ")" || token === "]" || (word === "END" && depth)) depth -= 1;
    else if (depth === 0 && word === "OR") return [where.trim()].filter(Boolean);
    else if (depth === 0 && word === "BETWEEN") between += 1;
    else if (depth === 0 && word === "AND" && between) between -= 1;
    else if (depth === 0 && word === "AND") {
      parts.push("");
      continue;
    }
    parts[parts.length - 1] += token;
  }
  return parts.map((part) => part.trim()).filter(Boolean);
}

/** Words, quoted text, comments and single characters, which joined are the text again. */
const tokens = (text) =>
  text.match(/'(?:[^']|'')*'?|"(?:[^"]|"")*"?|--[^\n]*|\/\*[\s\S]*?(?:\*\/|$)|[\p{L}_][\p{L}\p{N}_$]*|[\s\S]/gu) ?? [];
