import assert from "node:assert/strict";
import { test } from "node:test";
import { formatAgo, formatBytes, formatMs, formatSeconds, formatShare, formatSome, formatTime, formatValue, fromInput, readable, toInput } from "../../../console/lib/format.js";

test("sizes have units", () => assert.deepEqual([0, 1023, 1024, 1536, 10 * 1024 ** 3, null].map(formatBytes), ["0 B", "1023 B", "1.0 KiB", "1.5 KiB", "10.0 GiB", "–"]));

test("one has no s", () => assert.deepEqual([0, 1, 1200].map((each) => formatSome(each, "file")), ["0 files", "1 file", "1,200 files"]));

test("lengths of time", () => {
  assert.deepEqual([0.5, 1.25, 250, 1500, 90_000].map(formatMs), ["500 µs", "1.3 ms", "250 ms", "1.50 s", "1 m 30 s"]);
  assert.deepEqual([5, 59, 3600, 90_061].map(formatSeconds), ["5 s", "59 s", "1 h", "1 d 1 h"]);
});

test("times in UTC, and what is none as it is", () => {
  assert.equal(formatTime("2026-01-02T03:04:05.678901Z", "utc"), "2026-01-02 03:04:05.678");
  assert.equal(formatTime("soon"), "soon");
  assert.equal(formatTime(null), "–");
});

test("a typed time is the instant that was shown", () => assert.equal(fromInput(toInput(Date.UTC(2026, 5, 7, 8, 9, 10), "utc"), "utc"), Date.UTC(2026, 5, 7, 8, 9, 10)));

test("ago", () => {
  assert.equal(formatAgo(null), "never");
  assert.equal(formatAgo(new Date(1_000_000).toISOString(), 1_000_000 + 120_000), "2 m ago");
});

test("values are one text", () => assert.deepEqual([null, { a: 1 }, [1, 2], "x", 0, false].map(formatValue), ["", '{"a":1}', "[1,2]", "x", "0", "false"]));

test("terminal codes go, control and direction marks are seen", () => {
  assert.equal(readable("\u001b[31mred\u001b[0m"), "red");
  assert.equal(readable("a\u0000b\u0007"), "a␀b␇");
  assert.equal(readable("user\u202Etxt.exe"), "user⟨U+202E⟩txt.exe");
  assert.equal(readable("<script>alert(1)</script>"), "<script>alert(1)</script>");
});
test("what is there is never a share of nothing", () => assert.deepEqual([0, 0.0001, 0.001, 0.123, 1].map(formatShare), ["0.0 %", "< 0.1 %", "0.1 %", "12.3 %", "100.0 %"]));
