"""Row-level security: a reader with a tag sees a dataset as if it held only the permitted rows (api.md section 2)."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Final

import polars as pl
from polars import selectors

from query.plan.conditions import Conditions
from query.process.messages import Tags
from storage.exactly import exactly
from storage.files.statistics import COMPARES, Condition
from storage.read.contents import Snapshot
from storage.read.scan import scan
from storage.read.unconverted_rows import UnconvertedRows

# What every row of every dataset has, whoever sent it.
EVERYWHERE: Final = ("p_timestamp", "p_src_ip", "p_user_agent")
TRUTH: Final = {"true": True, "false": False}


@dataclass
class _ColumnsSeen:
    """The columns that permitted rows have, and the files that were searched for them; both only grow."""

    columns: set[str] = field(default_factory=lambda: set(EVERYWHERE))
    paths: set[str] = field(default_factory=set)


class RowLevelSecurity:
    """Scans of permitted rows. What a search of immutable files has shown is kept for the next one."""

    def __init__(self, unconverted_rows: UnconvertedRows) -> None:
        self._unconverted_rows = unconverted_rows
        self._seen: dict[tuple[int, Tags], _ColumnsSeen] = {}

    def scan(self, snapshot: Snapshot, permitted_tags: Tags, conditions: Sequence[Conditions] = ()) -> pl.LazyFrame:
        """The permitted rows of the snapshot that satisfy any of the `conditions`. Raises SnapshotExpired.

        The conditions are plain comparisons, which fail on no row, so the scan may use them to leave out row groups.
        The statement tests its own conditions again, so it misses no row that is left out.
        """
        rows = scan(snapshot, self._unconverted_rows)
        return permitted_rows(rows_matching(rows, conditions), _stored(permitted_tags, snapshot))

    def visible(self, snapshot: Snapshot, permitted_tags: Tags) -> frozenset[str]:
        """The columns, as stored, that a permitted row of any time has.

        A column that only other rows have would tell that they exist. Raises SnapshotExpired.
        """
        columns_seen = self._seen.setdefault((snapshot.schema.dataset_id, permitted_tags), _ColumnsSeen())
        hidden = [column.stored for column in snapshot.schema.columns if column.stored not in columns_seen.columns]
        files = tuple(file for file in snapshot.files if file.path not in columns_seen.paths)
        if hidden and (files or snapshot.segments):
            rows = permitted_rows(
                scan(replace(snapshot, files=files), self._unconverted_rows), _stored(permitted_tags, snapshot)
            )
            has_values = rows.select(selectors.by_name(hidden).is_not_null().any()).collect(engine="streaming")
            columns_seen.columns.update(name for name in hidden if has_values[name].item())
        columns_seen.paths.update(file.path for file in files)
        return frozenset(columns_seen.columns)


def _stored(permitted_tags: Tags, snapshot: Snapshot) -> Tags:
    """The tags by stored names. A tag on a column that the dataset lacks permits no row."""
    stored_tags = ((snapshot.schema.stored(name), value) for name, value in permitted_tags)
    return frozenset((name, value) for name, value in stored_tags if name is not None)


def rows_matching(rows: pl.LazyFrame, conditions: Sequence[Conditions]) -> pl.LazyFrame:
    """The rows that satisfy all conditions of at least one scan; all rows if one scan has none."""
    if not conditions or not all(conditions):
        return rows
    dtypes = rows.collect_schema()
    scans = (
        pl.all_horizontal(_holds(condition, dtypes[condition.column]) for condition in scan) for scan in conditions
    )
    return rows.filter(pl.any_horizontal(scans))


def _holds(condition: Condition, dtype: pl.DataType) -> pl.Expr:
    compare = COMPARES[condition.operation]
    # Of times the statistics have integers in the column's unit.
    physical = pl.Int32() if dtype == pl.Date() else pl.Int64() if dtype.is_temporal() else dtype
    return compare(exactly(condition.column), pl.lit(condition.value, dtype=physical).cast(dtype))


def permitted_rows(rows: pl.LazyFrame, permitted_tags: Tags) -> pl.LazyFrame:
    """The rows that bear one of the tags, behind a barrier that no condition of the user's passes.

    Polars would join such a condition with ours into one, evaluated on every row; an error or the time that it
    takes on a hidden row would then tell of that row. A tag on a column that the frame lacks permits no row.
    """
    dtypes = rows.collect_schema()
    conditions = [_bears(name, dtypes[name], value) for name, value in sorted(permitted_tags) if name in dtypes]
    return rows.filter(pl.any_horizontal(pl.lit(False), *conditions)).map_batches(
        _unchanged, predicate_pushdown=False, slice_pushdown=False, projection_pushdown=True, streamable=True
    )


def _unchanged(frame: pl.DataFrame) -> pl.DataFrame:
    return frame


def _bears(name: str, dtype: pl.DataType, value: str) -> pl.Expr:
    """Whether the column's value equals the tag's text, read as the column's type; never null."""
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
