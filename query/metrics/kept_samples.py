"""Samples of files, decoded once in a query process: dashboards ask for the same series again, files never change.

A snapshot says which files a query reads; what is kept of other files is not looked at. Readers who are narrowed to
some rows have no part in it.
"""

from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass
from typing import Final

from promql.merging import merged
from promql.series import Samples
from query.metrics.series import nothing
from storage.read.contents import File

MIB: Final = 1024 * 1024
# What a process keeps beyond its queries must stay well below what it may retain (query/process/pool.py).
MOST_BYTES: Final = 96 * MIB
# Of one selection the samples of so many groups of files, and the questions that are remembered as asked once.
MOST_GROUPS: Final = 4
MOST_SEEN: Final = 1024
# A selection of more rows is read anew each time, in its range alone.
MOST_ROWS: Final = 1_000_000
# About what a series takes: its label set, whose pairs it shares with others, and its numbers.
_SERIES_BYTES: Final = 512


@dataclass(frozen=True, slots=True)
class FileSamples:
    """All samples of one selection in these files; None: they cannot be kept (too many, or native histograms)."""

    paths: frozenset[str]
    samples: Samples | None

    @property
    def bytes(self) -> int:
        found = self.samples
        if found is None:
            return _SERIES_BYTES
        stale = 0 if found.stale is None else found.stale.nbytes
        return found.times.nbytes + found.values.nbytes + stale + _SERIES_BYTES * (len(found.labels) + 1)


Load = Callable[[tuple[File, ...]], Samples | None]


class KeptSamples:
    """The samples of selections, the one that was asked for longest ago dropped first. Not for two threads at once."""

    def __init__(self, most_bytes: int = MOST_BYTES) -> None:
        self._most_bytes = most_bytes
        self._kept: OrderedDict[Hashable, list[FileSamples]] = OrderedDict()
        self._seen: OrderedDict[Hashable, None] = OrderedDict()

    def of(self, key: Hashable, files: Iterable[File], load: Load) -> Samples | None:
        """All samples of the selection `key` in the files; None where they have to be read as if nothing were kept.

        A selection is kept from the second time on that it is asked for. `load` reads those of some files.
        """
        by_path = {each.path: each for each in files}
        if not by_path:
            return nothing()
        if key not in self._kept:
            if not self._is_known(key):
                return None
            self._kept[key] = []
        self._kept.move_to_end(key)
        chosen = _covering(self._kept[key], frozenset(by_path))
        missing = [file for path, file in by_path.items() if not any(path in each.paths for each in chosen)]
        if missing:
            chosen.append(self._add(key, FileSamples(frozenset(each.path for each in missing), load(tuple(missing)))))
        found = self._joined(key, chosen)
        self._shrink()
        return found.samples

    def _is_known(self, key: Hashable) -> bool:
        """Whether it was asked for before; remembered from now on."""
        if key in self._seen:
            del self._seen[key]
            return True
        self._seen[key] = None
        if len(self._seen) > MOST_SEEN:
            self._seen.popitem(last=False)
        return False

    def _add(self, key: Hashable, group: FileSamples) -> FileSamples:
        self._kept[key] = [group, *self._kept[key]][:MOST_GROUPS]
        return group

    def _joined(self, key: Hashable, groups: list[FileSamples]) -> FileSamples:
        if len(groups) == 1:
            return groups[0]
        parts = [each.samples for each in groups if each.samples is not None]
        samples = merged(parts) if len(parts) == len(groups) else None
        paths = frozenset(path for each in groups for path in each.paths)
        if samples is not None:
            self._kept[key] = [each for each in self._kept[key] if each not in groups]
        return self._add(key, FileSamples(paths, samples))

    def _shrink(self) -> None:
        sizes = {key: sum(each.bytes for each in groups) for key, groups in self._kept.items()}
        total = sum(sizes.values())
        while total > self._most_bytes:
            key, _ = self._kept.popitem(last=False)
            total -= sizes[key]


def _covering(groups: list[FileSamples], paths: frozenset[str]) -> list[FileSamples]:
    """Groups of these files alone, no file in two of them; the largest first. Without files: none."""
    chosen: list[FileSamples] = []
    for group in sorted(groups, key=lambda each: -len(each.paths)):
        if group.paths <= paths and all(group.paths.isdisjoint(each.paths) for each in chosen):
            chosen.append(group)
    return chosen
