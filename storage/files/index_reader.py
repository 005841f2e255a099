"""Reading text indexes: which row groups of a file may have rows that a query wants.

Sets of row groups are the bits of an integer. A query looks at a few bits of many files, each of which ends the search
in most of them: arrays would cost more than they save (docs/decisions/text-index.md).
"""

import json
import os
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate, groupby
from typing import Final

import numpy as np

from storage.files.bit_filters import (
    SPARSE_GRAMS,
    Grams,
    alignments,
    gram_place,
    hash_text,
    places_of_value,
    scattered_places,
)
from storage.files.row_range import RowRange, TimedRows
from storage.files.text_conditions import AnyOf, HasParts, IsOneOf, TextCondition, TextConditions
from storage.files.text_index import (
    FIRST_MAGIC,
    GRAMS,
    LENGTH_BYTES,
    MAGIC,
    SECOND_MAGIC,
    SPARSE,
    VALUES,
    IndexLocation,
    Neighbours,
    neighbours_of,
)

# Gives the bytes of an index from the first to the last, which is not included.
Read = Callable[[int, int], bytes]

# Headers of indexes that a process remembers; one takes about 5 KB.
MOST_HEADERS: Final = 2_000
_SIZE_BYTES: Final = 4
# In the order in which they are asked.
_KINDS: Final[Mapping[str, Grams]] = {SPARSE: SPARSE_GRAMS, **GRAMS}


@dataclass(frozen=True, slots=True)
class Slab:
    """The filters of neighbouring row groups, from the byte `start` of the index on, bit by bit beside each other."""

    start: int
    groups: Neighbours

    def all_of(self, read: Read, places: Iterable[int], wanted: int) -> int:
        """Of the wanted row groups those that have the bits at all places."""
        found = (wanted >> self.groups.first) & ((1 << self.groups.count) - 1)
        for place in places:
            if not found:
                return 0
            bit = place * self.groups.count
            first = self.start + (bit >> 3)
            last = self.start + ((bit + self.groups.count + 7) >> 3)
            found &= int.from_bytes(read(first, last), "little") >> (bit & 7)
        return found << self.groups.first

    def all_within(self, read: Read, places: Sequence[int], wanted: int) -> int:
        """The same of places that are near each other, in one look."""
        first = self.start + (min(places) * self.groups.count >> 3)
        last = self.start + ((max(places) + 1) * self.groups.count + 7 >> 3)
        data = read(first, last)
        return self.all_of(lambda begin, end: data[begin - first : end - first], places, wanted)


@dataclass(frozen=True, slots=True)
class GroupFilters:
    """The filters of one kind of one column. `unknown`: the row groups that have none.

    `is_scattered`: the places of a value are anywhere in a filter.
    """

    slabs: tuple[Slab, ...]
    unknown: int
    is_scattered: bool

    def may_have_value(self, read: Read, hashed: int, wanted: int) -> int:
        """Of the wanted row groups those that may have the value."""
        found = wanted & self.unknown
        for slab in self.slabs:
            if self.is_scattered:
                found |= slab.all_of(read, scattered_places(hashed, slab.groups.size), wanted)
            elif wanted >> slab.groups.first:
                found |= slab.all_within(read, places_of_value(hashed, slab.groups.size), wanted)
        return found

    def may_have_part(self, read: Read, aligned: Sequence[Sequence[int]], grams: Grams, wanted: int) -> int:
        """Of the wanted row groups those of which a text may have the part whose `alignments` these are."""
        if not all(aligned):
            return wanted
        found = wanted & self.unknown
        for slab in self.slabs:
            for numbers in aligned:
                places = (gram_place(number, slab.groups.size, grams) for number in numbers)
                found |= slab.all_of(read, places, wanted)
        return found


@dataclass(frozen=True, slots=True)
class Header:
    """What an index has. `unfolded`, `escaped`: per column, the row groups with letters whose lower case is an ASCII
    letter, and those with escapes of JSON. `times`: of each row group the first and the last, or nothing."""

    group_rows: int
    groups: int
    filters: Mapping[tuple[str, str], GroupFilters]
    unfolded: Mapping[str, int]
    escaped: Mapping[str, int]
    times: Sequence[tuple[int, int]] = ()


def parse_header(read: Read) -> Header | None:
    """The header at the beginning of an index; None if it is none that this version reads."""
    begin = len(MAGIC) + LENGTH_BYTES
    head = read(0, begin)
    magic = head[: len(MAGIC)]
    if magic not in (MAGIC, SECOND_MAGIC, FIRST_MAGIC):
        return None
    first = begin + int.from_bytes(head[len(MAGIC) :], "little")
    told = json.loads(read(begin, first))
    names = [(str(column), str(kind)) for column, kind in told["filters"]]
    groups = int(told["groups"])
    end = first + _SIZE_BYTES * len(names) * groups
    sizes = np.frombuffer(read(first, end), "<u4").reshape(len(names), groups).tolist()
    groups_of = [tuple(neighbours_of(each, apart=magic == FIRST_MAGIC)) for each in sizes]
    starts = accumulate((sum(each.bytes for each in found) for found in groups_of), initial=end)
    filters = {
        name: _filters(start, each, groups, is_scattered=magic != MAGIC)
        for name, start, each in zip(names, starts, groups_of, strict=False)
    }
    times = [(int(first), int(last)) for first, last in told.get("times", ())]
    return Header(int(told["rows"]), groups, filters, _sets(told["unfolded"]), _sets(told["escaped"]), times)


