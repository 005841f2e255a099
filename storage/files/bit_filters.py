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
_ALL: Final = 0xFFFFFFFFFFFFFFFF
_WORD: Final = 8
# The first n bytes of a word of eight, as numbers are in memory here and everywhere (little-endian).
_FIRST_BYTES: Final = np.array([(1 << (8 * count)) - 1 for count in range(9)], dtype=np.uint64)
# The places of a value lie within so many bits, which of 16 row groups are a page of memory.
WINDOW: Final = 2_048
# One for each place, odd and without a pattern: the upper halves of what SplitMix64 gives from 0 on.
_FACTORS: Final = (
    *(0xE220A839, 0x6E789E6B, 0x06C45D19, 0xF88BB8A9, 0x1B39896B),
    *(0x53CB9F0D, 0x2C829ABF, 0xC584133B, 0x3EE57891, 0xF3B8488D),
)
# Of the first two formats.
_SCATTERED: Final = 8
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
# Of the first format of indexes.
SPARSE_GRAMS: Final = Grams(6, 2, 20)
LONG_GRAMS: Final = Grams(6, 1, 21)


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


def hash_text(text: str) -> int:
    """The same for one text, for which arrays would take a hundred times as long."""
    data = text.encode()
    hashed = len(data) * int(_GOLDEN) & _ALL
    for at in range(0, len(data), _WORD):
        hashed ^= int.from_bytes(data[at : at + _WORD], "little")
        hashed = (hashed + int(_GOLDEN)) * int(_MIX_1) & _ALL
        hashed = (hashed ^ hashed >> 29) * int(_MIX_2) & _ALL
        hashed ^= hashed >> 32
    return hashed


def _mix(numbers: Hashes) -> Hashes:
    """Every bit of each number changes about half of the bits of what comes out (the finalizer of splitmix64)."""
    mixed = (numbers + _GOLDEN) * _MIX_1
    mixed ^= mixed >> np.uint64(29)
    mixed *= _MIX_2
    mixed ^= mixed >> _HALF
    return mixed


def value_places(hashes: Hashes, size: int) -> NDArray[np.int64]:
    """A row of places below `size` for each hash: a window by the hash's lower half, and places in it by the upper."""
    window = min(WINDOW, size)
    low, high = hashes & _LOW, hashes >> _HALF
    starts = (low * np.uint64(size - window + 1)) >> _HALF
    spread = (high[:, None] * np.array(_FACTORS, np.uint64)[None, :]) & _LOW
    return (starts[:, None] + ((spread * np.uint64(window)) >> _HALF)).astype(np.int64)


def places_of_value(hashed: int, size: int) -> list[int]:
    """The same for one hash."""
    window = min(WINDOW, size)
    high = hashed >> 32
    start = (hashed & 0xFFFFFFFF) * (size - window + 1) >> 32
    return [start + ((high * factor & 0xFFFFFFFF) * window >> 32) for factor in _FACTORS]


def scattered_places(hashed: int, size: int) -> list[int]:
    """Those of indexes of the first two formats, anywhere in the filter."""
    low, high = hashed & 0xFFFFFFFF, (hashed >> 32) | 1
    return [((low + high * step & 0xFFFFFFFF) * size) >> 32 for step in range(_SCATTERED)]


def value_bits(hashes: Hashes, size: int) -> Bits:
    """The filter of the hashed values, of `size` bits."""
    bits = np.zeros(size, np.bool_)
    for first in range(0, len(hashes), _PORTION):
        bits[value_places(hashes[first : first + _PORTION], size)] = True
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


def gram_place(number: int, size: int, grams: Grams) -> int:
    """The place below `size` of a gram."""
    return (number * size) >> grams.table_bits


def gram_bits(numbers: NDArray[np.int64], size: int, grams: Grams) -> Bits:
    """The filter of the grams, of `size` bits."""
    bits = np.zeros(size, np.bool_)
    bits[(numbers * size) >> grams.table_bits] = True
    return bits


def alignments(part: bytes, grams: Grams) -> Iterator[list[int]]:
    """For each way in which a part of a text may stand to the stride, the numbers of the grams that are then there."""
    for shift in range(grams.stride):
        count = max(0, len(part) - shift - grams.size + grams.stride) // grams.stride
        yield _gram_numbers(part + bytes(_WORD), shift, np.empty(count, np.uint64), grams).tolist()


def pack(filters: Sequence[Bits]) -> bytes:
    """The filters of some row groups, each as long as the others: the bits of one place beside each other.

    So a place of all of them is one look at one page of memory.
    """
    return np.packbits(np.stack(filters, axis=1).ravel(), bitorder="little").tobytes()
