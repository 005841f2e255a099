"""Filters of bits: which texts, and which grams of long texts, a row group surely does not have.

A filter answers "surely not" or "perhaps". Its bits are at places that follow from hashes; the hashes are written down
in files, so they are fixed for ever: plain arithmetic of 64 bits, the same on every machine. The choice of structure
and sizes: docs/decisions/text-index.md.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

Hashes = NDArray[np.uint64]
Bits = NDArray[np.bool_]

# Odd numbers without a pattern: the golden ratio, and two of the usual finalizers of hashes.
_GOLDEN: Final = np.uint64(0x9E3779B97F4A7C15)
_MIX_1: Final = np.uint64(0xBF58476D1CE4E5B9)
_MIX_2: Final = np.uint64(0x94D049BB133111EB)
_HALF: Final = np.uint64(32)
_LOW: Final = np.uint64(0xFFFFFFFF)
_WORD: Final = 8
# The first n bytes of a word of eight, as numbers are in memory here and everywhere (little-endian).
_FIRST_BYTES: Final = np.array([(1 << (8 * count)) - 1 for count in range(9)], dtype=np.uint64)
# Places per value. With twice as many bits per value as places, one value in 1,700 that is not there seems to be.
PLACES: Final = 8
# Hashes at once: what is computed in between stays in the processor's cache.
_PORTION: Final = 16_384
# Up to here sorting costs less than a table that is mostly empty.
_FEW_GRAMS: Final = 4_096


@dataclass(frozen=True, slots=True)
class Grams:
    """Runs of `size` bytes that begin at every `stride`-th byte; `table_bits`: where they are collected."""

    size: int
    stride: int
    table_bits: int


# Of every part of a constant that is long enough each alignment has a gram: from size + stride - 1 bytes on.
SHORT_GRAMS: Final = Grams(3, 1, 16)
LONG_GRAMS: Final = Grams(6, 2, 20)


def hash_texts(values: pl.Series) -> Hashes:
    """A hash for each of the texts, none of which is null."""
    lengths = values.str.len_bytes().to_numpy().astype(np.int64)
    data = b"".join((str(values.str.join("").item()).encode() if len(values) else b"", bytes(_WORD)))
    starts = np.zeros(len(lengths), np.int64)
    np.cumsum(lengths[:-1], out=starts[1:])
    words = np.ndarray((len(data) - _WORD + 1,), "<u8", buffer=data, strides=(1,))
    hashes = lengths.astype(np.uint64) * _GOLDEN
    for at in range(0, int(lengths.max(initial=0)), _WORD):
        rows = np.flatnonzero(lengths > at)
        word = words[starts[rows] + at] & _FIRST_BYTES[np.minimum(lengths[rows] - at, _WORD)]
        hashes[rows] = _mix(hashes[rows] ^ word)
    return hashes


def _mix(numbers: Hashes) -> Hashes:
    """Every bit of each number changes about half of the bits of what comes out (the finalizer of splitmix64)."""
    mixed = (numbers + _GOLDEN) * _MIX_1
    mixed ^= mixed >> np.uint64(29)
    mixed *= _MIX_2
    mixed ^= mixed >> _HALF
    return mixed


def value_places(hashes: Hashes, sizes: NDArray[np.int64]) -> NDArray[np.int64]:
    """For each size, a row of places below it for each hash."""
    steps = np.arange(PLACES, dtype=np.uint64)
    low, high = hashes & _LOW, (hashes >> _HALF) | np.uint64(1)
    spread = (low[:, None] + high[:, None] * steps[None, :]) & _LOW
    return ((spread[None, :, :] * sizes.astype(np.uint64)[:, None, None]) >> _HALF).astype(np.int64)


def value_bits(hashes: Hashes, size: int) -> Bits:
    """The filter of the hashed values, of `size` bits."""
    bits = np.zeros(size, np.bool_)
    for first in range(0, len(hashes), _PORTION):
        bits[value_places(hashes[first : first + _PORTION], np.array([size]))] = True
    return bits


def collect_grams(data: bytes, grams: Grams) -> NDArray[np.int64]:
    """The distinct grams of the bytes, as numbers below 2 ** table_bits."""
    padded = data + bytes(_WORD)
    count = max(0, len(data) - grams.size + grams.stride) // grams.stride
    if count <= _FEW_GRAMS:
        return np.unique(_gram_numbers(padded, 0, np.empty(count, np.uint64), grams))
    table, room = np.zeros(1 << grams.table_bits, np.bool_), np.empty(_PORTION, np.uint64)
    for first in range(0, count, _PORTION):
        table[_gram_numbers(padded, first * grams.stride, room[: count - first], grams)] = True
    return np.flatnonzero(table)


def _gram_numbers(padded: bytes, start: int, into: Hashes, grams: Grams) -> NDArray[np.int64]:
    """The numbers of as many grams from `start` on. Bytes beyond a gram are shifted out by the multiplication."""
    words = np.ndarray((len(into),), "<u8", buffer=padded, offset=start, strides=(grams.stride,))
    factor = np.uint64((int(_GOLDEN) << (8 * (_WORD - grams.size))) & 0xFFFFFFFFFFFFFFFF)
    np.multiply(words, factor, out=into)
    np.right_shift(into, np.uint64(64 - grams.table_bits), out=into)
    return into.view(np.int64)


def gram_places(numbers: NDArray[np.int64], size: int | NDArray[np.int64], grams: Grams) -> NDArray[np.int64]:
    """The place below `size` of each gram."""
    return (numbers * size) >> grams.table_bits


def gram_bits(numbers: NDArray[np.int64], size: int, grams: Grams) -> Bits:
    """The filter of the grams, of `size` bits."""
    bits = np.zeros(size, np.bool_)
    bits[gram_places(numbers, size, grams)] = True
    return bits


def alignments(part: bytes, grams: Grams) -> Iterator[NDArray[np.int64]]:
    """For each way in which a part of a text may stand to the stride, the numbers of the grams that are then there."""
    for shift in range(grams.stride):
        count = max(0, len(part) - shift - grams.size + grams.stride) // grams.stride
        yield _gram_numbers(part + bytes(_WORD), shift, np.empty(count, np.uint64), grams)


@dataclass(frozen=True, slots=True)
class GroupFilters:
    """The filters of one kind of one column: of each row group `sizes[group]` bits, 0: none, from a byte of `data` on.

    `starts[group]` is that byte's number.
    """

    data: NDArray[np.uint8]
    starts: NDArray[np.int64]
    sizes: NDArray[np.int64]

    def may_have_values(self, hashes: Hashes) -> Bits:
        """For each group whether it may have one of the values."""
        bits = self._bits(value_places(hashes, self.sizes))
        found: Bits = self.sizes == 0
        found |= np.any(np.all(bits, axis=2), axis=1)
        return found

    def may_have_part(self, aligned: Sequence[NDArray[np.int64]], grams: Grams) -> Bits:
        """For each group whether a text of it may have the part whose `alignments` these are."""
        found: Bits = self.sizes == 0
        if not all(map(len, aligned)):
            return np.ones_like(found)
        for numbers in aligned:
            found |= np.all(self._bits(gram_places(numbers[None, :], self.sizes[:, None], grams)), axis=1)
        return found

    def _bits(self, places: NDArray[np.int64]) -> Bits:
        """The bits at the places, of which the first index is the group."""
        starts = self.starts.reshape((-1,) + (1,) * (places.ndim - 1))
        # A group without a filter may be the last, where there is nothing to look at.
        octets = self.data[np.minimum(starts + (places >> 3), len(self.data) - 1)]
        return ((octets >> (places & 7).astype(np.uint8)) & 1).astype(np.bool_)


def pack(filters: Sequence[Bits]) -> bytes:
    """The filters one after the other, each from a byte on."""
    return b"".join(np.packbits(each, bitorder="little").tobytes() for each in filters)
