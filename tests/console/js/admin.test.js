import assert from "node:assert/strict";
import { test } from "node:test";
import { effective, entryText } from "../../../console/lib/rights.js";
import { snippets } from "../../../console/lib/snippets.js";
import { importGrafana } from "../../../console/lib/grafana.js";
import { arrange, clamp } from "../../../console/lib/grid.js";

test("rights of several entries add up", () => {
  const [all, app] = effective([{ privilege: "ingestor" }, { privilege: "reader", resource: { dataset: "app", tag: "env=prod" } }]);
  assert.deepEqual([all.dataset, all.may.ingest, all.may.query], [null, true, false]);
  assert.deepEqual([app.dataset, app.may.ingest, app.may.query, app.may.author, app.tags], ["app", true, true, false, ["env=prod"]]);
});

test("an entry without a tag lifts the others' tags", () => {
  const lines = effective([{ privilege: "reader", resource: { stream: "app", tag: "a=b" } }, { privilege: "writer", resource: { dataset: "*" } }]);
  assert.equal(lines[1].tags, null);
  assert.equal(entryText({ privilege: "reader", resource: { stream: "app", tag: "a=b" } }), "reader on app, rows with a=b");
});

test("snippets name the server, the dataset and the secret", () => {
  const texts = Object.fromEntries(snippets({ secret: "S-1", dataset: "app", origin: "https://weir.example:8443", keyName: "k", tenant: "" }));
  for (const name of ["curl", "Fluent Bit", "OpenTelemetry", "Prometheus"]) assert.ok(texts[name].includes("S-1") && texts[name].includes("app") && texts[name].includes("weir.example"), name);
  assert.match(texts["Fluent Bit"], /Port {13}8443\n {4}TLS {14}On/);
  assert.match(texts.psql, /-h weir.example -p 5433 -U 'k' -d weir/);
});

test("snippets name the tenant, where there are several", () => {
  for (const [name, text] of snippets({ secret: "S", dataset: "app", origin: "http://x", keyName: "k", tenant: "red" })) assert.ok(text.includes("red"), name);
});

test("panels of Grafana that ask SQL or PromQL become tiles", () => {
  const { title, tiles, skipped } = importGrafana({
    title: "G",
    panels: [
      { id: 1, title: "SQL", type: "barchart", gridPos: { x: 12, y: 0, w: 12, h: 8 }, targets: [{ rawSql: "SELECT $__timeGroup(t, '5m') FROM a WHERE $__timeFilter(t)" }] },
      { id: 2, type: "row", panels: [{ id: 3, title: "P", type: "timeseries", targets: [{ expr: "rate(x[$__rate_interval])" }] }] },
      { id: 4, title: "News", type: "news" },
    ],
  });
  assert.equal(title, "G");
  assert.deepEqual(tiles.map((each) => [each.title, each.chart, each.promql]), [["SQL", "bar", undefined], ["P", "line", "rate(x[5m])"]]);
  assert.equal(tiles[0].query, "SELECT date_bin('5m', t, TIMESTAMPTZ '2000-01-01') FROM a WHERE true");
  assert.deepEqual(tiles[0].layout, { x: 6, y: 0, w: 6, h: 4 });
  assert.deepEqual(skipped, [{ title: "News", reason: "a news without SQL or PromQL" }]);
});

const meets = (a, b) => a !== b && a.x < b.x + b.w && b.x < a.x + a.w && a.y < b.y + b.h && b.y < a.y + a.h;

test("tiles never overlap, wherever they were put", () => {
  const places = arrange([{}, { layout: { x: 0, y: 0, w: 12, h: 4 } }, { layout: { x: 3, y: 1, w: 6, h: 4 } }, {}]);
  assert.equal(places.length, 4);
  assert.ok(places.every((a) => places.every((b) => !meets(a, b))));
  assert.ok(places.every((each) => each.x >= 0 && each.x + each.w <= 12));
});

test("the tile under the hand stays, the others give way", () => {
  const places = arrange([{ layout: { x: 0, y: 0, w: 6, h: 4 } }, { layout: { x: 0, y: 2, w: 6, h: 4 } }], 1);
  assert.deepEqual(places[1], { x: 0, y: 2, w: 6, h: 4 });
  assert.ok(!meets(places[0], places[1]));
});

test("places stay on the grid", () => assert.deepEqual(clamp({ x: 11.4, y: -3, w: 5, h: 0 }), { x: 7, y: 0, w: 5, h: 2 }));
