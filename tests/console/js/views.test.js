import assert from "node:assert/strict";
import { test } from "node:test";
import { parseRoute, routeTo } from "../../../console/lib/route.js";
import { columnsOf, grouped, levelColumn, messageColumn, spanColumns } from "../../../console/lib/schema.js";
import { bySeverity, levelOf } from "../../../console/lib/levels.js";
import { waterfall } from "../../../console/lib/spans.js";
import { eventReader } from "../../../console/lib/events.js";
import { REST, ratesOver } from "../../../console/lib/senders.js";
import { fill, variablesOf } from "../../../console/lib/variables.js";

test("a view's address gives the view", () => {
  const query = { where: "a = 'x & y' AND b = '100%'", from: "1h" };
  assert.deepEqual(parseRoute(routeTo(["datasets", "a/b"], query)), { path: ["datasets", "a/b"], query });
  assert.equal(routeTo(["sql"], { q: "", from: undefined }), "#/sql");
  assert.deepEqual(parseRoute("#/datasets/%zz"), { path: ["datasets", "%zz"], query: {} });
});

const field = (name, data_type, metadata = {}) => ({ name, data_type, metadata });
const COLUMNS = columnsOf({
  fields: [field("p_timestamp", { Timestamp: ["Microsecond", "UTC"] }), field("level", "Utf8"), field("message", "Utf8"), field("status", "Int64"), field("tags", { List: field("item", "Utf8") }), field("doc", "Utf8", { type: "json" })],
});

test("columns have kinds and PostgreSQL's types", () => {
  assert.deepEqual(COLUMNS.map((each) => [each.kind, each.type]), [["time", "timestamptz"], ["text", "text"], ["text", "text"], ["number", "bigint"], ["list", "text[]"], ["json", "jsonb"]]);
  assert.equal(levelColumn(COLUMNS), "level");
  assert.equal(messageColumn(COLUMNS), "message");
  assert.equal(spanColumns(COLUMNS), null);
});

test("fields are grouped, the core ones first", () => assert.deepEqual(grouped(COLUMNS, ["level", "message"]).map(([name, members]) => [name, members.length]), [["Core", 2], ["HTTP", 1], ["Arrival", 1], ["Other", 2]]));

test("levels by word and by number", () => {
  assert.deepEqual(["ERROR", "warning", "Information", "crit", 17, "9", "gateway", null, ""].map(levelOf), ["error", "warn", "info", "fatal", "error", "info", null, null, null]);
  assert.deepEqual(["info", "zebra", "error", "warn"].sort(bySeverity), ["error", "warn", "info", "zebra"]);
});

const NAMES = { trace: "t", span: "id", parent: "parent", name: "name", start: "start", duration: "duration_ms", service: "s", status: "status" };
const row = (id, parent, ms, duration_ms, more = {}) => ({ t: "x", id, parent, name: id, s: "a", start: new Date(ms).toISOString(), duration_ms, ...more });

test("spans stand under their parents, in the order of their start", () => {
  const { spans, ms } = waterfall([row("c", "a", 1050, 10), row("a", null, 1000, 100), row("b", "a", 1010, 20, { status: "ERROR" }), row("lost", "gone", 1200, 5)], NAMES);
  assert.deepEqual(spans.map((each) => [each.id, each.depth]), [["a", 0], ["b", 1], ["c", 1], ["lost", 0]]);
  assert.equal(ms, 205);
  assert.equal(spans[1].failed, true);
});

test("a ring of spans ends, and a span that is its own parent is a root", () => {
  assert.equal(waterfall([row("a", "b", 1, 1), row("b", "a", 2, 1), row("c", "c", 3, 1)], NAMES).spans.length, 3);
});

test("events come whole from pieces of text", () => {
  const read = eventReader();
  assert.deepEqual(read(": hello\n\nid: 7\ndata: {\"a\""), []);
  assert.deepEqual(read(": 1}\r\n\r\nevent: gap\ndata: x\ndata: y\n\n"), [{ id: "7", event: "message", data: '{"a": 1}' }, { id: "7", event: "gap", data: "x\ny" }]);
});

test("variables are literals, whatever they hold", () => {
  assert.deepEqual(variablesOf("a = '$host' AND b = '$host' OR c = '$x_1'"), ["host", "x_1"]);
  assert.equal(fill("h = '$host' AND '$other' = '*'", { host: "a' OR true --" }), "h = 'a'' OR true --' AND '$other' = '*'");
  assert.equal(fill("h = '$constructor'", {}), "h = '$constructor'");
});

const sender = (name, ...buckets) => ({ kind: "api_key", id: `k-${name}`, name, buckets: buckets.map(([begins, bytes]) => ({ begins: `2026-01-02T${begins}:00Z`, bytes })) });

test("rates of senders stand in their five minutes, and the small ones together", () => {
  const senders = [sender("shop", ["03:00", 600], ["03:10", 300]), sender(null, ["03:05", 150]), sender("c", ["03:05", 90]), sender("d", ["03:05", 60], ["04:00", 1])];
  const { names, data } = ratesOver({ from: "2026-01-02T03:00:00Z", to: "2026-01-02T03:12:00Z", bucketSeconds: 300, senders }, 2);

  assert.deepEqual(names, ["shop", "deleted key k-null", REST]);
  assert.deepEqual(data[0].map((each) => each - data[0][0]), [0, 300, 600]);
  assert.deepEqual(data.slice(1), [[2, 0, 1], [0, 0.5, 0], [0, 0.5, 0]]);
});

test("a dataset without senders has an empty chart", () => {
  const { names, data } = ratesOver({ from: "2026-01-02T03:00:00Z", to: "2026-01-02T03:00:00Z", bucketSeconds: 300, senders: [] });
  assert.deepEqual([names, data.length, data[0].length], [[], 1, 1]);
});
