"""Readers narrowed by a tag: a dataset as if it held nothing but the rows that they may see (api.md section 2)."""

from dataclasses import dataclass, field, replace
from typing import Final

import polars as pl

from query.requests import Source, Tags
from storage.scan import scan
from storage.snapshot import Snapshot
from storage.tails import Tails

# What every row of every dataset has, whoever sent it.
EVERYWHERE: Final = ("p_timestamp", "p_src_ip", "p_user_agent")
TRUTH: Final = {"true": True, "false": False}


@dataclass
class _Seen:
    """The columns found in permitted rows, and the files that were searched for them; both only grow."""

    columns: set[str] = field(default_factory=lambda: set(EVERYWHERE))
    paths: set[str] = field(default_factory=set)


class Narrowing:
    """Narrowed scans, with what was learnt about immutable files kept for the next one."""

    def __init__(self, tails: Tails) -> None:
        self._tails = tails
        self._seen: dict[tuple[int, Tags], _Seen] = {}

    def scan(self, source: Source, only: Tags) -> pl.LazyFrame:
        """The permitted rows of the source's range, with the columns that a permitted row of any time has.

        A column that only other rows have would tell that they exist. Raises SnapshotExpired.
        """
        whole = source.snapshot
        visible = self._visible(whole, only)
        columns = [column.name for column in whole.schema.columns if column.name in visible]
        rows = scan(_within(whole, source.start_ns, source.end_ns), self._tails)
        return narrowed(rows, only).select(columns)

    def _visible(self, whole: Snapshot, only: Tags) -> set[str]:
        seen = self._seen.setdefault((whole.schema.dataset_id, only), _Seen())
        hidden = [column.name for column in whole.schema.columns if column.name not in seen.columns]
        files = tuple(file for file in whole.files if file.path not in seen.paths)
        if hidden and (files or whole.staged):
            rows = narrowed(scan(replace(whole, files=files), self._tails), only)
            found = rows.select(pl.col(hidden).is_not_null().any()).collect(engine="streaming")
            seen.columns.update(name for name in hidden if found[name].item())
        seen.paths.update(file.path for file in files)
        return seen.columns


def narrowed(rows: pl.LazyFrame, only: Tags) -> pl.LazyFrame:
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


def _within(whole: Snapshot, start_ns: int | None, end_ns: int | None) -> Snapshot:
    files = tuple(
        file
        for file in whole.files
        if (start_ns is None or file.tmax >= start_ns) and (end_ns is None or file.tmin < end_ns)
    )
    return replace(whole, start=start_ns, end=end_ns, files=files)


def _bears(name: str, dtype: pl.DataType, value: str) -> pl.Expr:
    """Whether the column's value is the one that the tag's text writes; never null."""
    column = pl.col(name)
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
