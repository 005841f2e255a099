"""Window functions over rows sorted once per window: every frame is a half-open range of row numbers.

The rows are sorted by partition and order; then the first and last row of each row's partition and peer group, and
from them of its frame, are columns, and every function is arithmetic over those. No row is ever visited by Python.
"""

import polars as pl

from query import fault
from query.functions.registry import WINDOW_FUNCTIONS
from query.lower.frame_aggregates import aggregate_over_frame, is_total, total
from query.lower.frames import with_frame_bounds
from query.lower.statements import Statements
from query.lower.top_n_filter import is_stored
from query.lower.window_rows import with_arguments, with_window_columns
from query.lower.window_specs import DEFAULT, WHOLE, Spec
from query.plan.tree import Column, Field, Window, WindowCall


def window(relation: Window, frame: pl.LazyFrame, statements: Statements) -> pl.LazyFrame:
    """The input's columns and one per call."""
    outputs = relation.fields[len(relation.input.fields) :]
    column_ids = [field.id for field in relation.input.fields]
    groups: dict[Spec, list[tuple[WindowCall, Field]]] = {}
    for call, field in zip(relation.calls, outputs, strict=True):
        groups.setdefault(Spec(call.partition, call.order), []).append((call, field))
    for spec, calls in groups.items():
        if all(is_total(call) for call, _ in calls):
            statements.note(f"{len(calls)} aggregates of all rows")
            for call, field in calls:
                frame = total(frame, call, field)
        else:
            statements.note(f"{len(calls)} window functions over one sorting")
            frame = with_window_columns(frame, spec, relation.first, _is_stored(relation, spec))
            for call, field in calls:
                frame = _compute(frame, call, field, spec)
        column_ids += [field.id for _, field in calls]
        frame = frame.select(column_ids)
    output_ids = [field.id for field in relation.fields]
    return frame if column_ids == output_ids else frame.select(output_ids)


def _is_stored(relation: Window, spec: Spec) -> bool:
    return is_stored(relation.input) and all(isinstance(value, Column) for value in spec.values)


def _compute(frame: pl.LazyFrame, call: WindowCall, output: Field, spec: Spec) -> pl.LazyFrame:
    frame = with_arguments(frame, call)
    function = next(iter(WINDOW_FUNCTIONS.get(call.function, ())), None)
    if function is not None and not function.framed:
        return frame.with_columns(function.build(call).alias(output.id))
    bounds = call.frame or (DEFAULT if spec.order else WHOLE)
    frame = with_frame_bounds(frame, bounds, spec)
    if function is None:
        return aggregate_over_frame(frame, call, output, bounds)
    if bounds.exclude:
        raise fault.unsupported(f"{call.function} with EXCLUDE", call.position)
    return frame.with_columns(function.build(call).alias(output.id))
