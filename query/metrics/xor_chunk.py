"""Prometheus' XOR chunks: times as differences of differences, values as what changed in them (tsdb/chunkenc/xor.go,
after Facebook's Gorilla)."""

from collections.abc import Sequence
from typing import Final

_MASK: Final = 2**64 - 1
# Differences of differences: up to which size they take how many bits, and what stands before.
_SIZES: Final = ((14, 0b10, 2), (17, 0b110, 3), (20, 0b1110, 4))


class _Bits:
    """Bits, the first one highest."""

    def __init__(self) -> None:
        self.value, self.count = 0, 0

    def add(self, value: int, count: int) -> None:
        self.value = self.value << count | value & (1 << count) - 1
        self.count += count

    def content(self) -> bytes:
        padding = -self.count % 8
        return (self.value << padding).to_bytes((self.count + padding) // 8, "big")


def encode_chunk(times: Sequence[int], values: Sequence[int]) -> bytes:
    """Up to 65,535 samples; `values` are the 64 bits of each double. Two bytes of how many come first."""
    bits = _Bits()
    _add_bytes(bits, _signed_varint(times[0]))
    bits.add(values[0], 64)
    leading, trailing = 0xFF, 0
    delta = 0
    for position in range(1, len(times)):
        now = times[position] - times[position - 1]
        if position == 1:
            _add_bytes(bits, _varint(now))
        else:
            _add_difference(bits, now - delta)
        delta = now
        leading, trailing = _add_value(bits, values[position] ^ values[position - 1], leading, trailing)
    return len(times).to_bytes(2, "big") + bits.content()


def _add_difference(bits: _Bits, difference: int) -> None:
    if difference == 0:
        bits.add(0, 1)
        return
    for size, prefix, length in _SIZES:
        if -(1 << size - 1) + 1 <= difference <= 1 << size - 1:
            bits.add(prefix, length)
            bits.add(difference, size)
            return
    bits.add(0b1111, 4)
    bits.add(difference, 64)


def _add_value(bits: _Bits, changed: int, leading: int, trailing: int) -> tuple[int, int]:
    """Write what changed; in the window of the last change if it fits."""
    if changed == 0:
        bits.add(0, 1)
        return leading, trailing
    bits.add(1, 1)
    new_leading = min(64 - changed.bit_length(), 31)
    new_trailing = (changed & -changed).bit_length() - 1
    if leading != 0xFF and new_leading >= leading and new_trailing >= trailing:
        bits.add(0, 1)
        bits.add(changed >> trailing, 64 - leading - trailing)
        return leading, trailing
    significant = 64 - new_leading - new_trailing
    bits.add(1, 1)
    bits.add(new_leading, 5)
    # 64 is written as 0, since no change has none.
    bits.add(significant & 63, 6)
    bits.add(changed >> new_trailing, significant)
    return new_leading, new_trailing


def _add_bytes(bits: _Bits, content: bytes) -> None:
    bits.add(int.from_bytes(content, "big"), 8 * len(content))


def _signed_varint(value: int) -> bytes:
    return _varint((value << 1 ^ value >> 63) & _MASK)


def _varint(value: int) -> bytes:
    parts = bytearray()
    while value > 0x7F:
        parts.append(value & 0x7F | 0x80)
        value >>= 7
    parts.append(value)
    return bytes(parts)
