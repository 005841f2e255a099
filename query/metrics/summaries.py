"""Which label sets a file has, and from when to when: small, and kept by a query process, since files never change.

Answers of `/series`, `/labels` and `/label/<name>/values` come from these instead of from scans of samples.
"""

from collections import OrderedDict
from collections.abc import Callable, Hashable, Sequence
from typing import Final

import polars as pl

from columns import ColumnType
from promql.tree import Matcher
from query.metrics.label_columns import TIME_COLUMN, LabelColumn, label_columns
from query.metrics.series import NS_PER_MS, label_texts, matching_rows
from storage.exactly import exactly
from storage.read.contents import Column

# What a process keeps beyond its queries must stay well below what it may retain (query/process/pool.py).
MOST_BYTES: Final = 96 * 1024 * 1024
FIRST: Final = "\0first"
LAST: Final = "\0last"


class LabelSummaries:
    """The summaries of files, the least recently used dropped first."""

    def __init__(self, most_bytes: int = MOST_BYTES) -> None:
        self._kept: OrderedDict[Hashable, pl.DataFrame] = OrderedDict()
        self._bytes, self._most = 0, most_bytes

    def of(self, key: Hashable, compute: Callable[[], pl.DataFrame]) -> pl.DataFrame:
        """The summary of what the key names; computed if it is not there."""
        found = self._kept.get(key)
        if found is None:
            found = compute()
            self._keep(key, found)
        self._kept.move_to_end(key)
        return found

    def _keep(self, key: Hashable, summary: pl.DataFrame) -> None:
        self._kept[key] = summary
        self._bytes += int(summary.estimated_size())
        while self._bytes > self._most and len(self._kept) > 1:
            _, dropped = self._kept.popitem(last=False)
            self._bytes -= int(dropped.estimated_size())


def summarize(rows: pl.LazyFrame, columns: Sequence[Column]) -> pl.DataFrame:
    """One row for each label set: a text column for each label, and its first and last time in ms."""
    labels = label_columns(columns)
    stored = {each.name: each.stored for each in columns}
    names = list(dict.fromkeys(each.label for each in labels))
    time = exactly(stored[TIME_COLUMN]).dt.epoch("ns") // NS_PER_MS
    grouped = rows.select(*label_texts(labels), time.alias(FIRST)).group_by(*map(exactly, names))
    found = grouped.agg(pl.col(FIRST).max().alias(LAST), pl.col(FIRST).min()).collect(engine="streaming")
    return found.select(
        name for name in found.columns if name in (FIRST, LAST) or found[name].null_count() < found.height
    )


def label_sets(
    summaries: Sequence[pl.DataFrame],
    start_ms: int | None,
    end_ms: int | None,
    selectors: Sequence[Sequence[Matcher]] = (),
) -> pl.DataFrame:
    """The distinct label sets that have a sample in the range, both ends included, and that a selector takes; all where
    there is no selector."""
    # Each summary by itself first: of a selector's few series it is cheap to say which are the same.
    chosen = [matched(_in_range(each, start_ms, end_ms), selectors) for each in summaries]
    found = pl.concat(chosen, how="diagonal") if chosen else pl.DataFrame()
    return found.unique() if len(chosen) > 1 else found


def _in_range(summary: pl.DataFrame, start_ms: int | None, end_ms: int | None) -> pl.DataFrame:
    if start_ms is not None:
        summary = summary.filter(pl.col(LAST) >= start_ms)
    if end_ms is not None:
        summary = summary.filter(pl.col(FIRST) <= end_ms)
    return summary.drop(FIRST, LAST)


def matched(sets: pl.DataFrame, selectors: Sequence[Sequence[Matcher]]) -> pl.DataFrame:
    """The label sets that satisfy all matchers of one of the selectors; all where there is no selector."""
    if not selectors:
        return sets
    columns = [LabelColumn(name, name, ColumnType.UTF8) for name in sets.columns]
    return sets.filter(pl.any_horizontal([matching_rows(columns, each) for each in selectors]))
