import assert from "node:assert/strict";
import { test } from "node:test";
import { parseSamples, quantile, total } from "../../../console/lib/promtext.js";
import { categories, heat, isolated, roles, stacked, suggest, timeSeries } from "../../../console/lib/series.js";
import { asRows, bucketRows, lastWord, seriesName, stepSeconds, vectorRows } from "../../../console/lib/promql.js";
import { judge, toBody, toForm } from "../../../console/lib/alerts.js";

const TEXT = `# HELP weir_requests_total Requests.
weir_requests_total{method="GET",route="/a\\"b"} 3.0
weir_requests_total{method="POST",route="/"} 4.0
weir_workers 2.0
weir_s_bucket{le="0.1"} 5.0
weir_s_bucket{le="1.0"} 10.0
weir_s_bucket{le="+Inf"} 10.0
`;

test("Prometheus' text", () => {
  const samples = parseSamples(TEXT);
  assert.equal(samples.length, 6);
  assert.equal(samples[0].labels.route, '/a"b');
  assert.equal(total(samples, "weir_requests_total"), 7);
  assert.equal(total(samples, "weir_requests_total", { method: "GET" }), 3);
  assert.equal(total(samples, "weir_none"), null);
});

test("quantiles are linear within a bucket", () => {
  const samples = parseSamples(TEXT);
  assert.equal(quantile(samples, "weir_s", 0.5), 0.1);
  assert.ok(Math.abs(quantile(samples, "weir_s", 0.75) - 0.55) < 1e-9);
  assert.equal(quantile([], "weir_s", 0.5), null);
});

const ROWS = [
  { t: "2026-01-01T00:00:00Z", level: "info", n: 1 },
  { t: "2026-01-01T00:00:00Z", level: "error", n: 2 },
  { t: "2026-01-01T00:01:00Z", level: "info", n: 3 },
];

test("a result's columns find their parts", () => {
  assert.deepEqual(roles(["t", "level", "n"], ROWS), { x: "t", isTime: true, values: ["n"], split: "level" });
  assert.equal(suggest(["t", "level", "n"], ROWS), "line");
  assert.equal(suggest(["n"], [{ n: 1 }]), "number");
  assert.equal(suggest(["a", "n"], [{ a: "x", n: 1 }, { a: "y", n: 2 }]), "bar");
  assert.equal(suggest(["a"], [{ a: "x" }]), "table");
});

test("series are aligned, with holes where there is nothing", () => {
  const { names, data, left } = timeSeries(["t", "level", "n"], ROWS);
  assert.deepEqual(names, ["info", "error"]);
  assert.deepEqual(data.slice(1), [[1, 3], [2, null]]);
  assert.equal(left, 0);
});

test("stacks are running sums", () => assert.deepEqual(stacked([[0, 1], [1, null], [2, 3]]), [[0, 1], [1, 0], [3, 3]]));

test("categories", () => assert.deepEqual(categories(["a", "n"], [{ a: null, n: 1 }, { a: "x", n: 2 }]), [{ label: "(none)", value: 1 }, { label: "x", value: 2 }]));

test("a heat map orders buckets by number", () => {
  const { ys, most } = heat(["time", "le", "n"], [{ time: "2026-01-01T00:00:00Z", le: "10", n: 1 }, { time: "2026-01-01T00:00:00Z", le: "2", n: 5 }, { time: "2026-01-01T00:00:00Z", le: "+Inf", n: 0 }]);
  assert.deepEqual([ys, most], [["2", "10", "+Inf"], 5]);
});

test("a matrix of PromQL as rows; infinities are holes", () => {
  const { records, series } = asRows([{ metric: { __name__: "up", job: "a" }, values: [[0, "1"], [60, "+Inf"]] }]);
  assert.equal(series, 1);
  assert.deepEqual(records.map((each) => [each.series, each.value]), [['up{job="a"}', 1], ['up{job="a"}', null]]);
  assert.equal(seriesName({ __name__: "up" }), "up");
});

test("buckets lose what the lower ones hold", () => {
  const of = (le, value) => ({ metric: { le }, values: [[0, value]] });
  assert.deepEqual(bucketRows([of("+Inf", "9"), of("1", "4"), of("2", "6")]).map((each) => each.n), [4, 2, 3]);
});

test("the step gives about as many points as a chart is wide", () => assert.equal(stepSeconds({ start: 0, end: 3_600_000 }, 240), 15));

test("the word that is being written", () => assert.deepEqual(["sum(rate(http_", "sum(", "a:b"].map(lastWord), ["http_", "", "a:b"]));

test("alerts are judged as the service does", () => {
  const rows = [{ host: "a", n: 5 }, { host: "b", n: 50 }];
  assert.deepEqual(judge(["host", "n"], rows, ">", 10), { column: "n", value: 50, beyond: [rows[1]] });
  assert.deepEqual(judge(["host"], [{ host: "a" }], ">", 1), { column: null, value: null, beyond: [] });
  assert.deepEqual(judge(["n"], [{ n: null }], ">", 1), { column: null, value: null, beyond: [] });
});

test("an alert survives its form, with members of other clients", () => {
  const body = toBody(toForm({ id: "x", state: "triggered", title: "T", severity: "low", query: "SELECT 1", thresholdConfig: { operator: "<", value: 2.5 }, evalConfig: { rollingWindow: { evalStart: "1h", evalFrequency: 5 } }, notificationConfig: { interval: 9 }, targets: ["t"], tags: ["a", "b"], runbook: "https://x" }));
  assert.deepEqual(body, { runbook: "https://x", title: "T", severity: "low", query: "SELECT 1", queryType: "code", thresholdConfig: { operator: "<", value: 2.5 }, evalConfig: { rollingWindow: { evalStart: "1h", evalEnd: "now", evalFrequency: 5 } }, notificationConfig: { interval: 9 }, targets: ["t"], tags: ["a", "b"] });
});

test("an alert in PromQL names its one dataset", () => {
  const form = toForm(null, "up", "prometheus");
  assert.deepEqual([form.queryType, toBody(form).datasets], ["promql", ["prometheus"]]);
  const stored = { title: "T", severity: "low", query: "up", queryType: "promql", datasets: ["m"], thresholdConfig: { operator: "<", value: 1 }, evalConfig: { rollingWindow: { evalStart: "1h", evalFrequency: 5 } }, notificationConfig: { interval: 9 } };
  assert.deepEqual([toBody(toForm(stored)).queryType, toBody(toForm(stored)).datasets], ["promql", ["m"]]);
});

test("a vector is rows of labels and value, without what is no number", () => {
  const vector = [{ metric: { job: "a" }, value: [1, "2.5"] }, { metric: { host: "x" }, value: [1, "NaN"] }];
  assert.deepEqual(vectorRows(vector), { fields: ["job", "host", "value"], records: [{ job: "a", host: null, value: 2.5 }, { job: null, host: "x", value: null }] });
});

test("values that stand alone are found", () => {
  assert.deepEqual(isolated([1, null, 2, 3, null, 4]), [0, 5]);
  assert.deepEqual(isolated([]), []);
});
