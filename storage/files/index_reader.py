"""Reading text indexes: which row groups of a file may have rows that a query wants."""

import json
import mmap
import os
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from storage.files.bit_filters import Bits, Grams, GroupFilters, Hashes, alignments, hash_texts
from storage.files.row_range import RowRange
from storage.files.text_conditions import AnyOf, HasParts, IsOneOf, TextCondition, TextConditions
from storage.files.text_index import GRAMS, LENGTH_BYTES, MAGIC, VALUES, IndexLocation

Octets = NDArray[np.uint8]

# Headers of indexes that a process remembers; one takes about 5 KB.
MOST_HEADERS: Final = 2_000
_SIZE_BYTES: Final = 4


@dataclass(frozen=True, slots=True)
class Header:
    """What an index has. `sizes` and `starts`: per filter, of each row group its bits, and the byte they begin at.

    `unfolded`, `escaped`: per column, the row groups with letters whose lower case is an ASCII letter, and those with
    escapes of JSON.
    """

    group_rows: int
    filters: dict[tuple[str, str], int]
    unfolded: dict[str, list[int]]
    escaped: dict[str, list[int]]
    sizes: NDArray[np.int64]
    starts: NDArray[np.int64]

    @property
    def groups(self) -> int:
        return int(self.sizes.shape[1])


def parse_header(data: Octets) -> Header | None:
    """The header at the beginning of an index; None if it is none that this version reads."""
    if data[: len(MAGIC)].tobytes() != MAGIC:
        return None
    at = len(MAGIC) + LENGTH_BYTES
    length = int.from_bytes(data[len(MAGIC) : at].tobytes(), "little")
    told = json.loads(data[at : at + length].tobytes())
    names = [(str(column), str(kind)) for column, kind in told["filters"]]
    groups = int(told["groups"])
    first = at + length
    end = first + _SIZE_BYTES * len(names) * groups
    sizes = data[first:end].view("<u4").astype(np.int64).reshape(len(names), groups)
    lengths = ((sizes + 7) // 8).ravel()
    starts = (end + np.cumsum(lengths) - lengths).reshape(sizes.shape)
    filters = {name: at for at, name in enumerate(names)}
    return Header(int(told["rows"]), filters, told["unfolded"], told["escaped"], sizes, starts)


class TextIndex:
    """The index of one file, open."""

    def __init__(self, header: Header, data: Octets) -> None:
        self._header, self._data = header, data

    def may_match(self, conditions: TextConditions) -> Bits:
        """For each row group whether a row of it may satisfy all conditions."""
        found = np.ones(self._header.groups, np.bool_)
        for condition in conditions:
            if not found.any():
                break
            found &= self._may(condition)
        return found

    def any_of(self, alternatives: Sequence[TextConditions]) -> Bits:
        """For each row group whether a row of it may satisfy all conditions of one of the alternatives."""
        return self._any(map(self.may_match, alternatives))

    def _any(self, branches: Iterable[Bits]) -> Bits:
        found = np.zeros(self._header.groups, np.bool_)
        for branch in branches:
            found |= branch
        return found

    def _may(self, condition: TextCondition) -> Bits:
        match condition:
            case IsOneOf():
                return self._may_be(condition)
            case HasParts():
                return self._may_have(condition)
            case AnyOf():
                return self._any(map(self.may_match, condition.branches))

    def _may_be(self, condition: IsOneOf) -> Bits:
        filters = self._filters(condition.column, VALUES)
        if filters is not None:
            return filters.may_have_values(_hashed(condition.values))
        return self._any(self._may_have(HasParts(condition.column, (value,))) for value in condition.values)

    def _may_have(self, condition: HasParts) -> Bits:
        """A letter that is no ASCII is looked for as it is, or, if its case does not count, not at all."""
        found = np.ones(self._header.groups, np.bool_)
        for kind, grams in GRAMS.items():
            filters = self._filters(condition.column, kind)
            for part in _pieces(condition) if filters is not None else ():
                found &= filters.may_have_part(_aligned(part, grams), grams)  # type: ignore[union-attr]
        if condition.ignore_case:
            found[self._header.unfolded.get(condition.column, [])] = True
        if condition.in_json:
            found[self._header.escaped.get(condition.column, [])] = True
        return found

    def _filters(self, column: str, kind: str) -> GroupFilters | None:
        number = self._header.filters.get((column, kind))
        if number is None:
            return None
        return GroupFilters(self._data, self._header.starts[number], self._header.sizes[number])


def _pieces(condition: HasParts) -> Iterator[bytes]:
    """The parts as they are in the index: in lower case as far as they are ASCII."""
    for part in condition.parts:
        if not condition.ignore_case or part.isascii():
            yield part.encode().lower()
        else:
            yield from "".join(letter if letter.isascii() else "\0" for letter in part).encode().lower().split(b"\0")


@lru_cache(maxsize=256)
def _hashed(values: tuple[str, ...]) -> Hashes:
    """Computed once for all files that a query asks."""
    return hash_texts(pl.Series(values, dtype=pl.String()))


@lru_cache(maxsize=256)
def _aligned(part: bytes, grams: Grams) -> tuple[NDArray[np.int64], ...]:
    return tuple(alignments(part, grams))


class IndexReader:
    """Asks the indexes of files, whose headers it remembers. Not for two threads at once."""

    def __init__(self) -> None:
        self._headers: OrderedDict[str, Header | None] = OrderedDict()

    def ranges(
        self, path: str, data: Octets, rows: int, alternatives: Sequence[TextConditions]
    ) -> tuple[RowRange, ...] | None:
        """The row groups of the file in which a row may satisfy all conditions of any alternative, neighbours as one.

        `path` names the file, whose index is `data`. None: all row groups, or nothing is known of them.
        """
        header = self._header(path, data)
        if header is None:
            return None
        found = TextIndex(header, data).any_of(alternatives)
        if not found.any():
            return ()
        return None if found.all() else tuple(_ranges(found, header.group_rows, rows))

    def _header(self, path: str, data: Octets) -> Header | None:
        if path not in self._headers:
            self._headers[path] = parse_header(data)
            if len(self._headers) > MOST_HEADERS:
                self._headers.popitem(last=False)
        return self._headers[path]


def _ranges(found: Bits, group_rows: int, rows: int) -> Iterator[RowRange]:
    edges = np.flatnonzero(np.diff(found, prepend=False, append=False))
    for first, last in edges.reshape(-1, 2).tolist():
        start = first * group_rows
        yield RowRange(start, min(last * group_rows, rows) - start)


def map_index(path: str, place: IndexLocation) -> Octets:
    """The bytes of a file's index. They are read as they are looked at, a few pages of many. Raises OSError."""
    begin = place.start - place.start % mmap.ALLOCATIONGRANULARITY
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        mapped = mmap.mmap(fd, place.start - begin + place.bytes, prot=mmap.PROT_READ, offset=begin)
    finally:
        os.close(fd)
    return np.frombuffer(mapped, np.uint8, place.bytes, place.start - begin)
