// SQL text: names, values and the statements that pages ask. Pure.

// Words that PostgreSQL takes for something else where a column's name stands.
const RESERVED = new Set(
  ("all analyse analyze and any array as asc asymmetric both case cast check collate column constraint create" +
    " current_catalog current_date current_role current_time current_timestamp current_user default deferrable desc" +
    " distinct do else end except false fetch for foreign from grant group having in initially intersect into lateral" +
    " leading limit localtime localtimestamp not null offset on only or order placing primary references returning" +
    " select session_user some symmetric table then to trailing true union unique user using variadic when where" +
    " window with authorization binary collation concurrently cross current_schema freeze full ilike inner is isnull" +
    " join left like natural notnull outer overlaps right similar tablesample verbose").split(" "),
);

/** A name as SQL has it, quoted where it must be. */
export const identifier = (name) =>
  /^[a-z_][a-z0-9_]*$/.test(name) && !RESERVED.has(name) ? name : `"${name.replaceAll('"', '""')}"`;

/** @param {string | number | boolean | null | undefined} value */
export function literal(value) {
  if (value === null || value === undefined) return "NULL";
  if (typeof value === "number" && Number.isFinite(value)) return String(value);
  return typeof value === "boolean" ? String(value) : `'${String(value).replaceAll("'", "''")}'`;
}

const clause = (where) => (where ? ` WHERE ${where}` : "");
const both = (...conditions) => conditions.filter(Boolean).map((each) => (/\bOR\b/i.test(each) ? `(${each})` : each)).join(" AND ");

/**
 * The newest rows first.
 * @param {{dataset: string, where?: string, time?: string | null, columns?: string[], limit?: number | string, order?: string}} asked
 */
export function rowsStatement({ dataset, where, time, columns = [], limit, order = "desc" }) {
  const picked = columns.length ? columns.map(identifier).join(", ") : "*";
  const sorted = time ? ` ORDER BY ${identifier(time)} ${order.toUpperCase()}` : "";
  return `SELECT ${picked} FROM ${identifier(dataset)}${clause(where)}${sorted}${limit ? ` LIMIT ${limit}` : ""}`;
}

export const NONE = "(none)";
export const OTHER = "(other)";

/**
 * Counts in bins of the time, stacked by the values of a field: the given ones apart, the rest together; null: each apart.
 * @param {{dataset: string, where?: string, time: string, widthMs: number, originMs: number, field?: string | null, values?: string[] | null}} asked
 */
export function histogramStatement({ dataset, where, time, widthMs, originMs, field, values = [] }) {
  const origin = new Date(originMs).toISOString();
  const bin = `date_bin('${widthMs} milliseconds', ${identifier(time)}, TIMESTAMPTZ '${origin}')`;
  if (!field) return `SELECT ${bin} AS t, count(*) AS n FROM ${identifier(dataset)}${clause(where)} GROUP BY 1`;
  const text = `${identifier(field)}::text`;
  if (!values) return `SELECT ${bin} AS t, coalesce(${text}, ${literal(NONE)}) AS k, count(*) AS n FROM ${identifier(dataset)}${clause(where)} GROUP BY 1, 2`;
  const kept = values.length ? `CASE WHEN ${text} IN (${values.map(literal).join(", ")}) THEN ${text} ` : "CASE ";
  const stack = `${kept}WHEN ${identifier(field)} IS NULL THEN ${literal(NONE)} ELSE ${literal(OTHER)} END`;
  return `SELECT ${bin} AS t, ${stack} AS k, count(*) AS n FROM ${identifier(dataset)}${clause(where)} GROUP BY 1, 2`;
}

/** The most frequent values of a field. */
export const topStatement = ({ dataset, where, field, limit = 10 }) =>
  `SELECT ${identifier(field)}::text AS value, count(*) AS n FROM ${identifier(dataset)}${clause(where)}` +
  ` GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT ${limit}`;

/** Of a field: how many rows have a value, and how many values there are. */
export const cardinalityStatement = ({ dataset, where, field }) =>
  `SELECT count(*) AS rows, count(${identifier(field)}) AS present, count(DISTINCT ${identifier(field)}::text) AS different` +
  ` FROM ${identifier(dataset)}${clause(where)}`;

const HEX = "'[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}|[0-9a-fA-F]{12,}'";

/** Texts with what differs from line to line left out: ids, numbers, quoted words. */
export function patternStatement({ dataset, where, field, time, limit = 100 }) {
  const ids = `regexp_replace(${identifier(field)}, ${HEX}, '<id>', 'g')`;
  const pattern = `regexp_replace(${ids}, '[0-9]+(\\.[0-9]+)?', '<n>', 'g')`;
  const latest = time ? `, max(${identifier(time)}) AS latest` : "";
  return (
    `SELECT ${pattern} AS pattern, count(*) AS n${latest}, min(${identifier(field)}) AS example` +
    ` FROM ${identifier(dataset)}${clause(both(where, `${identifier(field)} IS NOT NULL`))}` +
    ` GROUP BY 1 ORDER BY 2 DESC LIMIT ${limit}`
  );
}

/** A condition that finds the texts of a pattern. */
export function patternCondition(field, pattern) {
  const parts = pattern.split(/<id>|<n>/).map((each) => each.replace(/[\\%_]/g, "\\$&"));
  return `${identifier(field)} LIKE ${literal(parts.join("%"))}`;
}

/** Rows around an instant: so many before it, so many from it on. */
export const aroundStatements = ({ dataset, time, at, where, count }) =>
  [
    ["<", "desc"],
    [">=", "asc"],
  ].map(([op, order]) =>
    rowsStatement({ dataset, time, order, limit: count, where: both(where, `${identifier(time)} ${op} ${literal(at)}`) }),
  );

/** Where a bin begins so that bins of all ranges meet. */
export const alignedOrigin = (startMs, widthMs) => Math.floor(startMs / widthMs) * widthMs;

/** Line and column, from 1, of a position in characters, from 1, as PostgreSQL counts them. */
export function lineAndColumn(text, position) {
  const before = [...text].slice(0, Math.max(0, position - 1)).join("");
  const lines = before.split("\n");
  return { line: lines.length, column: [...lines[lines.length - 1]].length + 1 };
}

/** Where in the text, in UTF-16 units as editors count, the word at a position is. */
export function wordAt(text, position) {
  const from = [...text].slice(0, Math.max(0, position - 1)).join("").length;
  const length = /^("[^"]*"|'[^']*'|[\p{L}\p{N}_]+|\S)/u.exec(text.slice(from))?.[0].length ?? 0;
  return from >= text.length ? [Math.max(0, text.length - 1), text.length] : [from, from + Math.max(1, length)];
}
