"""The part of a snapshot that text indexes leave: files without a row that is wanted, and row groups, drop out."""

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from typing import Final

import numpy as np

from errors import StorageUnavailable
from models.values.file import File
from storage.files.index_reader import IndexReader, Octets, map_index
from storage.files.row_range import RowRange
from storage.files.store import read_range
from storage.files.text_conditions import TextConditions
from storage.files.text_index import IndexLocation
from storage.read.contents import Snapshot

MIB: Final = 1024 * 1024
# Each range of rows is a scan of its own, which costs about as much as reading one row group more.
MOST_RANGES: Final = 128
# Of a file with more ranges than this, or of which more than half is left, everything is read.
MOST_RANGES_OF_FILE: Final = 4
MOST_SHARE: Final = 0.5
# Indexes of objects without a copy that one query fetches.
MOST_FETCHED_BYTES: Final = 64 * MIB
FETCHERS: Final = 16


class TextSearch:
    """A process's way of asking text indexes. Not for two threads at once."""

    def __init__(self) -> None:
        self._reader = IndexReader()

    def narrow(self, snapshot: Snapshot, alternatives: Sequence[TextConditions]) -> Snapshot:
        """The snapshot without the row groups in which no row satisfies all conditions of any alternative.

        The others, files without an index, and segments still have rows that do not. Raises FileNotFoundError.
        """
        if not alternatives or not all(alternatives) or not any(file.index_bytes for file in snapshot.files):
            return snapshot
        indexes = _fetch(snapshot) if "://" in snapshot.root else {}
        files: list[File] = []
        ranges: dict[str, tuple[RowRange, ...]] = {}
        for file in snapshot.files:
            index = indexes.get(file.path) if "://" in snapshot.root else _map(f"{snapshot.root}/{file.path}", file)
            found = None if index is None else self._reader.ranges(file.path, index, file.rows, alternatives)
            if found != ():
                files.append(file)
            if found and _is_worth_it(file, found):
                ranges[file.path] = found
        return replace(snapshot, files=tuple(files), ranges=dict(_first(ranges)))


def _first(ranges: dict[str, tuple[RowRange, ...]]) -> Iterator[tuple[str, tuple[RowRange, ...]]]:
    """As many of the files with their ranges as one plan should have."""
    left = MOST_RANGES
    for path, found in ranges.items():
        left -= len(found)
        if left >= 0:
            yield path, found


def _is_worth_it(file: File, found: Sequence[RowRange]) -> bool:
    return len(found) <= MOST_RANGES_OF_FILE and sum(each.rows for each in found) <= MOST_SHARE * file.rows


def _map(path: str, file: File) -> Octets | None:
    return map_index(path, IndexLocation(file.index_start, file.index_bytes)) if file.index_bytes else None


def _fetch(snapshot: Snapshot) -> dict[str, Octets]:
    """The indexes of objects, of copies or by requests, as many as one query fetches."""
    indexes: dict[str, Octets] = {}
    missing: list[File] = []
    left = MOST_FETCHED_BYTES
    for file in snapshot.files:
        copy = snapshot.cache.find(file) if snapshot.cache is not None and file.index_bytes else None
        index = None if copy is None else _map(str(copy), file)
        if index is not None:
            indexes[file.path] = index
        elif 0 < file.index_bytes <= left:
            missing.append(file)
            left -= file.index_bytes
    if missing:
        with ThreadPoolExecutor(min(FETCHERS, len(missing))) as fetchers:
            fetched = fetchers.map(lambda file: _fetch_one(snapshot.root, file), missing)
            indexes |= {file.path: index for file, index in zip(missing, fetched, strict=True) if index is not None}
    return indexes


def _fetch_one(root: str, file: File) -> Octets | None:
    """None: the store is away, or the object is gone, which whoever reads the rows finds out."""
    with suppress(StorageUnavailable, FileNotFoundError):
        return np.frombuffer(read_range(root, file.path, file.index_start, file.index_bytes), np.uint8)
    return None
