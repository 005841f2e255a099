"""The rows of a window: sorted by partition and order, numbered, with the bounds of their partition and peer group."""

import polars as pl

from query.expr.common_subexpressions import CommonSubexpressions
from query.expr.window_columns import FIRST, LAST, NEW_PARTITION, NEW_PEERS, PEER, PEER_END, ROW
from query.lower.scalars import sort_value, with_values
from query.lower.top_n_filter import top_n_filter
from query.lower.window_specs import Spec
from query.pg.types import BOOL
from query.plan.tree import Coalesce, WindowCall, truth


def with_window_columns(frame: pl.LazyFrame, spec: Spec, first_rows: int | None, stored: bool) -> pl.LazyFrame:
    """Sorted rows with their number and the bounds of their partition and peer group."""
    partition = [f"w_p{index}" for index in range(len(spec.partition))]
    order = [f"w_o{index}" for index in range(len(spec.order))]
    subexpressions = CommonSubexpressions()
    values = [
        *(sort_value(value, subexpressions).alias(name) for value, name in zip(spec.partition, partition, strict=True)),
        *(sort_value(key.value, subexpressions).alias(name) for key, name in zip(spec.order, order, strict=True)),
    ]
    frame = subexpressions.drop_from(subexpressions.add_to(frame).with_columns(values))
    if first_rows is not None:
        frame = top_n_filter(frame, partition, pl.col(order[0]), spec.order[0], first_rows, stored)
    if partition or order:
        frame = frame.sort(
            [*partition, *order],
            descending=[False] * len(partition) + [key.descending for key in spec.order],
            nulls_last=[False] * len(partition) + [not key.nulls_first for key in spec.order],
            maintain_order=True,
        )
    frame = frame.with_columns(pl.int_range(pl.len(), dtype=pl.Int64).alias(ROW))
    first = pl.col(ROW) == 0
    starts = _changes(partition, first)
    peers = _changes([*partition, *order], first) if order else starts
    frame = frame.with_columns(starts.alias(NEW_PARTITION), peers.alias(NEW_PEERS))
    return frame.with_columns(
        *_bounds(NEW_PARTITION, FIRST, LAST),
        *_bounds(NEW_PEERS, PEER, PEER_END),
    )


def _changes(names: list[str], first: pl.Expr) -> pl.Expr:
    changed = first
    for name in names:
        changed = changed | pl.col(name).ne_missing(pl.col(name).shift(1))
    return changed


def _bounds(flag: str, start: str, end: str) -> tuple[pl.Expr, pl.Expr]:
    """First row of the run a row is in, and the row after its last."""
    opened = pl.when(pl.col(flag)).then(pl.col(ROW)).forward_fill()
    closes = pl.col(flag).shift(-1, fill_value=True)
    closed = pl.when(closes).then(pl.col(ROW) + 1).backward_fill()
    return opened.alias(start), closed.alias(end)


def with_arguments(frame: pl.LazyFrame, call: WindowCall) -> pl.LazyFrame:
    """The call's arguments as columns: a constant has to have as many rows as everything else."""
    parts = {f"w_arg{index}": arg for index, arg in enumerate(call.args)}
    if call.where is not None:
        parts["w_where"] = Coalesce(BOOL, (call.where, truth(False)))
    return with_values(frame, parts)
