import assert from "node:assert/strict";
import { test } from "node:test";
import { fromWhere, splitAnd, toWhere } from "../../../console/lib/where.js";

const PILLS = [
  { field: "level", op: "=", value: "error" },
  { field: "status", op: ">=", value: 500 },
  { field: "Weird \"name\"", op: "!=", value: "it's" },
  { field: "message", op: "contains", value: "50% \\ off_" },
  { field: "message", op: "excludes", value: "AND" },
  { field: "ok", op: "=", value: true },
  { field: "trace_id", op: "null" },
  { field: "order", op: "present" },
];

for (const pill of PILLS) {
  test(`pill survives the way to SQL and back: ${pill.field} ${pill.op}`, () => assert.deepEqual(fromWhere(toWhere([pill])), [pill]));
}

test("all pills together survive", () => assert.deepEqual(fromWhere(toWhere(PILLS)), PILLS));

test("a value never becomes SQL", () => {
  const where = toWhere([{ field: "a", op: "=", value: "x' OR '1'='1" }]);
  assert.equal(where, "a = 'x'' OR ''1''=''1'");
  assert.equal(fromWhere(where).length, 1);
});

test("what is not understood stays as it stands", () => {
  for (const where of ["length(message) > 10", "a = 1 OR b = 2", "a BETWEEN 1 AND 2", "CASE WHEN a AND b THEN c END", "x IN (SELECT y FROM z WHERE q AND r)"]) {
    assert.deepEqual(fromWhere(where), [{ sql: where }]);
  }
});

test("an OR in brackets is one part of several", () => {
  assert.deepEqual(fromWhere("(a = 1 OR b = 2) AND level = 'x'"), [{ sql: "(a = 1 OR b = 2)" }, { field: "level", op: "=", value: "x" }]);
});

test("AND in quotes, names and BETWEEN does not split", () => {
  assert.deepEqual(splitAnd("a = 'x AND y' AND \"b AND c\" = 1 AND d BETWEEN 1 AND 2 AND brand = 3"), ["a = 'x AND y'", "\"b AND c\" = 1", "d BETWEEN 1 AND 2", "brand = 3"]);
});

test("excluding a value keeps rows without one", () => assert.equal(toWhere([{ field: "level", op: "!=", value: "debug" }]), "level IS DISTINCT FROM 'debug'"));

test("nothing is no filter", () => assert.deepEqual(fromWhere("  "), []));
