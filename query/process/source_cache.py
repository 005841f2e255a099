"""What a query process finds out about a source, kept while questions about that very source follow each other.

A group of alerts asks many of one snapshot (docs/decisions/alerts.md), and a snapshot never changes.
"""

from collections import deque
from functools import cached_property
from typing import Final

import polars as pl

from query.plan.environment import Schema
from query.process.dataset_view import DatasetView
from query.process.messages import Source
from storage.read.scan import scan
from storage.read.small_files import SmallFiles
from storage.read.unconverted_rows import UnconvertedRows

# Groups that take turns. More would keep rows alive that nobody asks for any more.
MOST_KEPT: Final = 4
MOST_SEEN: Final = 8


class CachedSource:
    """A source whose reader sees all rows of it."""

    def __init__(self, source: Source) -> None:
        self.view = DatasetView(source, frozenset(column.stored for column in source.snapshot.schema.columns))
        self._frames: dict[tuple[str, ...], pl.LazyFrame] = {}

    @cached_property
    def schema(self) -> Schema:
        """What the binder knows of it."""
        return self.view.schema

    def frame(self, view: DatasetView, tails: UnconvertedRows, small: SmallFiles | None) -> pl.LazyFrame:
        """The rows of the view of this source. Raises SnapshotExpired."""
        snapshot = view.snapshot
        if small is None:
            return scan(snapshot, tails)
        chosen = tuple(file.path for file in snapshot.files)
        if chosen not in self._frames:
            self._frames[chosen] = scan(snapshot, tails, small)
        return self._frames[chosen]


class SourceCache:
    """The latest readings. Only of a source that comes again something is kept: most are a single question's."""

    def __init__(self) -> None:
        self._seen: deque[Source] = deque(maxlen=MOST_SEEN)
        self._kept: list[CachedSource] = []

    def of(self, source: Source) -> CachedSource:
        for cached in self._kept:
            if cached.view.source is source:
                return cached
        cached_source = CachedSource(source)
        if any(cached is source for cached in self._seen):
            self._kept = [cached_source, *self._kept][:MOST_KEPT]
        else:
            self._seen.append(source)
        return cached_source
