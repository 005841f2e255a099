"""Window functions over rows sorted once per window: every frame is a half-open range of row numbers.

The rows are sorted by partition and order; then the first and last row of each row's partition and peer group, and
from them of its frame, are columns, and every function is arithmetic over those. No row is ever visited by Python.
"""

import polars as pl

from query import fault
from query.lower.frame_aggregates import aggregated, is_total, total
from query.lower.frames import DEFAULT, WHOLE, framed
from query.lower.rankings import RANKINGS, neighbour, placed
from query.lower.statements import Statements
from query.lower.top_n_filter import is_stored
from query.lower.window_rows import Spec, marked, with_arguments
from query.plan.tree import Column, Field, Window, WindowCall


def window(relation: Window, frame: pl.LazyFrame, statements: Statements, first: int | None = None) -> pl.LazyFrame:
    """The input's columns and one per call. Of each partition only the `first` rows and some others may be wanted."""
    made = relation.fields[len(relation.input.fields) :]
    kept = [field.id for field in relation.input.fields]
    groups: dict[Spec, list[tuple[WindowCall, Field]]] = {}
    for call, field in zip(relation.calls, made, strict=True):
        groups.setdefault(Spec(call.partition, call.order), []).append((call, field))
    for spec, calls in groups.items():
        if all(is_total(call) for call, _ in calls):
            statements.note(f"{len(calls)} aggregates of all rows")
            for call, field in calls:
                frame = total(frame, call, field)
        else:
            statements.note(f"{len(calls)} window functions over one sorting")
            frame = marked(frame, spec, first, _is_stored(relation, spec))
            for call, field in calls:
                frame = _computed(frame, call, field, spec)
        kept += [field.id for _, field in calls]
        frame = frame.select(kept)
    wanted = [field.id for field in relation.fields]
    return frame if kept == wanted else frame.select(wanted)


def _is_stored(relation: Window, spec: Spec) -> bool:
    return is_stored(relation.input) and all(isinstance(value, Column) for value in spec.values)


def _computed(frame: pl.LazyFrame, call: WindowCall, made: Field, spec: Spec) -> pl.LazyFrame:
    frame = with_arguments(frame, call)
    ranking = RANKINGS.get(call.function)
    if ranking is not None:
        return frame.with_columns(ranking(call).alias(made.id))
    if call.function in ("lag", "lead"):
        return frame.with_columns(neighbour(call).alias(made.id))
    bounds = call.frame or (DEFAULT if spec.order else WHOLE)
    frame = framed(frame, bounds, spec)
    if call.function in ("first_value", "last_value", "nth_value"):
        if bounds.exclude:
            raise fault.unsupported(f"{call.function} with EXCLUDE", call.position)
        return frame.with_columns(placed(call).alias(made.id))
    return aggregated(frame, call, made, bounds)
