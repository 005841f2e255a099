// From rows to what a chart draws: which column is the time or the label, which are numbers, which tell series apart. Pure.

const TIME = /^\d{4}-\d\d-\d\d([T ]\d\d:\d\d|$)/;
const isTime = (value) => typeof value === "string" && TIME.test(value) && !Number.isNaN(new Date(value).getTime());
const isNumber = (value) => typeof value === "number";

/** The kind of a column by its values: "time", "number", "text", or "empty". */
export function kindOf(rows, name) {
  let kind = "empty";
  for (const row of rows) {
    const value = row[name];
    if (value === null || value === undefined) continue;
    const own = isNumber(value) ? "number" : isTime(value) ? "time" : "text";
    if (kind !== "empty" && kind !== own) return "text";
    kind = own;
  }
  return kind;
}

/**
 * What plays which part in a chart of these rows.
 * @returns {{x: string | null, isTime: boolean, values: string[], split: string | null}}
 */
export function roles(fields, rows) {
  const kinds = Object.fromEntries(fields.map((name) => [name, kindOf(rows, name)]));
  const time = fields.find((name) => kinds[name] === "time");
  const numbers = fields.filter((name) => kinds[name] === "number");
  const texts = fields.filter((name) => kinds[name] === "text");
  if (time) return { x: time, isTime: true, values: numbers, split: texts[0] ?? null };
  if (texts.length) return { x: texts[0], isTime: false, values: numbers, split: texts[1] ?? null };
  return { x: numbers.length > 1 ? numbers[0] : null, isTime: false, values: numbers.length > 1 ? numbers.slice(1) : numbers, split: null };
}

/**
 * Aligned columns for a chart over time, as uPlot takes them: seconds, then a column for each series.
 * @returns {{names: string[], data: (number | null)[][], left: number}} `left`: series beyond the most
 */
export function timeSeries(fields, rows, { most = 12 } = {}) {
  const { x, values, split } = roles(fields, rows);
  const byName = new Map();
  const instants = new Set();
  for (const row of rows) {
    const at = new Date(row[x]).getTime() / 1000;
    if (Number.isNaN(at)) continue;
    instants.add(at);
    for (const value of values) {
      const name = split ? (values.length > 1 ? `${row[split]} · ${value}` : String(row[split])) : value;
      if (!byName.has(name)) byName.set(name, new Map());
      byName.get(name).set(at, row[value]);
    }
  }
  const times = [...instants].sort((a, b) => a - b);
  const weight = (points) => [...points.values()].reduce((sum, each) => sum + Math.abs(each ?? 0), 0);
  const kept = [...byName].sort((a, b) => weight(b[1]) - weight(a[1])).slice(0, most);
  return {
    names: kept.map(([name]) => name),
    data: [times, ...kept.map(([, points]) => times.map((at) => points.get(at) ?? null))],
    left: byName.size - kept.length,
  };
}

/** Where values stand alone, between gaps: no line would show them. */
export const isolated = (values) =>
  values.flatMap((value, at) => (isThere(value) && !isThere(values[at - 1]) && !isThere(values[at + 1]) ? [at] : []));

const isThere = (value) => value !== null && value !== undefined;

/** Running sums over the series, for stacks: the last is the top of all. */
export function stacked(data) {
  const sums = data[0].map(() => 0);
  return [data[0], ...data.slice(1).map((column) => column.map((value, at) => (sums[at] += value ?? 0)))];
}

/** Label and value pairs, the largest first, for bars and pies. */
export function categories(fields, rows, most = 30) {
  const { x, values } = roles(fields, rows);
  if (!values.length) return [];
  return rows
    .map((row) => ({ label: x === null ? values[0] : String(row[x] ?? "(none)"), value: Number(row[values[0]] ?? 0) }))
    .slice(0, most);
}

/** A chart that suits the result. */
export function suggest(fields, rows) {
  const { isTime, values, x } = roles(fields, rows);
  if (!rows.length || !values.length) return "table";
  if (rows.length === 1 && values.length === 1) return "number";
  if (isTime) return "line";
  return x && rows.length <= 50 ? "bar" : "table";
}

/** Cells of a heat map over time: rows are the split's values or those of a number, by size. */
export function heat(fields, rows) {
  const { x, values, split } = roles(fields, rows);
  const key = split ?? values[0];
  const weight = split ? values[0] : values[1];
  const xs = [...new Set(rows.map((row) => row[x]))].sort();
  const isNumeric = rows.every((row) => row[key] === "+Inf" || !Number.isNaN(Number(row[key])));
  const order = (a, b) => (isNumeric ? number(a) - number(b) : String(a).localeCompare(String(b)));
  const ys = [...new Set(rows.map((row) => row[key]))].sort(order);
  const cells = rows.map((row) => ({ x: xs.indexOf(row[x]), y: ys.indexOf(row[key]), value: Number(row[weight] ?? 0) }));
  return { xs, ys, cells, most: Math.max(0, ...cells.map((each) => each.value)) };
}

const number = (text) => (text === "+Inf" ? Infinity : Number(text));
