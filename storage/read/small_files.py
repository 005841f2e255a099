"""Small Parquet files, decoded once in a process: to open one costs a hundred times what its few rows do.

Files are immutable, so what was decoded stays right; which of it a query reads says its snapshot.
"""

from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Final

import polars as pl

from models.file import File
from storage.read.snapshot import Snapshot

KIB: Final = 1024
MIB: Final = 1024 * KIB
SMALL_BYTES: Final = 256 * KIB
# All columns are decoded, whatever a query wants of them: no more of Parquet than this for one query,
MOST_DECODED_BYTES: Final = 8 * MIB
# and no more of rows than this is kept, of the datasets that were asked for last.
MOST_KEPT_BYTES: Final = 64 * MIB
# A pack of which a query reads more pieces than this is put together anew from them.
MOST_PIECES: Final = 8

Decode = Callable[[Sequence[File]], pl.DataFrame]


@dataclass(frozen=True, slots=True)
class FileGroup:
    """The rows of some files, one after the other: of the file `paths[n]` those from `starts[n]` to `starts[n + 1]`.

    `bytes`: what they take, 0 of a view.
    """

    rows: pl.DataFrame
    paths: tuple[str, ...]
    starts: tuple[int, ...]
    bytes: int = 0

    def only(self, wanted: set[str]) -> "list[FileGroup]":
        """The rows of those files, in runs of neighbours, as views."""
        if wanted.issuperset(self.paths):
            return [self]
        return [self._run(first, last) for first, last in self._runs(wanted)]

    def _runs(self, wanted: set[str]) -> Iterator[tuple[int, int]]:
        first = 0
        for number, path in enumerate((*self.paths, "")):
            if path not in wanted:
                if first < number:
                    yield first, number
                first = number + 1

    def _run(self, first: int, last: int) -> "FileGroup":
        start, starts = self.starts[first], self.starts[first : last + 1]
        rows = self.rows.slice(start, starts[-1] - start)
        return FileGroup(rows, self.paths[first:last], tuple(each - start for each in starts))


def decode_group(files: Sequence[File], rows: pl.DataFrame) -> FileGroup:
    """The rows of the files, in the order of the files."""
    starts = accumulate((each.rows for each in files), initial=0)
    return FileGroup(rows, tuple(each.path for each in files), tuple(starts), int(rows.estimated_size()))


def joined(packs: Sequence[FileGroup]) -> FileGroup:
    """Packs of the same columns as one."""
    starts = [0]
    for each in packs:
        starts += [starts[-1] + start for start in each.starts[1:]]
    rows = pl.concat([each.rows for each in packs], rechunk=True)
    return FileGroup(
        rows, tuple(path for each in packs for path in each.paths), tuple(starts), int(rows.estimated_size())
    )


class SmallFiles:
    """What one process keeps of them. Not for two threads at once."""

    def __init__(self) -> None:
        self._kept: OrderedDict[int, list[FileGroup]] = OrderedDict()

    def split(self, snapshot: Snapshot, decode: Decode) -> tuple[list[pl.DataFrame], list[File]]:
        """The rows of those of the snapshot's files that are kept, as they are in them, and the other files.

        `decode` gives all rows of the files it is called with, in their order. A dataset's files are kept from the
        second time on that it is asked for.
        """
        dataset_id = snapshot.schema.dataset_id
        small = [each for each in snapshot.files if each.bytes <= SMALL_BYTES]
        if not small:
            return [], list(snapshot.files)
        if dataset_id not in self._kept:
            self._kept[dataset_id] = []
            return [], list(snapshot.files)
        self._kept.move_to_end(dataset_id)
        self._add(dataset_id, small, decode)
        found = self._only(dataset_id, {each.path for each in small})
        known = {path for each in found for path in each.paths}
        return [each.rows for each in found], [each for each in snapshot.files if each.path not in known]

    def _add(self, dataset_id: int, small: Sequence[File], decode: Decode) -> None:
        packs = self._kept[dataset_id]
        known = {path for each in packs for path in each.paths}
        missing = [each for each in small if each.path not in known]
        if not missing or sum(each.bytes for each in missing) > MOST_DECODED_BYTES:
            return
        rows = decode(missing)
        if rows.height != sum(each.rows for each in missing):
            # Damaged, then: whoever reads it as a file is told.
            return
        self._kept[dataset_id] = _merged([*packs, decode_group(missing, rows)])
        self._shrink()

    def _only(self, dataset_id: int, wanted: set[str]) -> list[FileGroup]:
        found: list[FileGroup] = []
        kept: list[FileGroup] = []
        for each in self._kept.get(dataset_id, []):
            pieces = each.only(wanted)
            if len(pieces) > MOST_PIECES:
                each = joined(pieces)
                pieces = [each]
            kept.append(each)
            found += pieces
        if dataset_id in self._kept:
            self._kept[dataset_id] = kept
        return found

    def _shrink(self) -> None:
        sizes = {key: sum(each.bytes for each in packs) for key, packs in self._kept.items()}
        total = sum(sizes.values())
        while total > MOST_KEPT_BYTES:
            dataset_id, _ = self._kept.popitem(last=False)
            total -= sizes[dataset_id]


def _merged(packs: Sequence[FileGroup]) -> list[FileGroup]:
    """The same in few packs: neighbours of the same columns join while the later is at least half the earlier."""
    merged: list[FileGroup] = []
    for each in packs:
        while merged and merged[-1].rows.schema == each.rows.schema and merged[-1].rows.height <= 2 * each.rows.height:
            each = joined([merged.pop(), each])
        merged.append(each)
    return merged
