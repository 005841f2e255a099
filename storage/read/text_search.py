"""The part of a snapshot that text indexes leave: files without a row that is wanted, and row groups, drop out."""

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import replace
from typing import Final

from errors import StorageUnavailable
from models.values.file import File
from storage.files.index_reader import IndexReader, Read, fetched_index, open_index
from storage.files.row_range import RowRange, TimedRows
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

# The path of a file that the index is in, or the index.
Place = str | bytes


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
        places = _places(snapshot, fetch=True)
        files: list[File] = []
        ranges: dict[str, tuple[RowRange, ...]] = {}
        for file in snapshot.files:
            found = self._ranges(file, places.get(file.path), alternatives)
            if found != ():
                files.append(file)
            if found and _is_worth_it(file, found):
                ranges[file.path] = found
        return replace(snapshot, files=tuple(files), ranges=dict(_first(ranges)))

    def _ranges(
        self, file: File, place: Place | None, alternatives: Sequence[TextConditions]
    ) -> tuple[RowRange, ...] | None:
        if place is None:
            return None
        with _open(place, file) as read:
            return self._reader.ranges(file.path, read, file.rows, alternatives)

    def row_groups(self, snapshot: Snapshot, file: File) -> list[TimedRows]:
        """The row groups of a file of the snapshot with their times, as far as that is known on this host.

        Raises FileNotFoundError.
        """
        place = _places(replace(snapshot, files=(file,)), fetch=False).get(file.path)
        if place is None:
            return []
        with _open(place, file) as read:
            return self._reader.row_groups(file.path, read, file.rows)


def _first(ranges: dict[str, tuple[RowRange, ...]]) -> Iterator[tuple[str, tuple[RowRange, ...]]]:
    """As many of the files with their ranges as one plan should have."""
    left = MOST_RANGES
    for path, found in ranges.items():
        left -= len(found)
        if left >= 0:
            yield path, found


def _is_worth_it(file: File, found: Sequence[RowRange]) -> bool:
    return len(found) <= MOST_RANGES_OF_FILE and sum(each.rows for each in found) <= MOST_SHARE * file.rows


def _open(place: Place, file: File) -> AbstractContextManager[Read]:
    if isinstance(place, bytes):
        return nullcontext(fetched_index(place))
    return open_index(place, IndexLocation(file.index_start, file.index_bytes))


def _places(snapshot: Snapshot, *, fetch: bool) -> dict[str, Place]:
    """Where the indexes of the files are, of objects in copies or, as many as one query fetches, in memory."""
    indexed = [file for file in snapshot.files if file.index_bytes]
    if "://" not in snapshot.root:
        return {file.path: f"{snapshot.root}/{file.path}" for file in indexed}
    copies = {file.path: snapshot.cache.find(file) for file in indexed} if snapshot.cache is not None else {}
    places: dict[str, Place] = {path: str(copy) for path, copy in copies.items() if copy is not None}
    missing = [file for file in indexed if file.path not in places] if fetch else []
    return places | _fetch(snapshot.root, list(_affordable(missing)))


def _affordable(files: Sequence[File]) -> Iterator[File]:
    left = MOST_FETCHED_BYTES
    for file in files:
        if file.index_bytes <= left:
            left -= file.index_bytes
            yield file


def _fetch(root: str, files: Sequence[File]) -> dict[str, bytes]:
    if not files:
        return {}
    with ThreadPoolExecutor(min(FETCHERS, len(files))) as fetchers:
        fetched = fetchers.map(lambda file: _fetch_one(root, file), files)
        return {file.path: index for file, index in zip(files, fetched, strict=True) if index is not None}


def _fetch_one(root: str, file: File) -> bytes | None:
    """None: the store is away, or the object is gone, which whoever reads the rows finds out."""
    with suppress(StorageUnavailable, FileNotFoundError):
        return read_range(root, file.path, file.index_start, file.index_bytes)
    return None
