"""Window functions over rows sorted once per window: every frame is a half-open range of row numbers.

The rows are sorted by partition and order; then the first and last row of each row's partition and peer group, and
from them of its frame, are columns, and every function is arithmetic over those. No row is ever visited by Python.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import polars as pl

from query import fault
from query.bound import (
    AggregateCall,
    Bound,
    Call,
    Coalesce,
    Column,
    Constant,
    Field,
    Frame,
    Scalar,
    SortKey,
    Window,
    WindowCall,
    truth,
)
from query.lower.aggregates import plan
from query.lower.contenders import can_contend, contenders, is_stored
from query.lower.guards import trap
from query.lower.ordering import is_keyed, sort_value
from query.lower.plans import quotient
from query.lower.scalars import computed, expression
from query.lower.stage import Stage
from query.lower.statements import Statements
from query.types import BOOL, FLOATS, INT8, INTEGERS, PgType

_WHOLE: Final = Frame("range", Bound("unbounded_preceding"), Bound("unbounded_following"))
_DEFAULT: Final = Frame("range", Bound("unbounded_preceding"), Bound("current"))
_ROW, _FIRST, _LAST, _PEER, _PEER_END = "w_row", "w_first", "w_last", "w_peer", "w_peer_end"
_START, _END = "w_start", "w_end"


@dataclass(frozen=True, slots=True)
class Spec:
    """What calls have to share to be computed over one sorting."""

    partition: tuple[Scalar, ...]
    order: tuple[SortKey, ...]

    @property
    def values(self) -> tuple[Scalar, ...]:
        """What rows are divided and sorted by."""
        return (*self.partition, *(key.value for key in self.order))


def window(relation: Window, frame: pl.LazyFrame, statements: Statements, first: int | None = None) -> pl.LazyFrame:
    """The input's columns and one per call. Of each partition only the `first` rows and some others may be wanted."""
    made = relation.fields[len(relation.input.fields) :]
    groups: dict[Spec, list[tuple[WindowCall, Field]]] = {}
    for call, field in zip(relation.calls, made, strict=True):
        groups.setdefault(Spec(call.partition, call.order), []).append((call, field))
    for spec, calls in groups.items():
        statements.note(f"{len(calls)} window functions over one sorting")
        kept = frame.collect_schema().names()
        stored = is_stored(relation.input) and all(isinstance(value, Column) for value in spec.values)
        frame = _marked(frame, spec, first, stored)
        for call, field in calls:
            frame = _computed(frame, call, field, spec)
        frame = frame.select(*kept, *(field.id for _, field in calls))
    return frame.select([field.id for field in relation.fields])


def _marked(frame: pl.LazyFrame, spec: Spec, first_rows: int | None, stored: bool) -> pl.LazyFrame:
    """Sorted rows with their number and the bounds of their partition and peer group."""
    partition = [f"w_p{index}" for index in range(len(spec.partition))]
    order = [f"w_o{index}" for index in range(len(spec.order))]
    stage = Stage()
    values = [
        *(sort_value(value, stage).alias(name) for value, name in zip(spec.partition, partition, strict=True)),
        *(sort_value(key.value, stage).alias(name) for key, name in zip(spec.order, order, strict=True)),
    ]
    frame = stage.after(stage.before(frame).with_columns(values))
    if first_rows is not None and can_contend([value.type for value in spec.partition], spec.order[0].value.type):
        frame = contenders(frame, partition, pl.col(order[0]), spec.order[0], first_rows, stored)
    if partition or order:
        frame = frame.sort(
            [*partition, *order],
            descending=[False] * len(partition) + [key.descending for key in spec.order],
            nulls_last=[False] * len(partition) + [not key.nulls_first for key in spec.order],
            maintain_order=True,
        )
    frame = frame.with_columns(pl.int_range(pl.len(), dtype=pl.Int64).alias(_ROW))
    first = pl.col(_ROW) == 0
    starts = _changed(partition, first)
    peers = _changed([*partition, *order], first) if order else starts
    frame = frame.with_columns(starts.alias("w_starts"), peers.alias("w_peers"))
    return frame.with_columns(
        *_bounds("w_starts", _FIRST, _LAST),
        *_bounds("w_peers", _PEER, _PEER_END),
    )


