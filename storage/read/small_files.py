"""Small Parquet files, decoded once in a process: to open one costs a hundred times what its few rows do.

Files are immutable, so decoded rows stay right. The snapshot says which files a query reads.
"""

from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Final

import polars as pl

from models.values.file import File
from storage.read.contents import Snapshot

KIB: Final = 1024
MIB: Final = 1024 * KIB
SMALL_BYTES: Final = 256 * KIB
# One query decodes at most this much Parquet, because it decodes all columns, also those that it does not read.
MOST_DECODED_BYTES: Final = 8 * MIB
# At most this much is kept of decoded rows; the dataset that was queried longest ago goes first.
MOST_KEPT_BYTES: Final = 64 * MIB
# A group that a query reads in more pieces than this is replaced by one group of these pieces.
MOST_PIECES: Final = 8

Decode = Callable[[Sequence[File]], pl.DataFrame]


@dataclass(frozen=True, slots=True)
class FileGroup:
    """The rows of some files, one after the other: the file `paths[n]` has rows `starts[n]` to `starts[n + 1]`.

    `bytes`: the memory that the rows take; 0 for a view.
    """

    rows: pl.DataFrame
    paths: tuple[str, ...]
    starts: tuple[int, ...]
    bytes: int = 0

    def select(self, paths: set[str]) -> "list[FileGroup]":
        """The rows of those files, in runs of neighbours, as views."""
        if paths.issuperset(self.paths):
            return [self]
        return [self._run(first, last) for first, last in self._runs(paths)]

    def _runs(self, paths: set[str]) -> Iterator[tuple[int, int]]:
        first = 0
        for number, path in enumerate((*self.paths, "")):
            if path not in paths:
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


def join(groups: Sequence[FileGroup]) -> FileGroup:
    """One group with the rows of groups that have the same columns."""
    starts = [0]
    for group in groups:
        starts += [starts[-1] + start for start in group.starts[1:]]
    rows = pl.concat([each.rows for each in groups], rechunk=True)
    return FileGroup(
        rows, tuple(path for each in groups for path in each.paths), tuple(starts), int(rows.estimated_size())
    )


class SmallFiles:
    """A process's cache of decoded small files. Not for two threads at once."""

    def __init__(self) -> None:
        self._kept: OrderedDict[int, list[FileGroup]] = OrderedDict()

    def split(self, snapshot: Snapshot, decode: Decode) -> tuple[list[pl.DataFrame], list[File]]:
        """The decoded rows of those files of the snapshot that the cache has, and the files that it does not have.

        `decode` returns all rows of its files, in their order. The cache begins to keep a dataset's files when the
        dataset is queried for the second time.
        """
        dataset_id = snapshot.schema.dataset_id
        small = [each for each in snapshot.files if each.bytes <= SMALL_BYTES and each.path not in snapshot.ranges]
        if not small:
            return [], list(snapshot.files)
        if dataset_id not in self._kept:
            self._kept[dataset_id] = []
            return [], list(snapshot.files)
        self._kept.move_to_end(dataset_id)
        self._add(dataset_id, small, decode)
        groups = self._select(dataset_id, {each.path for each in small})
        known = {path for each in groups for path in each.paths}
        return [each.rows for each in groups], [each for each in snapshot.files if each.path not in known]

    def _add(self, dataset_id: int, small: Sequence[File], decode: Decode) -> None:
        groups = self._kept[dataset_id]
        known = {path for each in groups for path in each.paths}
        missing = [each for each in small if each.path not in known]
        if not missing or sum(each.bytes for each in missing) > MOST_DECODED_BYTES:
            return
        rows = decode(missing)
        if rows.height != sum(each.rows for each in missing):
            # A file is damaged. Whoever reads the file itself gets the error.
            return
        self._kept[dataset_id] = _merge([*groups, decode_group(missing, rows)])
        self._shrink()

    def _select(self, dataset_id: int, paths: set[str]) -> list[FileGroup]:
        result: list[FileGroup] = []
        groups: list[FileGroup] = []
        for group in self._kept.get(dataset_id, []):
            pieces = group.select(paths)
            if len(pieces) > MOST_PIECES:
                group = join(pieces)
                pieces = [group]
            groups.append(group)
            result += pieces
        if dataset_id in self._kept:
            self._kept[dataset_id] = groups
        return result

    def _shrink(self) -> None:
        sizes = {key: sum(each.bytes for each in packs) for key, packs in self._kept.items()}
        total = sum(sizes.values())
        while total > MOST_KEPT_BYTES:
            dataset_id, _ = self._kept.popitem(last=False)
            total -= sizes[dataset_id]


def _merge(groups: Sequence[FileGroup]) -> list[FileGroup]:
    """The groups with neighbours of the same columns joined while the later has half the earlier's rows."""
    merged: list[FileGroup] = []
    for group in groups:
        while (
            merged and merged[-1].rows.schema == group.rows.schema and merged[-1].rows.height <= 2 * group.rows.height
        ):
            group = join([merged.pop(), group])
        merged.append(group)
    return merged
