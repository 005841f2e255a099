"""Where the numbers of record batches of one schema are, found out once for all batches that are laid out alike."""

import struct
from collections.abc import Mapping, Sequence
from itertools import accumulate, pairwise
from types import MappingProxyType
from typing import Final, NamedTuple

import polars as pl

from storage.wal.arrow import NUMBER, PAIR_BYTES, Buffer, Numbers, find_numbers

# Texts of a batch take none, one or more buffers of data, so batches of one schema are laid out in several ways.
MOST_LAYOUTS: Final = 128


class Kind(NamedTuple):
    """How an array is stored besides its validity: bits per value, which is itself or a view into buffers of data."""

    bits: int
    has_views: bool = False


_KINDS: Final[Mapping[pl.DataType, Kind]] = MappingProxyType(
    {
        pl.Boolean(): Kind(1),
        pl.Int64(): Kind(64),
        pl.Float64(): Kind(64),
        pl.Date(): Kind(32),
        pl.Datetime("us", "UTC"): Kind(64),
        pl.Datetime("ns", "UTC"): Kind(64),
        pl.String(): Kind(128, has_views=True),
    }
)


def kind_of(dtype: pl.DataType) -> Kind | None:
    """How a column of the type is stored; None of one that is more than one array, or unknown."""
    return _KINDS.get(dtype)


class BatchLayout(NamedTuple):
    """Reads the numbers of metadata.

    `numbers`: bytes of the body, rows, where in the body each column's validity and values are, and its nulls.
    `data`: where in the body buffers of data are, and how long. `shares`: which of these are each column's, half-open.
    """

    numbers: struct.Struct
    data: struct.Struct
    shares: tuple[tuple[int, int], ...]


class Shape(NamedTuple):
    """Metadata of one size: where its numbers are, and what is in between, which is always the same."""

    numbers: Numbers
    counts: struct.Struct
    rest: struct.Struct
    expected: tuple[bytes, ...]


class Layouts:
    """The layouts seen so far of batches with columns of these types, of which the `wanted` (their places) are read."""

    def __init__(self, dtypes: Sequence[pl.DataType], wanted: Sequence[int]) -> None:
        columns = [_arrays(dtype) for dtype in dtypes]
        self._are_known = None not in columns
        self._arrays = [has_views for column in columns for has_views in column or ()]
        self._wanted = [sum(len(column or ()) for column in columns[:place]) for place in wanted]
        # Of each wanted column how many arrays of views are before it.
        self._views = [sum(self._arrays[:array]) for array in self._wanted]
        self._shapes: dict[int, Shape | None] = {}
        self._known: dict[tuple[int, ...], BatchLayout] = {}
        # Mostly the next one is laid out as the last one was.
        self._last: tuple[tuple[int, ...], int, BatchLayout | None] = (), 0, None

    def of(self, data: Buffer, at: int, size: int) -> BatchLayout | None:
        """The layout of the metadata `data[at : at + size]`; None if it is none that we know."""
        if size not in self._shapes and len(self._shapes) < MOST_LAYOUTS:
            self._shapes[size] = self._shape(bytes(data[at : at + size]))
        shape = self._shapes.get(size)
        if shape is None or shape.rest.unpack_from(data, at) != shape.expected:
            return None
        counts = shape.counts.unpack_from(data, at)
        if self._last[0] == counts and self._last[1] == size:
            return self._last[2]
        layout = self._layout(shape, counts, size)
        self._last = counts, size, layout
        return layout

    def _shape(self, metadata: bytes) -> Shape | None:
        """What is to be expected of such metadata, if it has the arrays that columns of these types have."""
        numbers = find_numbers(metadata)
        if numbers is None or not self._are_known:
            return None
        if (len(self._arrays), sum(self._arrays)) != (numbers.nodes.length, numbers.variadic.length):
            return None
        counts = struct.Struct(f"<{numbers.variadic.at}x{numbers.variadic.length}q")
        rest = _rest(numbers, len(metadata))
        return Shape(numbers, counts, rest, rest.unpack_from(metadata))

    def _layout(self, shape: Shape, counts: tuple[int, ...], size: int) -> BatchLayout | None:
        """The layout for so many buffers of data per array of views, if there are as many buffers as that makes."""
        if 2 * len(self._arrays) + sum(counts) != shape.numbers.buffers.length:
            return None
        before = [sum(counts[:views]) for views in self._views]
        own = [
            counts[views] if self._arrays[array] else 0 for array, views in zip(self._wanted, self._views, strict=True)
        ]
        key = size, *before, *own
        layout = self._known.get(key)
        if layout is None and len(self._known) < MOST_LAYOUTS:
            layout = self._known[key] = _reading(shape.numbers, self._wanted, before, own)
        return layout


def _arrays(dtype: pl.DataType) -> list[bool] | None:
    """Of each array of a column whether it has views; None of a type that we do not know."""
    if isinstance(dtype, pl.List):
        inner = _arrays(dtype.inner)  # type: ignore[arg-type]
        return None if inner is None else [False, *inner]
    kind = kind_of(dtype)
    return None if kind is None else [kind.has_views]


def _rest(numbers: Numbers, size: int) -> struct.Struct:
    """What reads all of the metadata but its numbers."""
    numeric = [
        (numbers.body_bytes, NUMBER.size),
        (numbers.rows, NUMBER.size),
        (numbers.variadic.at, NUMBER.size * numbers.variadic.length),
        (numbers.buffers.at, PAIR_BYTES * numbers.buffers.length),
        (numbers.nodes.at, PAIR_BYTES * numbers.nodes.length),
    ]
    form, at = "<", 0
    for start, length in sorted(numeric):
        form += f"{start - at}s{length}x"
        at = start + length
    return struct.Struct(f"{form}{size - at}s")


def _reading(numbers: Numbers, arrays: Sequence[int], before: Sequence[int], own: Sequence[int]) -> BatchLayout:
    """What reads the numbers of some arrays, which have `own` buffers of data, and the arrays before them `before`."""
    firsts = [
        numbers.buffers.at + PAIR_BYTES * (2 * array + others) for array, others in zip(arrays, before, strict=True)
    ]
    places = [numbers.body_bytes, numbers.rows]
    places += [first + PAIR_BYTES * buffer for first in firsts for buffer in range(2)]
    places += [numbers.nodes.at + PAIR_BYTES * array + NUMBER.size for array in arrays]
    data = [
        first + PAIR_BYTES * (2 + buffer) + part * NUMBER.size
        for first, count in zip(firsts, own, strict=True)
        for buffer in range(count)
        for part in range(2)
    ]
    ends = list(accumulate((2 * count for count in own), initial=0))
    return BatchLayout(_at(places), _at(data), tuple(pairwise(ends)))


def _at(places: Sequence[int]) -> struct.Struct:
    """What reads the numbers at the places, which ascend."""
    form, at = "<", 0
    for place in places:
        form += f"{place - at}xq"
        at = place + NUMBER.size
    return struct.Struct(form)
