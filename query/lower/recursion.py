"""WITH RECURSIVE, round by round, bounded in rounds and rows."""

from collections.abc import Callable
from dataclasses import replace

import polars as pl

from query.expr.row_errors import row_fault
from query.fault import PROGRAM_LIMIT
from query.limits import MAX_RECURSION_ROUNDS, MAX_RECURSION_ROWS
from query.lower.constant_folding import is_volatile
from query.lower.grouping_keys import groups_of
from query.plan.tree import CteRef, Limit, Project, Recursive, Relation

Step = Callable[[pl.LazyFrame], pl.LazyFrame]


def _new(rows: pl.DataFrame, before: list[pl.DataFrame], relation: Recursive) -> pl.DataFrame:
    """The distinct rows that are not among the rows before."""
    groups = groups_of(pl.concat([*before, rows]).with_row_index("n").lazy(), relation.fields)
    unique = groups.frame.unique(groups.names, keep="first", maintain_order=True)
    height_before = sum(part.height for part in before)
    return unique.filter(pl.col("n") >= height_before).select(rows.columns).collect()


def ended_by_limit(limit: Limit) -> Limit:
    """LIMIT over a recursion, which goes on until there are as many rows: PostgreSQL makes none that nobody reads."""
    if limit.count is None or limit.ties:
        return limit
    source = _with_first(limit.input, limit.offset + limit.count)
    return limit if source is None else replace(limit, input=source)


def _with_first(relation: Relation, first: int) -> Relation | None:
    """The rows of a recursion, if they are in their order, made no further than to the `first`; None: they are not."""
    match relation:
        case CteRef() | Project():
            source = _with_first(relation.input, first)
            return None if source is None else replace(relation, input=source)
        # Every other reader of the recursion has to see the same rows, and computes them anew.
        case Recursive() if not is_volatile(relation):
            return replace(relation, first=first)
    return None


def recursive(base: pl.LazyFrame, step: Step, relation: Recursive) -> pl.LazyFrame:
    """The base's rows and those of every round. Runs when the result is collected."""
    schema = {field.id: field.type.polars for field in relation.fields}

    def rounds(rows: pl.DataFrame) -> pl.DataFrame:
        work = rows if relation.all else _new(rows, [], relation)
        results = [work]
        total = work.height
        for _ in range(MAX_RECURSION_ROUNDS):
            if relation.first is not None and total >= relation.first:
                return pl.concat(results)
            work = step(work.lazy()).collect().cast(schema)  # type: ignore[arg-type]
            if not relation.all:
                work = _new(work, results, relation)
            if work.height == 0:
                return pl.concat(results)
            results.append(work)
            total += work.height
            if total > MAX_RECURSION_ROWS:
                raise row_fault(PROGRAM_LIMIT, f"a recursive query made more than {MAX_RECURSION_ROWS} rows")
        raise row_fault(PROGRAM_LIMIT, f"a recursive query ran for more than {MAX_RECURSION_ROUNDS} rounds")

    return base.map_batches(
        rounds,
        schema=schema,
        predicate_pushdown=False,
        projection_pushdown=False,
        slice_pushdown=False,
    )
