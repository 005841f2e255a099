// PromQL: what the answers of Prometheus' API are as rows, which charts of SQL take too. Pure.

/** About so many points, never closer than a second. */
export const stepSeconds = ({ start, end }, points = 240) => Math.max(1, Math.ceil((end - start) / 1000 / points));

/** A series' name as Prometheus writes it. */
export function seriesName({ __name__: name = "", ...labels }) {
  const inner = Object.entries(labels).map(([label, value]) => `${label}="${value}"`).join(", ");
  return name && !inner ? name : `${name}{${inner}}`;
}

/** The matrix of an answer as rows of time, series and value. */
export function asRows(result) {
  const rows = result.flatMap(({ metric, values = [] }) => {
    const series = seriesName(metric);
    return values.map(([at, value]) => ({ time: new Date(at * 1000).toISOString(), series, value: finite(Number(value)) }));
  });
  return { fields: ["time", "series", "value"], records: rows, series: result.length };
}

/** The vector of an answer as an alert judges it: a row of labels and value for each series. */
export function vectorRows(result) {
  const labels = [...new Set(result.flatMap(({ metric }) => Object.keys(metric)))];
  const records = result.map(({ metric, value }) => ({ ...Object.fromEntries(labels.map((each) => [each, metric[each] ?? null])), value: value ? finite(Number(value[1])) : null }));
  return { fields: [...labels, "value"], records };
}

const finite = (value) => (Number.isFinite(value) ? value : null);

/** Buckets of a histogram as rows of time, upper bound and the count within the bucket alone. */
export function bucketRows(result) {
  const byTime = new Map();
  for (const { metric, values = [] } of result) {
    for (const [at, value] of values) {
      const of = byTime.get(at) ?? new Map();
      of.set(metric.le, (of.get(metric.le) ?? 0) + Number(value));
      byTime.set(at, of);
    }
  }
  return [...byTime].flatMap(([at, of]) => {
    const sorted = [...of].sort((a, b) => bound(a[0]) - bound(b[0]));
    return sorted.map(([le, count], index) => ({ time: new Date(at * 1000).toISOString(), le, n: Math.max(0, count - (index ? sorted[index - 1][1] : 0)) }));
  });
}

const bound = (le) => (le === "+Inf" ? Infinity : Number(le));

/** The word of a PromQL text that a completion at its end would replace. */
export const lastWord = (text) => /[a-zA-Z_:][\w:]*$/.exec(text)?.[0] ?? "";
