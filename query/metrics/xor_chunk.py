"""Prometheus' XOR chunks: times as differences of differences, values as changes of bits (tsdb/chunkenc/xor.go)."""

from collections.abc import Sequence
from typing import Final

from query.metrics.bit_writer import BitWriter, ChangingDouble, is_in_bits

_MASK: Final = 2**64 - 1
# Differences of differences: up to which size they take how many bits, and what stands before.
_SIZES: Final = ((14, 0b10, 2), (17, 0b110, 3), (20, 0b1110, 4))


def encode_chunk(times: Sequence[int], values: Sequence[int]) -> bytes:
    """Up to 65,535 samples; `values` are the 64 bits of each double. Two bytes of how many come first."""
    bits = BitWriter()
    bits.add_bytes(_signed_varint(times[0]))
    bits.add(values[0], 64)
    value = ChangingDouble(values[0])
    delta = 0
    for position in range(1, len(times)):
        now = times[position] - times[position - 1]
        if position == 1:
            bits.add_bytes(_varint(now))
        else:
            _add_difference(bits, now - delta)
        delta = now
        value.write(bits, values[position])
    return len(times).to_bytes(2, "big") + bits.content()


def _add_difference(bits: BitWriter, difference: int) -> None:
    if difference == 0:
        bits.add(0, 1)
        return
    for size, prefix, length in _SIZES:
        if is_in_bits(difference, size):
            bits.add(prefix, length)
            bits.add(difference, size)
            return
    bits.add(0b1111, 4)
    bits.add(difference, 64)


def _signed_varint(value: int) -> bytes:
    return _varint((value << 1 ^ value >> 63) & _MASK)


def _varint(value: int) -> bytes:
    parts = bytearray()
    while value > 0x7F:
        parts.append(value & 0x7F | 0x80)
        value >>= 7
    parts.append(value)
    return bytes(parts)
