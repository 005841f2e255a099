"""WITH RECURSIVE, round by round, bounded in rounds and rows."""

from collections.abc import Callable

import polars as pl

from query.bound import Recursive
from query.fault import PROGRAM_LIMIT
from query.limits import MAX_RECURSION_ROUNDS, MAX_RECURSION_ROWS
from query.lower.guards import row_fault

Step = Callable[[pl.LazyFrame], pl.LazyFrame]


def recursive(base: pl.LazyFrame, step: Step, relation: Recursive) -> pl.LazyFrame:
    """The base's rows and those of every round. Runs when the result is collected."""
    schema = {made.id: made.type.polars for made in relation.fields}

    def rounds(rows: pl.DataFrame) -> pl.DataFrame:
        work = rows if relation.all else rows.unique(maintain_order=True)
        results = [work]
        total = work.height
        for _ in range(MAX_RECURSION_ROUNDS):
            work = step(work.lazy()).collect().cast(schema)  # type: ignore[arg-type]
            if not relation.all:
                work = work.unique(maintain_order=True).join(
                    pl.concat(results), on=list(schema), how="anti", nulls_equal=True
                )
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
