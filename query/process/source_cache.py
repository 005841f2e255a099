"""The schema and the scan of a source, kept while queries over the same source follow each other.

An evaluation group asks many queries of one snapshot (docs/decisions/alerts.md), and a snapshot never changes.
"""

from collections import deque
from collections.abc import Hashable
from functools import cached_property
from typing import Final

import polars as pl

from query.plan.environment import Schema
from query.process.dataset_view import DatasetView
from query.process.messages import Source
from storage.read.scan import scan
from storage.read.small_files import SmallFiles
from storage.read.unconverted_rows import UnconvertedRows

# For evaluation groups that take turns. A longer list would keep rows in memory that no query needs any more.
MOST_KEPT: Final = 4
MOST_SEEN: Final = 8


class CachedSource:
    """A source whose reader sees all rows of it."""

    def __init__(self, source: Source) -> None:
        self.view = DatasetView(source, frozenset(column.stored for column in source.snapshot.schema.columns))
        self._frames: dict[Hashable, pl.LazyFrame] = {}

    @cached_property
    def schema(self) -> Schema:
        """What the binder knows of it."""
        return self.view.schema

    def frame(
        self, view: DatasetView, unconverted_rows: UnconvertedRows, small_files: SmallFiles | None
    ) -> pl.LazyFrame:
        """The rows of the view of this source. Raises SnapshotExpired."""
        snapshot = view.snapshot
        if small_files is None:
            return scan(snapshot, unconverted_rows)
        files = tuple((file.path, snapshot.ranges.get(file.path)) for file in snapshot.files)
        chosen = files, snapshot.start, snapshot.end, snapshot.time_conditions
        if chosen not in self._frames:
            self._frames[chosen] = scan(snapshot, unconverted_rows, small_files)
        return self._frames[chosen]


class SourceCache:
    """The latest sources that came more than once. Most sources belong to a single query and are not kept."""

    def __init__(self) -> None:
        self._seen: deque[Source] = deque(maxlen=MOST_SEEN)
        self._sources: list[CachedSource] = []

    def of(self, source: Source) -> CachedSource:
        for cached in self._sources:
            if cached.view.source is source:
                return cached
        cached_source = CachedSource(source)
        if any(cached is source for cached in self._seen):
            self._sources = [cached_source, *self._sources][:MOST_KEPT]
        else:
            self._seen.append(source)
        return cached_source
