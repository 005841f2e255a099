// The Prometheus API of a dataset, asked.
import { get } from "./api.js";
import { asRows, bucketRows, stepSeconds, vectorRows } from "./promql.js";

const base = (dataset) => `/prometheus/${encodeURIComponent(dataset)}/api/v1`;

async function ask(dataset, query, range, points, abort) {
  const step = stepSeconds(range, points);
  const members = new URLSearchParams({ query, start: String(range.start / 1000), end: String(range.end / 1000), step: String(step) });
  return { answer: await get(`${base(dataset)}/query_range?${members}`, { signal: abort }), step };
}

/** Series over the range, as rows. */
export async function queryRange(dataset, query, range, abort) {
  const { answer, step } = await ask(dataset, query, range, 240, abort);
  return { ...asRows(answer.data.result), warnings: answer.warnings ?? [], step };
}

/** The vector at an instant, in Unix ms, as rows of labels and value. */
export async function queryInstant(dataset, query, atMs, abort) {
  const members = new URLSearchParams({ query, time: String(atMs / 1000) });
  const { resultType, result } = (await get(`${base(dataset)}/query?${members}`, { signal: abort })).data;
  return vectorRows(resultType === "vector" ? result : [{ metric: {}, value: result }]);
}

/** Buckets of histograms over the range, as rows of a heat map. */
export async function queryBuckets(dataset, query, range, abort) {
  const { answer, step } = await ask(dataset, query, range, 120, abort);
  const result = answer.data.result.filter((each) => each.metric.le !== undefined);
  if (!result.length) throw new Error("A heat map is of buckets: ask for series with the label `le`, as sum by (le) (rate(…_bucket[5m])).");
  return { fields: ["time", "le", "n"], records: bucketRows(result), series: result.length, warnings: answer.warnings ?? [], step };
}

export const metricNames = async (dataset, range, abort) =>
  (await get(`${base(dataset)}/label/__name__/values?start=${range.start / 1000}&end=${range.end / 1000}`, { signal: abort })).data;
