"""Readers narrowed by a tag: a dataset as if it held nothing but the rows that they may see (api.md section 2)."""

import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Final

import polars as pl
from polars import selectors

from query.plan.conditions import Conditions
from query.process.messages import Tags
from storage.exactly import exactly
from storage.files.statistics import Condition
from storage.read.scan import scan
from storage.read.snapshot import Snapshot
from storage.read.unconverted_rows import UnconvertedRows

# What every row of every dataset has, whoever sent it.
EVERYWHERE: Final = ("p_timestamp", "p_src_ip", "p_user_agent")
TRUTH: Final = {"true": True, "false": False}
_COMPARES: Final[Mapping[str, Callable[[pl.Expr, pl.Expr], pl.Expr]]] = MappingProxyType(
    {"=": operator.eq, "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge}
)


@dataclass
class _Seen:
    """The columns found in permitted rows, and the files that were searched for them; both only grow."""

    columns: set[str] = field(default_factory=lambda: set(EVERYWHERE))
    paths: set[str] = field(default_factory=set)


class RowLevelSecurity:
    """Narrowed scans, with what was learnt about immutable files kept for the next one."""

    def __init__(self, tails: UnconvertedRows) -> None:
        self._tails = tails
        self._seen: dict[tuple[int, Tags], _Seen] = {}

    def scan(self, snapshot: Snapshot, only: Tags, conditions: Sequence[Conditions] = ()) -> pl.LazyFrame:
        """The permitted rows of the snapshot that satisfy any of the `conditions`. Raises SnapshotExpired.

        The conditions are plain comparisons, which fail on no row, so they go to the scan beside ours, where they
        leave out row groups. They are tried again above: a row that satisfies none of them is not missed.
        """
        rows = scan(snapshot, self._tails)
        return permitted_rows(matching_rows(rows, conditions), _stored(only, snapshot))

    def visible(self, whole: Snapshot, only: Tags) -> frozenset[str]:
        """The columns, as stored, that a permitted row of any time has.

        A column that only other rows have would tell that they exist. Raises SnapshotExpired.
        """
        seen = self._seen.setdefault((whole.schema.dataset_id, only), _Seen())
        hidden = [column.stored for column in whole.schema.columns if column.stored not in seen.columns]
        files = tuple(file for file in whole.files if file.path not in seen.paths)
        if hidden and (files or whole.segments):
            rows = permitted_rows(scan(replace(whole, files=files), self._tails), _stored(only, whole))
            found = rows.select(selectors.by_name(hidden).is_not_null().any()).collect(engine="streaming")
            seen.columns.update(name for name in hidden if found[name].item())
        seen.paths.update(file.path for file in files)
        return frozenset(seen.columns)


def _stored(only: Tags, snapshot: Snapshot) -> Tags:
    """The tags by stored columns. One on a column that is not there is on no row."""
    named = ((snapshot.schema.stored(name), value) for name, value in only)
    return frozenset((name, value) for name, value in named if name is not None)


def matching_rows(rows: pl.LazyFrame, conditions: Sequence[Conditions]) -> pl.LazyFrame:
    """The rows that satisfy all conditions of any scan of theirs; all rows if one scan has none."""
    if not conditions or not all(conditions):
        return rows
    dtypes = rows.collect_schema()
    scans = (pl.all_horizontal(_holds(each, dtypes[each.column]) for each in scan) for scan in conditions)
    return rows.filter(pl.any_horizontal(scans))


def _holds(condition: Condition, dtype: pl.DataType) -> pl.Expr:
    compare = _COMPARES[condition.operation]
    # Of times the statistics have integers in the column's unit.
    physical = pl.Int32() if dtype == pl.Date() else pl.Int64() if dtype.is_temporal() else dtype
    return compare(exactly(condition.column), pl.lit(condition.value, dtype=physical).cast(dtype))


def permitted_rows(rows: pl.LazyFrame, only: Tags) -> pl.LazyFrame:
    """The rows that bear one of the tags, behind a barrier that no condition of the user's passes.

    Polars would join such a condition with ours into one, evaluated on every row; an error or the time that it
    takes on a hidden row would then tell of that row. A tag on a column that is not there is on no row.
    """
    dtypes = rows.collect_schema()
    conditions = [_bears(name, dtypes[name], value) for name, value in sorted(only) if name in dtypes]
    return rows.filter(pl.any_horizontal(pl.lit(False), *conditions)).map_batches(
        _unchanged, predicate_pushdown=False, slice_pushdown=False, projection_pushdown=True, streamable=True
    )


def _unchanged(frame: pl.DataFrame) -> pl.DataFrame:
    return frame


def _bears(name: str, dtype: pl.DataType, value: str) -> pl.Expr:
    """Whether the column's value is the one that the tag's text writes; never null."""
    column = exactly(name)
    if dtype == pl.String():
        return column.eq_missing(pl.lit(value))
    if dtype == pl.Boolean() and value in TRUTH:
        return column.eq_missing(pl.lit(TRUTH[value]))
    if dtype.is_numeric() and (number := _number(value)) is not None:
        return column.eq_missing(pl.lit(number))
    return pl.lit(False)


def _number(text: str) -> int | float | None:
    for read in (int, float):
        try:
            return read(text)
        except ValueError:
            continue
    return None
