"""Where the numbers of record batches of one schema are, found out once for all batches that are laid out alike."""

import struct
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Final, NamedTuple

import polars as pl

from storage.arrow import NUMBER, PAIR_BYTES, Buffer, Numbers, find_numbers

# Texts of a batch take none, one or more buffers of data, so batches of one schema are laid out in several ways.
MOST_LAYOUTS: Final = 64


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


class Slots(NamedTuple):
    """Which of a layout's numbers are about a column: its count of nulls, where in the body its validity and its
    values are, and where each of its buffers of data is; the number after that is how long it is."""

    kind: Kind
    nulls: int
    validity: int
    values: int
    data: tuple[int, ...]


class BatchLayout(NamedTuple):
    """Reads the numbers of such metadata; `rows` and `body_bytes` are two of them."""

    numbers: struct.Struct
    rows: int
    body_bytes: int
    columns: tuple[Slots, ...]


class Layouts:
    """The layouts seen so far of batches with columns of these types, of which the `wanted` (their places) are read."""

    def __init__(self, dtypes: Sequence[pl.DataType], wanted: Sequence[int]) -> None:
        self._kinds = [kind_of(dtypes[column]) for column in wanted]
        self._arrays = [_arrays(dtype) for dtype in dtypes]
        self._wanted = wanted
        # By the size of the metadata: where its numbers are, and what reads everything else, by which layouts differ.
        self._shapes: dict[int, tuple[Numbers, struct.Struct]] = {}
        self._known: dict[tuple[object, ...], BatchLayout | None] = {}
        # Mostly the next one is laid out as the last one was.
        self._last: tuple[tuple[object, ...], BatchLayout | None] = (), None

    def of(self, data: Buffer, at: int, size: int) -> BatchLayout | None:
        """The layout of the metadata `data[at : at + size]`; None if it is none that we know."""
        shape = self._shapes.get(size)
        if shape is not None:
            rest = shape[1].unpack_from(data, at)
            if rest == self._last[0]:
                return self._last[1]
            if rest in self._known:
                self._last = rest, self._known[rest]
                return self._last[1]
        if len(self._known) >= MOST_LAYOUTS:
            return None
        return self._learnt(bytes(data[at : at + size]))

    def _learnt(self, metadata: bytes) -> BatchLayout | None:
        numbers = find_numbers(metadata)
        if numbers is None:
            return None
        shape = self._shapes.setdefault(len(metadata), (numbers, _rest(numbers, len(metadata))))
        if shape[0] != numbers:
            # What is the same in both could not be told from what differs.
            return None
        layout = self._layout(metadata, numbers)
        self._known[shape[1].unpack_from(metadata)] = layout
        return layout

    def _layout(self, metadata: bytes, numbers: Numbers) -> BatchLayout | None:
        """The layout, if there are exactly the arrays and buffers that columns of these types have."""
        arrays = [has_views for column in self._arrays for has_views in column or ()]
        counts = list(struct.unpack_from(f"<{numbers.variadic.length}q", metadata, numbers.variadic.at))
        expected = (len(arrays), 2 * len(arrays) + sum(counts), sum(arrays))
        if None in self._arrays or expected != (numbers.nodes.length, numbers.buffers.length, len(counts)):
            return None
        remaining = iter(counts)
        data = [next(remaining) if has_views else 0 for has_views in arrays]
        places = [
            _places(numbers, kind, data, sum(len(column or ()) for column in self._arrays[:index]))
            for kind, index in zip(self._kinds, self._wanted, strict=True)
            if kind is not None
        ]
        return _reading(numbers, places)


def _arrays(dtype: pl.DataType) -> list[bool] | None:
    """Of each array of a column whether it has views; None of a type that we do not know."""
    if isinstance(dtype, pl.List):
        inner = _arrays(dtype.inner)  # type: ignore[arg-type]
        return None if inner is None else [False, *inner]
    kind = kind_of(dtype)
    return None if kind is None else [kind.has_views]


def _rest(numbers: Numbers, size: int) -> struct.Struct:
    """What reads all of the metadata but lengths, offsets and counts of nulls."""
    numeric = [(numbers.body_bytes, NUMBER.size), (numbers.rows, NUMBER.size)]
    numeric += [(vector.at, PAIR_BYTES * vector.length) for vector in (numbers.nodes, numbers.buffers)]
    form, at = "<", 0
    for start, length in sorted(numeric):
        form += f"{start - at}s{length}x"
        at = start + length
    return struct.Struct(f"{form}{size - at}s")


def _places(numbers: Numbers, kind: Kind, data: Sequence[int], array: int) -> Slots:
    """Where in the metadata the numbers about an array are; `data[n]`: how many buffers of data array n has."""
    first = numbers.buffers.at + PAIR_BYTES * (2 * array + sum(data[:array]))
    return Slots(
        kind,
        nulls=numbers.nodes.at + PAIR_BYTES * array + NUMBER.size,
        validity=first,
        values=first + PAIR_BYTES,
        data=tuple(first + PAIR_BYTES * (2 + number) for number in range(data[array])),
    )


def _reading(numbers: Numbers, columns: Sequence[Slots]) -> BatchLayout:
    """The layout that reads only what is of use, from the places of the numbers."""
    used = {numbers.rows, numbers.body_bytes}
    for each in columns:
        used |= {each.nulls, each.validity, each.values, *each.data, *(place + NUMBER.size for place in each.data)}
    form, at = "<", 0
    for place in sorted(used):
        form += f"{place - at}xq"
        at = place + NUMBER.size
    order = {place: index for index, place in enumerate(sorted(used))}
    return BatchLayout(
        struct.Struct(form),
        order[numbers.rows],
        order[numbers.body_bytes],
        tuple(
            Slots(
                each.kind,
                order[each.nulls],
                order[each.validity],
                order[each.values],
                tuple(order[place] for place in each.data),
            )
            for each in columns
        ),
    )
