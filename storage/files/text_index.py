"""The text index of a Parquet file: filters of its texts, a row group at a time, in the file itself.

The index stands between the last row group and the footer, where Parquet's readers have no business: they find the
footer from the end, and everything else from the footer. So a file and its index are published, copied, backed up and
deleted as one. Which columns get which filters follows from their texts (docs/decisions/text-index.md).
"""

import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path
from typing import Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from errors import InternalError
from storage.files.bit_filters import (
    LONG_GRAMS,
    SHORT_GRAMS,
    Bits,
    Hashes,
    collect_grams,
    gram_bits,
    hash_texts,
    pack,
    value_bits,
)

MAGIC: Final = b"WEIRTXT3"
# The second format: the places of a value are anywhere in its filter.
SECOND_MAGIC: Final = b"WEIRTXT2"
# The first: so they are, long grams are at every second byte, and the filter of each row group is by itself.
FIRST_MAGIC: Final = b"WEIRTXT1"
LENGTH_BYTES: Final = 4
PARQUET_TAIL_BYTES: Final = 8
VALUES: Final = "values"
SHORT: Final = "short"
LONG: Final = "runs"
SPARSE: Final = "long"
# What is made. Those that tell most are asked first.
GRAMS: Final = {LONG: LONG_GRAMS, SHORT: SHORT_GRAMS}
# Fewer rows than these cost less to read than an index to ask, and wait for compaction.
LEAST_ROWS: Final = 4_096
# The index takes at most this share of its file; where it would take more, all filters shrink alike.
MOST_SHARE: Final = 0.1
# Filters that would shrink to less than this share of their usual size tell next to nothing.
LEAST_SHARE: Final = 0.25
# One of 9,000 texts that are not there seems to be there.
BITS_PER_VALUE: Final = 20
# A constant has many grams, of which all have to be there: a quarter or a third of the bits may be set.
BITS_PER_GRAM: Final = {SHORT: 4.0, LONG: 2.5}
# A filter of this share of the largest one of its column and kind is made as large, to lie beside it; all are where
# that leaves so little of their bytes unused.
LEAST_OF_LARGEST: Final = 0.75
LEAST_USED: Final = 0.9
# A filter of few values or grams costs nothing.
LEAST_BITS: Final = 64
# Longer texts are asked for what they contain, shorter ones for what they are.
LONG_BYTES: Final = 48
# Longer ones have nearly every gram, and cost more to take apart than the rest of a conversion.
LONGEST_BYTES: Final = 2_048
# What tells whether the texts of a row group repeat.
SAMPLE_ROWS: Final = 1_000
# Values that take no more bytes than this for each row, because they repeat, can be asked for what they contain, too.
FEW_BYTES_PER_ROW: Final = 2
# Values that are in more row groups than this, at the mean, are not looked for by value: of a file with so many ranges
# of rows everything is read (storage/read/text_search.py). A filter of less than a value for four rows is small enough
# to be kept for values that are nowhere.
MOST_GROUPS_OF_VALUE: Final = 4
FEW_VALUES_PER_ROW: Final = 0.25
# Letters that some matcher takes for an ASCII letter where case does not count: I with a dot and i without, the Kelvin
# sign, the long s.
UNFOLDED: Final = tuple(letter.encode() for letter in "\u0130\u0131\u212a\u017f")


@dataclass(frozen=True, slots=True)
class Chosen:
    """What an operator wants of a dataset's index. `columns`: as stored; None: chosen by their texts."""

    columns: frozenset[str] | None = None

    def covers(self, name: str) -> bool:
        return self.columns is None or name in self.columns


@dataclass(frozen=True, slots=True)
class RowGroups:
    """How many rows a row group has, the last one perhaps fewer, and, if told, the first and the last time of each.

    Times are ns since 1970. They tell which row groups need not be read to count their rows.
    """

    rows: int
    times: tuple[tuple[int, int], ...] = ()


