import assert from "node:assert/strict";
import { test } from "node:test";
import { binWidth, describe, durationMs, resolve, shift, widen } from "../../../console/lib/range.js";

const NOW = Date.UTC(2026, 0, 2, 12);

test("durations", () => {
  assert.deepEqual(["90m", "1h 30m", "2d", "500ms", "1.5h", "", "1x", "h", "1h foo"].map(durationMs), [5400e3, 5400e3, 172800e3, 500, 5400e3, null, null, null, null]);
});

test("ranges as an address holds them", () => {
  assert.deepEqual(resolve({ from: "1h", to: "now" }, NOW), { start: NOW - 3600e3, end: NOW });
  assert.deepEqual(resolve({ from: "now-2h", to: "now-1h" }, NOW), { start: NOW - 7200e3, end: NOW - 3600e3 });
  assert.deepEqual(resolve({ from: String(NOW - 5), to: String(NOW) }, NOW), { start: NOW - 5, end: NOW });
  assert.deepEqual(resolve({ from: "2026-01-02T11:00:00Z", to: "now" }, NOW), { start: NOW - 3600e3, end: NOW });
});

test("what is no range is none", () => {
  for (const range of [{ from: "yesterday", to: "now" }, { from: "now", to: "now-1h" }, { from: "1h", to: "soon" }]) assert.equal(resolve(range, NOW), null);
});

test("steps keep the length", () => assert.deepEqual(shift({ from: "1h", to: "now" }, -1, NOW), { from: String(NOW - 7200e3), to: String(NOW - 3600e3) }));

test("zooming out never reaches beyond now", () => assert.deepEqual(widen({ from: "1h", to: "now" }, NOW), { from: String(NOW - 5400e3), to: String(NOW) }));

test("bins are round and about as many as wanted", () => {
  assert.equal(binWidth({ start: 0, end: 3600e3 }, 60), 60e3);
  assert.equal(binWidth({ start: 0, end: 100 * 365 * 86400e3 }, 10), 10 * 365 * 86400e3);
});

test("the button says what the range is", () => {
  assert.equal(describe({ from: "1h", to: "now" }, String), "Last hour");
  assert.equal(describe({ from: "90m", to: "now" }, String), "Last 90m");
  assert.equal(describe({ from: "1767350000000", to: "1767355200000" }, () => "T"), "T – T");
});