def _filters(start: int, found: Sequence[Neighbours], groups: int, *, is_scattered: bool) -> GroupFilters:
    starts = accumulate((each.bytes for each in found), initial=start)
    known = sum(((1 << each.count) - 1) << each.first for each in found)
    slabs = tuple(Slab(at, each) for at, each in zip(starts, found, strict=False))
    return GroupFilters(slabs, ((1 << groups) - 1) & ~known, is_scattered)


def _sets(numbers: Mapping[str, Sequence[int]]) -> dict[str, int]:
    return {column: sum(1 << number for number in each) for column, each in numbers.items()}


class TextIndex:
    """The index of one file, open."""

    def __init__(self, header: Header, read: Read) -> None:
        self._header, self._read = header, read

    @property
    def all(self) -> int:
        """All row groups of the file."""
        return (1 << self._header.groups) - 1

    def any_of(self, alternatives: Iterable[TextConditions], wanted: int) -> int:
        """Of the wanted row groups those of which a row may satisfy all conditions of one of the alternatives."""
        found = 0
        for conditions in alternatives:
            found |= self._all_of(conditions, wanted)
        return found

    def _all_of(self, conditions: TextConditions, wanted: int) -> int:
        for condition in conditions:
            if not wanted:
                break
            wanted = self._may(condition, wanted)
        return wanted

    def _may(self, condition: TextCondition, wanted: int) -> int:
        match condition:
            case IsOneOf():
                return self._may_be(condition, wanted)
            case HasParts():
                return self._may_have(condition, wanted)
            case AnyOf():
                return self.any_of(condition.branches, wanted)

    def _may_be(self, condition: IsOneOf, wanted: int) -> int:
        filters = self._header.filters.get((condition.column, VALUES))
        found = 0
        if filters is None:
            for value in condition.values:
                found |= self._may_have(HasParts(condition.column, (value,)), wanted)
            return found
        for hashed in _hashed(condition.values):
            # What was found once need not be looked for again.
            found |= filters.may_have_value(self._read, hashed, wanted & ~found)
        return found

    def _may_have(self, condition: HasParts, wanted: int) -> int:
        """A letter that is no ASCII is looked for as it is, or, if its case does not count, not at all."""
        found = wanted
        for kind, grams in _KINDS.items():
            filters = self._header.filters.get((condition.column, kind))
            for part in _pieces(condition) if filters is not None else ():
                found = filters.may_have_part(self._read, _aligned(part, grams), grams, found)  # type: ignore[union-attr]
        if condition.ignore_case:
            found |= wanted & self._header.unfolded.get(condition.column, 0)
        if condition.in_json:
            found |= wanted & self._header.escaped.get(condition.column, 0)
        return found


def _pieces(condition: HasParts) -> Iterator[bytes]:
    """The parts as they are in the index: in lower case as far as they are ASCII."""
    for part in condition.parts:
        if not condition.ignore_case or part.isascii():
            yield part.encode().lower()
        else:
            yield from "".join(letter if letter.isascii() else "\0" for letter in part).encode().lower().split(b"\0")


@lru_cache(maxsize=256)
def _hashed(values: tuple[str, ...]) -> list[int]:
    """Computed once for all files that a query asks."""
    return [hash_text(value) for value in values]


@lru_cache(maxsize=256)
def _aligned(part: bytes, grams: Grams) -> tuple[list[int], ...]:
    return tuple(alignments(part, grams))


class IndexReader:
    """Asks the indexes of files, whose headers it remembers. Not for two threads at once."""

    def __init__(self) -> None:
        self._headers: OrderedDict[str, Header | None] = OrderedDict()

    def ranges(
        self, path: str, read: Read, rows: int, alternatives: Sequence[TextConditions]
    ) -> tuple[RowRange, ...] | None:
        """The row groups of the file in which a row may satisfy all conditions of any alternative, neighbours as one.

        `path` names the file, whose index is read by `read`. None: all row groups, or nothing is known of them.
        """
        header = self._header(path, read)
        if header is None:
            return None
        index = TextIndex(header, read)
        found = index.any_of(alternatives, index.all)
        if not found:
            return ()
        return None if found == index.all else tuple(_ranges(found, header, rows))

    def row_groups(self, path: str, read: Read, rows: int) -> list[TimedRows]:
        """The row groups of the file with their times; nothing where the index does not tell."""
        header = self._header(path, read)
        if header is None:
            return []
        starts = (number * header.group_rows for number in range(header.groups))
        return [
            TimedRows(RowRange(start, min(header.group_rows, rows - start)), *times)
            for start, times in zip(starts, header.times, strict=False)
        ]

    def _header(self, path: str, read: Read) -> Header | None:
        if path not in self._headers:
            self._headers[path] = parse_header(read)
            if len(self._headers) > MOST_HEADERS:
                self._headers.popitem(last=False)
        return self._headers[path]


def _ranges(found: int, header: Header, rows: int) -> Iterator[RowRange]:
    for is_found, same in groupby(range(header.groups), lambda number: found >> number & 1):
        if is_found:
            numbers = list(same)
            start = numbers[0] * header.group_rows
            yield RowRange(start, min((numbers[-1] + 1) * header.group_rows, rows) - start)


@contextmanager
def open_index(path: str, place: IndexLocation) -> Iterator[Read]:
    """The index in the file, of which only what is looked at is read. Raises OSError.

    A mapping of the file would cost a page fault for each look, 5 to 8 us, and as much again to make and to end.
    """
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        yield lambda first, last: os.pread(fd, last - first, place.start + first)
    finally:
        os.close(fd)


def fetched_index(content: bytes) -> Read:
    """An index that is in memory."""
    return lambda first, last: content[first:last]