@dataclass(slots=True)
class GroupTexts:
    """What a column has in one row group, hashed; None where there is no filter for it.

    `distinct`: about how many different values there are.
    """

    values: Hashes | None = None
    distinct: int = 0
    grams: dict[str, NDArray[np.int64]] = field(default_factory=dict)
    is_unfolded: bool = False
    is_escaped: bool = False

    def size(self, kind: str, share: float) -> int:
        """The bits that the filter of that kind should have, of `share` of its usual size; 0: there is none."""
        if kind == VALUES:
            return 0 if self.values is None else max(LEAST_BITS, int(self.distinct * BITS_PER_VALUE * share))
        numbers = self.grams.get(kind)
        return 0 if numbers is None else max(LEAST_BITS, int(len(numbers) * BITS_PER_GRAM[kind] * share))

    def bits(self, kind: str, size: int) -> Bits:
        """The filter of that kind, which there is, of `size` bits."""
        if kind == VALUES and self.values is not None:
            return value_bits(self.values, size)
        return gram_bits(self.grams[kind], size, GRAMS[kind])


def group_texts(texts: pl.Series) -> GroupTexts:
    """What to keep of the texts of a column in one row group."""
    present = texts.drop_nulls() if texts.null_count() else texts
    sample = present.head(SAMPLE_ROWS)
    # Repeated texts are looked at once; where there are hardly any, finding them would cost more.
    repeats = sample.n_unique() < 0.9 * len(sample)
    distinct = present.unique() if repeats else present
    mean_bytes = distinct.str.len_bytes().mean() or 0
    if not isinstance(mean_bytes, float | int) or mean_bytes > LONGEST_BYTES:
        return GroupTexts()
    if mean_bytes > LONG_BYTES:
        return _with_grams(GroupTexts(), distinct)
    result = GroupTexts(hash_texts(distinct), len(distinct) if repeats else _approximate(distinct))
    return _with_grams(result, distinct) if mean_bytes * len(distinct) <= FEW_BYTES_PER_ROW * len(texts) else result


def _column_texts(column: pl.Series, groups: Sequence[pl.DataFrame], chosen: Chosen) -> list[GroupTexts]:
    """What to keep of a column, a row group at a time. Values that most row groups have hardly tell anything, and are
    kept only if the operator has named the column."""
    found = [group_texts(group.get_column(column.name)) for group in groups]
    values = sum(each.distinct for each in found)
    is_small = values <= FEW_VALUES_PER_ROW * len(column) or len(groups) <= MOST_GROUPS_OF_VALUE
    if chosen.columns is None and not is_small and values > MOST_GROUPS_OF_VALUE * _approximate(column):
        for each in found:
            each.values = None
    return found


def _approximate(texts: pl.Series) -> int:
    counted = texts.approx_n_unique()
    return counted if isinstance(counted, int) else len(texts)


def _with_grams(result: GroupTexts, distinct: pl.Series) -> GroupTexts:
    # No gram is lost where two texts meet, and some are there that no text has.
    data = (str(distinct.str.join("\0").item()) if len(distinct) else "").encode()
    folded = data.lower()
    result.grams = {kind: collect_grams(folded, grams) for kind, grams in GRAMS.items()}
    # One byte is found much faster than two, and most texts have no backslash.
    result.is_escaped = b"\\" in folded and b"\\u" in folded
    result.is_unfolded = not data.isascii() and any(letter in data for letter in UNFOLDED)
    return result


def build(rows: pl.DataFrame, groups_of: RowGroups, most_bytes: int, chosen: Chosen = Chosen()) -> bytes:
    """The index of the rows, of at most `most_bytes` bytes; nothing if there is nothing to say about them."""
    group_rows = groups_of.rows
    names = [name for name, dtype in rows.schema.items() if dtype == pl.String() and chosen.covers(name)]
    groups = [rows[start : start + group_rows] for start in range(0, rows.height, group_rows)]
    texts = {name: _column_texts(rows.get_column(name), groups, chosen) for name in names}
    filters = list(_filters(texts))
    wanted = sum(each.usual_bytes for each in filters)
    # The least filters do not shrink, and all of them end with a whole byte.
    room = (
        most_bytes - len(_head(texts, filters, groups_of, 1.0)) - sum(each.count for each in filters) * LEAST_BITS // 4
    )
    share = min(1.0, room / max(1, wanted))
    if not filters or share < LEAST_SHARE:
        return b""
    return b"".join((_head(texts, filters, groups_of, share), *(each.packed(share) for each in filters)))