def _changed(names: list[str], first: pl.Expr) -> pl.Expr:
    changed = first
    for name in names:
        changed = changed | pl.col(name).ne_missing(pl.col(name).shift(1))
    return changed


def _bounds(flag: str, start: str, end: str) -> tuple[pl.Expr, pl.Expr]:
    """First row of the run a row is in, and the row after its last."""
    opened = pl.when(pl.col(flag)).then(pl.col(_ROW)).forward_fill()
    closes = pl.col(flag).shift(-1, fill_value=True)
    closed = pl.when(closes).then(pl.col(_ROW) + 1).backward_fill()
    return opened.alias(start), closed.alias(end)


def _with_arguments(frame: pl.LazyFrame, call: WindowCall) -> pl.LazyFrame:
    """The call's arguments as columns: a constant has to have as many rows as everything else."""
    parts = {f"w_arg{index}": arg for index, arg in enumerate(call.args)}
    if call.where is not None:
        parts["w_where"] = Coalesce(BOOL, (call.where, truth(False)))
    return computed(frame, parts)


def _argument(index: int) -> pl.Expr:
    return pl.col(f"w_arg{index}")


def _computed(frame: pl.LazyFrame, call: WindowCall, made: Field, spec: Spec) -> pl.LazyFrame:
    frame = _with_arguments(frame, call)
    ranking = _RANKINGS.get(call.function)
    if ranking is not None:
        return frame.with_columns(ranking(call).alias(made.id))
    if call.function in ("lag", "lead"):
        return frame.with_columns(_neighbour(call).alias(made.id))
    bounds = call.frame or (_DEFAULT if spec.order else _WHOLE)
    frame = _framed(frame, bounds, spec)
    if call.function in ("first_value", "last_value", "nth_value"):
        if bounds.exclude:
            raise fault.unsupported(f"{call.function} with EXCLUDE", call.position)
        return frame.with_columns(_placed(call).alias(made.id))
    return _aggregated(frame, call, made, bounds)


# --- ranking and neighbours ----------------------------------------------------------------------------------------


def _row_number(call: WindowCall) -> pl.Expr:
    return pl.col(_ROW) - pl.col(_FIRST) + 1


def _rank(call: WindowCall) -> pl.Expr:
    return pl.col(_PEER) - pl.col(_FIRST) + 1


def _dense_rank(call: WindowCall) -> pl.Expr:
    groups = pl.col("w_peers").cast(pl.Int64).cum_sum()
    return groups - groups.gather(pl.col(_FIRST)) + 1


def _percent_rank(call: WindowCall) -> pl.Expr:
    rows = pl.col(_LAST) - pl.col(_FIRST)
    share = (pl.col(_PEER) - pl.col(_FIRST)) / (rows - 1)
    return pl.when(rows > 1).then(share).otherwise(0.0)


def _cume_dist(call: WindowCall) -> pl.Expr:
    return (pl.col(_PEER_END) - pl.col(_FIRST)) / (pl.col(_LAST) - pl.col(_FIRST))


