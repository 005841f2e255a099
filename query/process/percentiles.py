"""Percentiles of very many values, found by counting instead of sorting.

One pass over the rows counts the values of each group in some ten thousand ranges. A second counts the values, one by
one, of those ranges alone in which the percentiles lie. Neither keeps more than the counts.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from typing import Final

import polars as pl

from query.engine import Table
from query.expr.percentiles import continuous_places, discrete_place, interpolated
from query.lower.constant_folding import is_volatile
from query.pg.types import PgType
from query.plan.percentiles import Counted, counted_percentiles
from query.plan.tree import AggregateCall, Constant, Field, Query, Relation
from query.process.dataset_view import DatasetView

# The values of fewer rows are sorted as fast as they are counted, and fit into memory: about 80 bytes each.
LEAST_ROWS: Final = 2_000_000
# So many rows that satisfy a filter are kept instead of counted.
MOST_KEPT: Final = 500_000
# Groups of fewer values at the mean have nearly each in a range of its own, and are sorted faster. The first rows tell,
SAMPLE_ROWS: Final = 500_000
LEAST_ROWS_OF_GROUP: Final = 20_000
# and all are asked where they may have groups that are large nevertheless, and sorting takes most of a query's memory.
MANY_ROWS: Final = 10_000_000
# Ranges of a float: its sign, its exponent, and eight binary digits.
_RANGE: Final = 1 << 44
_LARGEST: Final = 2**63 - 1
_RANGE_NAME: Final = "\0range"
_COUNT: Final = "\0count"
_BELOW: Final = "\0below"
_TOTAL: Final = "\0total"
_VALUE: Final = "\0value"
_ONE: Final = "\0one"
_SHORT_LIST: Final = 1_000

Views = Mapping[str, DatasetView]
Tables = Mapping[str, Table]
Run = Callable[[Relation, Views, Tables], pl.LazyFrame]


@dataclass(frozen=True, slots=True)
class KnownPercentiles:
    """A query that takes percentiles from `tables`."""

    query: Query
    tables: Tables = field(default_factory=dict)


def known_percentiles(query: Query, views: Views, tables: Tables, run: Run) -> KnownPercentiles:
    """The query with its percentiles of many values known. `run` gives the rows of a part of it.

    Raises what its values raise, SnapshotExpired, FileNotFoundError.
    """
    known = KnownPercentiles(query)
    for number, counted in enumerate(_worthwhile(query, views)):
        # No dataset has such a name.
        name = f"{counted.scan.dataset}\0percentiles{number}"
        values = run(counted.values(), views, tables)
        kept = _kept_rows(counted, run, views, tables) if counted.is_filtered else None
        if kept is not None:
            relation, rows = counted.with_rows(known.query.relation, name), kept
        elif _has_large_groups(counted, values, views):
            other_names = {key.id: f"{key.id}\0" for key in counted.aggregate.keys}
            relation = counted.with_results(known.query.relation, name, list(other_names.values()))
            rows = _results(counted, values).rename(other_names)
        else:
            continue
        known = KnownPercentiles(replace(query, relation=relation), {**known.tables, name: Table(rows.lazy())})
    return known


def _worthwhile(query: Query, views: Views) -> Iterator[Counted]:
    """Those that read very many rows; one that stands in several places once."""
    found = {id(counted.aggregate): counted for counted in counted_percentiles(query.relation)}
    for counted in found.values():
        if _row_count(views, counted.scan.dataset) >= LEAST_ROWS and not is_volatile(counted.aggregate):
            yield counted


def _row_count(views: Views, dataset: str) -> int:
    """The rows of files that are to be read of a dataset."""
    if dataset not in views:
        return 0
    snapshot = views[dataset].snapshot
    return sum(snapshot.rows_of(file) for file in snapshot.files)


def _kept_rows(counted: Counted, run: Run, views: Views, tables: Tables) -> pl.DataFrame | None:
    """The rows of the aggregation, if a filter leaves few of them."""
    rows = run(counted.aggregate.input, views, tables).select(field.id for field in counted.used())
    kept = rows.head(MOST_KEPT + 1).collect(engine="streaming")
    return kept if kept.height <= MOST_KEPT else None


def _has_large_groups(counted: Counted, values: pl.LazyFrame, views: Views) -> bool:
    keys = [key.id for key in counted.aggregate.keys]
    if not keys or _are_large(values.head(SAMPLE_ROWS), keys):
        return True
    return _row_count(views, counted.scan.dataset) >= MANY_ROWS and _are_large(values, keys)


def _are_large(values: pl.LazyFrame, keys: list[str]) -> bool:
    sizes = values.group_by(keys).agg(pl.len().cast(pl.Int64).alias(_COUNT))
    mean = sizes.select(pl.col(_COUNT).mean()).collect(engine="streaming").item()
    return mean is None or bool(mean >= LEAST_ROWS_OF_GROUP)


def _results(counted: Counted, values: pl.LazyFrame) -> pl.DataFrame:
    """A row per group: its keys, and the results of its percentiles by their identifiers."""
    # Groups need a key.
    values = values.with_columns(pl.lit(0, dtype=pl.Int8).alias(_ONE))
    keys = [*(key.id for key in counted.aggregate.keys), _ONE]
    alike: dict[object, list[tuple[AggregateCall, Field]]] = {}
    for call, result in counted.percentiles:
        alike.setdefault((call.order[0].value, call.where), []).append((call, result))
    parts = [_of_values(values, keys, calls) for calls in alike.values()]
    groups = reduce(lambda left, right: left.join(right, on=keys, how="full", nulls_equal=True, coalesce=True), parts)
    if not groups.height and not counted.aggregate.keys:
        groups = groups.clear(1)
    return groups.drop(_ONE)


def _of_values(rows: pl.LazyFrame, keys: list[str], calls: Sequence[tuple[AggregateCall, Field]]) -> pl.DataFrame:
    """The percentiles of one column for each group; NULL of groups without values."""
    value = pl.col(calls[0][1].id)
    rows = rows.select(*keys, value.alias(_VALUE), _range(value).alias(_RANGE_NAME))
    ranges = rows.group_by(*keys, _RANGE_NAME).agg(pl.len().cast(pl.Int64).alias(_COUNT)).collect(engine="streaming")
    groups = ranges.select(keys).unique()
    ranges = _numbered(ranges.drop_nulls(_RANGE_NAME), keys, _RANGE_NAME)
    wanted = ranges.filter(pl.any_horizontal(place for call, _ in calls for place in _looked_at(call)))
    found = _numbered(_counted_within(rows, wanted, keys), keys, _VALUE)
    for call, result in calls:
        groups = groups.join(_picked(found, keys, call, result), on=keys, how="left", nulls_equal=True)
    return groups


def _range(value: pl.Expr) -> pl.Expr:
    """The range of a number: an integer that never goes down while numbers go up, NaN last (float8_cmp_internal)."""
    number = value.cast(pl.Float64)
    bits = number.reinterpret(dtype=pl.Int64)
    ordered = pl.when(bits < 0).then(bits ^ _LARGEST).otherwise(bits)
    return (pl.when(number.is_nan()).then(_LARGEST).otherwise(ordered) // _RANGE).cast(pl.Int32)


def _numbered(counts: pl.DataFrame, keys: list[str], by: str) -> pl.DataFrame:
    """The counts in order, with how many values of the group stand before each, and how many it has in all.

    Counts of a part of the values say how many stand before the part.
    """
    before = pl.col(_BELOW) if _BELOW in counts.columns else pl.lit(0, dtype=pl.Int64)
    within = [*keys, _RANGE_NAME] if _BELOW in counts.columns else keys
    total = pl.col(_TOTAL) if _TOTAL in counts.columns else pl.col(_COUNT).sum().over(keys)
    running = pl.col(_COUNT).cum_sum().over(within)
    return counts.sort(*keys, by).with_columns((before + running - pl.col(_COUNT)).alias(_BELOW), total.alias(_TOTAL))


def _counted_within(rows: pl.LazyFrame, wanted: pl.DataFrame, keys: list[str]) -> pl.DataFrame:
    """How often each value of the wanted ranges occurs in its group."""
    ranges = wanted.get_column(_RANGE_NAME).unique()
    if len(ranges) <= _SHORT_LIST:
        # The join is several times slower than this, which leaves it few rows.
        rows = rows.filter(pl.col(_RANGE_NAME).is_in(ranges.to_list()))
    on = [*keys, _RANGE_NAME]
    few = rows.join(wanted.lazy().select(*on, _BELOW, _TOTAL), on=on, nulls_equal=True)
    counts = few.group_by(*on, _VALUE).agg(pl.len().cast(pl.Int64).alias(_COUNT), pl.col(_BELOW, _TOTAL).first())
    return counts.collect(engine="streaming")


def _places(call: AggregateCall, fraction: float) -> tuple[pl.Expr, pl.Expr, pl.Expr]:
    """The places, from 0, of the two values about a percentile, and the share of the way between them."""
    total = pl.col(_TOTAL)
    if call.function == "percentile_cont":
        low, high, share = continuous_places(total, fraction)
    else:
        low = high = discrete_place(total, fraction)
        share = pl.lit(0.0)
    return (total - 1 - low, total - 1 - high, share) if call.order[0].descending else (low, high, share)


def _holds(place: pl.Expr) -> pl.Expr:
    """Whether the value at a place of the group is one of these."""
    return (pl.col(_BELOW) <= place) & (place < pl.col(_BELOW) + pl.col(_COUNT))


def _looked_at(call: AggregateCall) -> Iterator[pl.Expr]:
    for fraction in _fractions(call):
        low, high, _ = _places(call, fraction)
        yield from (_holds(low), _holds(high))


def _fractions(call: AggregateCall) -> list[float]:
    value = call.direct[0].value if isinstance(call.direct[0], Constant) else ()
    return [float(each) for each in (value if isinstance(value, tuple) else (value,))]


def _picked(found: pl.DataFrame, keys: list[str], call: AggregateCall, result: Field) -> pl.DataFrame:
    """The percentile of each group that has values."""
    columns = [_at(call, fraction).alias(str(index)) for index, fraction in enumerate(_fractions(call))]
    picked = found.group_by(keys).agg(columns)
    names = [str(index) for index in range(len(columns))]
    return picked.select(*keys, _shaped(names, result.type).alias(result.id))


def _at(call: AggregateCall, fraction: float) -> pl.Expr:
    low, high, share = _places(call, fraction)
    first, second = (pl.col(_VALUE).filter(_holds(place)).first() for place in (low, high))
    return first if call.function == "percentile_disc" else interpolated(first, second, share.first())


def _shaped(names: list[str], pg_type: PgType) -> pl.Expr:
    return (pl.concat_list(names) if pg_type.element is not None else pl.col(names[0])).cast(pg_type.polars)
