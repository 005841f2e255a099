"""Rewrites of the bound tree: what they say in it, and that what is read twice stays one relation."""

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Final

import polars as pl
import pytest

from query.engine import bound
from query.plan.environment import schema_of
from query.plan.rules import rewritten
from query.plan.traverse import inputs
from query.plan.tree import CteRef, Filter, LookupJoin, Materialized, Relation, TopRows, Window
from query.syntax.parse import parse

SCHEMAS: Final = {"t": schema_of([("g", pl.String()), ("v", pl.Int64()), ("w", pl.Int64())], ())}
NUMBERED: Final = "SELECT * FROM (SELECT g, row_number() OVER (PARTITION BY g ORDER BY {}) AS n FROM t) s WHERE n <= {}"
SETS: Final = "SELECT g, v, {}(w) FROM t GROUP BY ROLLUP (g, v)"


def relation(sql: str) -> Relation:
    return rewritten(bound(parse(sql), SCHEMAS, datetime(2025, 1, 1, tzinfo=UTC)).relation)


def relations(root: Relation) -> Iterator[Relation]:
    yield root
    for source in inputs(root).values():
        yield from relations(source)


def of_type(sql: str, wanted: type[Relation]) -> list[Relation]:
    return [found for found in relations(relation(sql)) if isinstance(found, wanted)]


@pytest.mark.parametrize(("order", "most", "first"), [("v", 3, 3), ("v", 1000, None), ("ARRAY[v]", 3, None)])
def test_a_window_leaves_out_what_is_numbered_beyond_the_condition(order: str, most: int, first: int | None) -> None:
    (window,) = of_type(NUMBERED.format(order, most), Window)

    assert isinstance(window, Window)
    assert window.first == first


@pytest.mark.parametrize(("order", "count"), [("g, v", 1), ("g", 0)])
def test_distinct_on_sorts_the_rows_that_may_be_first(order: str, count: int) -> None:
    assert len(of_type(f"SELECT DISTINCT ON (g) g, v FROM t ORDER BY {order}", TopRows)) == count


@pytest.mark.parametrize(("function", "count"), [("sum", 1), ("string_agg", 0), ("array_agg", 0)])
def test_grouping_sets_read_the_groups_of_the_finest(function: str, count: int) -> None:
    sql = SETS.format(function) if function != "string_agg" else SETS.replace("{}(w)", "string_agg(g, ',')")

    assert len({id(found) for found in of_type(sql, Materialized)}) == count


def test_conditions_on_stored_columns_come_before_lookups() -> None:
    sql = "SELECT 1 FROM t, LATERAL (SELECT u.w AS x FROM t u WHERE u.g = t.g) z WHERE v = 1 AND x > w + 1"

    lookup, *_ = of_type(sql, LookupJoin)

    assert isinstance(lookup, LookupJoin)
    assert isinstance(lookup.left, Filter)


def test_a_common_table_that_is_read_twice_stays_one_relation() -> None:
    sql = "WITH c AS (SELECT DISTINCT ON (g) g, v FROM t ORDER BY g, v) SELECT * FROM c JOIN c AS d USING (g)"

    reads = [found.input for found in of_type(sql, CteRef) if isinstance(found, CteRef)]

    assert len(reads) == 2
    assert reads[0] is reads[1]