def _ntile(call: WindowCall) -> pl.Expr:
    """The first `rows % n` buckets have one row more."""
    buckets = _argument(0).cast(pl.Int64)
    buckets = trap(buckets, buckets <= 0, "ntile_zero", call.position)
    rows, number = pl.col(_LAST) - pl.col(_FIRST), pl.col(_ROW) - pl.col(_FIRST)
    size, larger = rows // buckets, rows % buckets
    in_larger = number < larger * (size + 1)
    bucket = (
        pl.when(in_larger)
        .then(number // (size + 1))
        .otherwise(larger + (number - larger * (size + 1)) // pl.max_horizontal(size, pl.lit(1, dtype=pl.Int64)))
    )
    return (bucket + 1).cast(pl.Int32)


_RANKINGS: Final[dict[str, Callable[[WindowCall], pl.Expr]]] = {
    "row_number": _row_number,
    "rank": _rank,
    "dense_rank": _dense_rank,
    "percent_rank": _percent_rank,
    "cume_dist": _cume_dist,
    "ntile": _ntile,
}


def _neighbour(call: WindowCall) -> pl.Expr:
    value = _argument(0)
    offset = _argument(1).cast(pl.Int64) if len(call.args) > 1 else pl.lit(1, dtype=pl.Int64)
    default = _argument(2) if len(call.args) > 2 else pl.lit(None, dtype=call.type.polars)
    place = pl.col(_ROW) - offset if call.function == "lag" else pl.col(_ROW) + offset
    inside = (place >= pl.col(_FIRST)) & (place < pl.col(_LAST))
    found = value.gather(pl.when(inside).then(place))
    return pl.when(inside).then(found).when(place.is_not_null()).then(default)


def _placed(call: WindowCall) -> pl.Expr:
    value = _argument(0)
    if call.function == "first_value":
        place = pl.col(_START)
    elif call.function == "last_value":
        place = pl.col(_END) - 1
    else:
        number = _argument(1).cast(pl.Int64)
        number = trap(number, number <= 0, "nth_zero", call.position)
        place = pl.col(_START) + number - 1
    inside = (place >= pl.col(_START)) & (place < pl.col(_END))
    return value.gather(pl.when(inside).then(place))


# --- frames --------------------------------------------------------------------------------------------------------


def _framed(frame: pl.LazyFrame, bounds: Frame, spec: Spec) -> pl.LazyFrame:
    """Rows [w_start, w_end) of each row's frame, never empty backwards."""
    start = _edge(bounds.mode, bounds.start, spec, is_start=True)
    end = _edge(bounds.mode, bounds.end, spec, is_start=False)
    frame = frame.with_columns(start.cast(pl.Int64).alias(_START), end.cast(pl.Int64).alias(_END))
    return frame.with_columns(pl.max_horizontal(_START, _END).alias(_END))


def _edge(mode: str, bound: Bound, spec: Spec, is_start: bool) -> pl.Expr:
    first, last = pl.col(_FIRST), pl.col(_LAST)
    if bound.kind == "unbounded_preceding":
        return first
    if bound.kind == "unbounded_following":
        return last
    if bound.kind == "current":
        if mode == "rows":
            return pl.col(_ROW) if is_start else pl.col(_ROW) + 1
        return pl.col(_PEER) if is_start else pl.col(_PEER_END)
    sign = -1 if bound.kind == "preceding" else 1
    if mode == "rows":
        place = pl.col(_ROW) + sign * _offset(bound) + (0 if is_start else 1)
        return pl.max_horizontal(pl.min_horizontal(place, last), first)
    if mode == "groups":
        return _group_edge(sign * _offset(bound), is_start)
    return _value_edge(bound, spec, sign, is_start)


def _offset(bound: Bound) -> int:
    value = getattr(bound.offset, "value", None)
    if not isinstance(value, int):
        raise fault.unsupported("this frame offset")
    return value


def _group_edge(groups: int, is_start: bool) -> pl.Expr:
    """Peer groups are numbered; the frame's edge is the first row of the n-th one away."""
    number = pl.col("w_peers").cast(pl.Int64).cum_sum()
    target = number + groups + (0 if is_start else 1)
    place = number.search_sorted(target, side="left").cast(pl.Int64)
    return pl.max_horizontal(pl.min_horizontal(place, pl.col(_LAST)), pl.col(_FIRST))


def _value_edge(bound: Bound, spec: Spec, sign: int, is_start: bool) -> pl.Expr:
    """RANGE with an offset: where the first row at or beyond value ± offset stands in the sorted partition."""
    key = spec.order[0]
    kind = key.value.type
    moved = _moved(key, bound, -sign if key.descending else sign)
    physical, target = _whole(pl.col("w_o0"), kind), _whole(moved, kind)
    if key.descending:
        zero = pl.lit(0, dtype=pl.Int128)
        physical, target = zero - physical, zero - target
    run = pl.col("w_starts").cast(pl.Int128).cum_sum() * pl.lit(4, dtype=pl.Int128)
    step = pl.lit(1 << 70, dtype=pl.Int128)
    null_rank = pl.lit(0 if key.nulls_first else 2, dtype=pl.Int128)
    position = pl.when(physical.is_null()).then((run + null_rank) * step).otherwise((run + 1) * step + physical)
    sought = (run + 1) * step + target
    place = position.search_sorted(sought.fill_null(0), side="left" if is_start else "right").cast(pl.Int64)
    place = pl.max_horizontal(pl.min_horizontal(place, pl.col(_LAST)), pl.col(_FIRST))
    peer = pl.col(_PEER) if is_start else pl.col(_PEER_END)
    return pl.when(physical.is_null()).then(peer).otherwise(place)


def _moved(key: SortKey, bound: Bound, sign: int) -> pl.Expr:
    """The ordering value plus or minus the frame's offset."""
    kind, offset = key.value.type, bound.offset
    if offset is None or not isinstance(offset, Constant):
        raise fault.unsupported("this frame offset")
    if kind.name in INTEGERS and isinstance(offset.value, int) and offset.type.name in INTEGERS:
        return pl.col("w_o0").cast(pl.Int128) + sign * offset.value
    if kind.name == "numeric" and isinstance(offset.value, int) and kind.scale >= offset.type.scale:
        factor: int = 10 ** (kind.scale - offset.type.scale)
        return pl.col("w_o0") + sign * offset.value * factor
    if kind.name in ("timestamp", "timestamptz") and offset.type.name == "interval":
        name = f"{'+' if sign > 0 else '-'}({kind.name}, interval)"
        return expression(Call(kind, name, (key.value, offset)))
    raise fault.unsupported(f"RANGE with an offset over {kind.sql_name}", None, "order by an integer or timestamp")


def _whole(value: pl.Expr, kind: PgType) -> pl.Expr:
    return value.to_physical().cast(pl.Int128) if kind.name in ("timestamp", "timestamptz") else value.cast(pl.Int128)


# --- aggregates over frames ----------------------------------------------------------------------------------------


def _aggregated(frame: pl.LazyFrame, call: WindowCall, made: Field, bounds: Frame) -> pl.LazyFrame:
    whole = bounds.start.kind == "unbounded_preceding" and bounds.end.kind == "unbounded_following"
    if whole and not bounds.exclude:
        return _over_partition(frame, call, made)
    if call.function == "count" and not bounds.exclude:
        return frame.with_columns(_running(_counted(call)).alias(made.id))
    exact = call.args and call.args[0].type.name in (*INTEGERS, "numeric")
    if call.function in ("sum", "avg") and exact and not bounds.exclude:
        return _exact(frame, call, made)
    grows = bounds.start.kind == "unbounded_preceding" and not bounds.exclude
    if grows and call.function in ("sum", "avg", "min", "max") and not is_keyed(call.args[0].type):
        return _growing(frame, call, made)
    return _listed(frame, call, made, bounds)


def _masked(call: WindowCall) -> pl.Expr:
    value = _argument(0)
    return value if call.where is None else pl.when(pl.col("w_where")).then(value)


def _counted(call: WindowCall) -> pl.Expr:
    if call.args:
        return _masked(call).is_not_null()
    if call.where is not None:
        return pl.col("w_where")
    return pl.col(_ROW).is_not_null()


def _running(flags: pl.Expr) -> pl.Expr:
    """How many flags are set in the frame: a difference of running totals."""
    return _difference(flags.cast(pl.Int64).cum_sum())


def _difference(total: pl.Expr) -> pl.Expr:
    upto = pl.when(pl.col(_END) > 0).then(pl.col(_END) - 1)
    before = pl.when(pl.col(_START) > 0).then(pl.col(_START) - 1)
    return total.gather(upto).fill_null(0) - total.gather(before).fill_null(0)


def _exact(frame: pl.LazyFrame, call: WindowCall, made: Field) -> pl.LazyFrame:
    """Sums of whole numbers, by differences of running totals, which lose nothing."""
    value = _masked(call)
    total = _difference(value.cast(pl.Int128).fill_null(0).cum_sum())
    count = _running(value.is_not_null())
    if call.function == "sum":
        return frame.with_columns(pl.when(count > 0).then(total).cast(call.type.polars).alias(made.id))
    scale = call.type.scale - call.args[0].type.scale
    return frame.with_columns(quotient(total, count, scale).alias(made.id))


def _growing(frame: pl.LazyFrame, call: WindowCall, made: Field) -> pl.LazyFrame:
    """Frames that start with the partition: running values, read at the frame's last row."""
    value = _masked(call)
    float_value = call.args[0].type.name in FLOATS
    frame = frame.with_columns(value.alias("w_value"))
    source = pl.col("w_value")
    if call.function in ("min", "max"):
        if float_value or call.args[0].type.name == "text":
            return _listed(frame, call, made, _DEFAULT)
        running = source.cum_min() if call.function == "min" else source.cum_max()
    else:
        running = source.fill_null(0).cum_sum()
    frame = frame.with_columns(running.forward_fill().over(_FIRST).alias("w_running"))
    frame = frame.with_columns(_running(pl.col("w_value").is_not_null()).alias("w_count"))
    last = pl.when(pl.col("w_count") > 0).then(pl.col(_END) - 1)
    result = pl.col("w_running").gather(last)
    if call.function == "avg":
        result = result / pl.col("w_count")
    return frame.with_columns(result.cast(call.type.polars).alias(made.id))


def _as_aggregate(call: WindowCall) -> AggregateCall:
    return AggregateCall(call.type, call.function, call.args, where=call.where, position=call.position)


def _over_partition(frame: pl.LazyFrame, call: WindowCall, made: Field) -> pl.LazyFrame:
    """One value per partition, repeated for its rows."""
    entry = plan(_as_aggregate(call), made)
    frame = frame.with_columns(entry.columns)
    frame = (
        frame.with_columns(item.over(_FIRST) for item in entry.aggregates)
        if call.function != "array_agg"
        else (frame.with_columns(item.over(_FIRST, mapping_strategy="join") for item in entry.aggregates))
    )
    return frame.with_columns(entry.result.alias(made.id))


def _listed(frame: pl.LazyFrame, call: WindowCall, made: Field, bounds: Frame) -> pl.LazyFrame:
    """Any aggregate over any frame: the frame's rows are written out and grouped by the row they belong to."""
    entry = plan(_as_aggregate(call), made)
    # Read three times, by row numbers: computed once, since rows that tie come in another order every time.
    frame = frame.with_columns(entry.columns).cache()
    names = [column.meta.output_name() for column in entry.columns]
    members = (
        frame.select(
            pl.col(_ROW).alias("w_owner"),
            pl.col(_PEER).alias("w_owner_peer"),
            pl.int_ranges(pl.col(_START), pl.col(_END)).alias("w_member"),
        )
        .explode("w_member")
        .filter(pl.col("w_member").is_not_null())
    )
    source = frame.select(pl.col(_ROW).alias("w_member"), pl.col(_PEER).alias("w_member_peer"), *names)
    members = members.join(source, on="w_member", how="left", maintain_order="left")
    if bounds.exclude:
        members = members.filter(_included(bounds.exclude))
    grouped = members.group_by("w_owner").agg(entry.aggregates)
    frame = frame.join(grouped, left_on=_ROW, right_on="w_owner", how="left", maintain_order="left")
    result = entry.result
    if call.function in ("count", "regr_count"):
        result = result.fill_null(0).cast(INT8.polars)
    return frame.with_columns(result.alias(made.id))


def _included(exclude: str) -> pl.Expr:
    itself = pl.col("w_member") == pl.col("w_owner")
    peer = pl.col("w_member_peer") == pl.col("w_owner_peer")
    if exclude == "current row":
        return ~itself
    return ~peer if exclude == "group" else ~peer | itself