@dataclass(frozen=True, slots=True)
class Filters:
    """The filters of one kind of a column, a row group at a time."""

    column: str
    kind: str
    groups: Sequence[GroupTexts]

    @property
    def count(self) -> int:
        return sum(group.size(self.kind, 1.0) > 0 for group in self.groups)

    @property
    def usual_bytes(self) -> int:
        """What they take at their usual size."""
        return sum(self.sizes(1.0)) // 8

    def sizes(self, share: float) -> list[int]:
        """The bits of each; 0: there is none."""
        sizes = [group.size(self.kind, share) for group in self.groups]
        largest = max(sizes)
        least = 1 if sum(sizes) >= LEAST_USED * largest * len(sizes) else LEAST_OF_LARGEST * largest
        return [largest if size >= least else size for size in sizes]

    def packed(self, share: float) -> bytes:
        """The filters, those of neighbours of one size bit by bit together."""
        return b"".join(
            pack([group.bits(self.kind, each.size) for group in self.groups[each.first : each.first + each.count]])
            for each in neighbours_of(self.sizes(share))
        )


@dataclass(frozen=True, slots=True)
class Neighbours:
    """Neighbouring row groups, `count` from the one with the number `first` on, whose filters have `size` bits each."""

    first: int
    count: int
    size: int

    @property
    def bytes(self) -> int:
        return (self.size * self.count + 7) // 8


def neighbours_of(sizes: Sequence[int], *, apart: bool = False) -> Iterator[Neighbours]:
    """The row groups that have filters of these sizes (0: none); `apart`: each by itself."""
    first = 0
    for size, same in groupby(sizes):
        count = len(list(same))
        if size:
            yield from (
                (Neighbours(first + at, 1, size) for at in range(count)) if apart else (Neighbours(first, count, size),)
            )
        first += count


def _filters(texts: Mapping[str, Sequence[GroupTexts]]) -> Iterator[Filters]:
    for name, groups in texts.items():
        for kind in (VALUES, *GRAMS):
            filters = Filters(name, kind, groups)
            if filters.count:
                yield filters


def _head(
    texts: Mapping[str, Sequence[GroupTexts]], filters: Sequence[Filters], groups_of: RowGroups, share: float
) -> bytes:
    """What stands before the filters: which they are, and of how many bits."""
    header = {
        "rows": groups_of.rows,
        "times": groups_of.times,
        "groups": len(next(iter(texts.values()), ())),
        "filters": [[each.column, each.kind] for each in filters],
        "unfolded": _numbers(texts, lambda group: group.is_unfolded),
        "escaped": _numbers(texts, lambda group: group.is_escaped),
    }
    text = json.dumps(header, separators=(",", ":")).encode()
    sizes = np.array([each.sizes(share) for each in filters], "<u4")
    return b"".join((MAGIC, len(text).to_bytes(LENGTH_BYTES, "little"), text, sizes.tobytes()))


def _numbers(texts: Mapping[str, Sequence[GroupTexts]], has: Callable[[GroupTexts], bool]) -> dict[str, list[int]]:
    """The numbers of the groups that have it, of each column that has such groups."""
    found = {name: [number for number, each in enumerate(groups) if has(each)] for name, groups in texts.items()}
    return {name: numbers for name, numbers in found.items() if numbers}


@dataclass(frozen=True, slots=True)
class IndexLocation:
    """Where in its file an index is; `bytes` is 0 where there is none."""

    start: int = 0
    bytes: int = 0


def add_index(path: Path, rows: pl.DataFrame, groups_of: RowGroups, chosen: Chosen = Chosen()) -> IndexLocation:
    """Put the index of the rows into the Parquet file at the path, which has just these rows. Raises OSError."""
    if rows.height < LEAST_ROWS or not _is_wanted(chosen):
        return IndexLocation()
    index = build(rows, groups_of, int(path.stat().st_size * MOST_SHARE), chosen)
    return insert(path, index) if index else IndexLocation()


def _is_wanted(chosen: Chosen) -> bool:
    return chosen.columns is None or bool(chosen.columns)


def insert(path: Path, index: bytes) -> IndexLocation:
    """Write the index between the file's last row group and its footer, whose offsets stay right. Raises OSError."""
    with path.open("r+b") as file:
        size = file.seek(-PARQUET_TAIL_BYTES, os.SEEK_END) + PARQUET_TAIL_BYTES
        tail = file.read(PARQUET_TAIL_BYTES)
        if tail[4:] != b"PAR1":
            raise InternalError(f"the file {path.name} does not end as Parquet does")
        start = size - PARQUET_TAIL_BYTES - int.from_bytes(tail[:4], "little")
        file.seek(start)
        footer = file.read()
        file.seek(start)
        file.write(index)
        file.write(footer)
    return IndexLocation(start, len(index))
