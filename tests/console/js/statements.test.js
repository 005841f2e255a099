import assert from "node:assert/strict";
import { test } from "node:test";
import { asQuery, countParameters, inlined, valuesIn } from "../../../console/lib/parameters.js";
import { closed, first, moved, opened, read, titleOf } from "../../../console/lib/statements.js";

test("placeholders are those outside of texts, names and comments", () => {
  assert.equal(countParameters("SELECT $1, $3"), 3);
  assert.equal(countParameters(`SELECT '$1', "$2", E'it\\'s $4', $$ $5 $$, $a$ $6 $a$ -- $7\n/* $8 */`), 0);
  assert.equal(countParameters("SELECT 1"), 0);
});

test("values are in the address, and those of lost placeholders leave it", () => {
  assert.deepEqual(valuesIn({ p1: "a", p3: "c" }, 3), ["a", "", "c"]);
  assert.deepEqual(asQuery(["x"], { p1: "a", p2: "b", q: "$1" }), { p1: "x", p2: "" });
});

test("values become texts in the statement, and nothing else", () => {
  assert.equal(inlined("SELECT $1 || '$1' || $10 -- $2", ["it's", "b"]), "SELECT 'it''s' || '$1' || $10 -- $2");
});

test("statements are opened, moved and closed", () => {
  const one = moved(first({}), { q: "SELECT 1" });
  const two = opened(one, { q: "SELECT 2" });
  assert.deepEqual(two, { list: [{ id: 1, query: { q: "SELECT 1" } }, { id: 2, query: { q: "SELECT 2" } }], chosen: 2 });
  assert.deepEqual(closed(two, 2), { ...one, chosen: 1 });
  assert.deepEqual(closed(two, 1), { list: [two.list[1]], chosen: 2 });
  assert.deepEqual(closed(one, 1), first({}));
});

test("a tab says its statement, or its number", () => {
  assert.equal(titleOf({ id: 3, query: {} }), "Statement 3");
  assert.equal(titleOf({ id: 3, query: { q: "SELECT\n count(*) FROM a_long_dataset" } }), "SELECT count(*) FROM a_l…");
});

test("what was kept is read if it is whole", () => {
  const kept = opened(first({ q: "SELECT 1" }));
  assert.deepEqual(read(JSON.stringify(kept)), kept);
  for (const text of [null, "", "{", "{}", '{"list":[],"chosen":1}', '{"list":[{"id":1,"query":{}}],"chosen":2}']) assert.equal(read(text), null);
});
