"""Bits of Prometheus' chunks, the first one highest (tsdb/chunkenc/bstream.go), and doubles as what changed in them
(xor.go, after Facebook's Gorilla)."""

from dataclasses import dataclass
from typing import Final

# How many bits wait before they become bytes: an integer that grows with the chunk costs the square of its length.
_BITS_AT_ONCE: Final = 4_096
# No change has been written yet, so there is no window to write the next one in.
_NO_WINDOW: Final = 0xFF


class BitWriter:
    """Bits, the first one highest."""

    def __init__(self) -> None:
        self._written = bytearray()
        self._waiting, self._count = 0, 0

    def add(self, value: int, count: int) -> None:
        """The lowest `count` bits of the value."""
        self._waiting = self._waiting << count | value & (1 << count) - 1
        self._count += count
        if self._count >= _BITS_AT_ONCE:
            self._flush()

    def add_bytes(self, content: bytes) -> None:
        self.add(int.from_bytes(content, "big"), 8 * len(content))

    def content(self) -> bytes:
        """What was added, filled up with zeros to whole bytes."""
        padding = -self._count % 8
        rest = (self._waiting << padding).to_bytes((self._count + padding) // 8, "big")
        return bytes(self._written) + rest

    def _flush(self) -> None:
        kept = self._count % 8
        self._written += (self._waiting >> kept).to_bytes(self._count // 8, "big")
        self._waiting, self._count = self._waiting & (1 << kept) - 1, kept


def is_in_bits(value: int, size: int) -> bool:
    """Whether a signed number takes so many bits (bstream.go, bitRange)."""
    return -(1 << size - 1) + 1 <= value <= 1 << size - 1


@dataclass(slots=True)
class ChangingDouble:
    """A double, as its 64 bits, and the window in which its last change was written (xorValue)."""

    bits: int
    leading: int = _NO_WINDOW
    trailing: int = 0

    def write(self, writer: BitWriter, bits: int) -> None:
        """What changed; in the window of the last change if it fits."""
        changed, self.bits = bits ^ self.bits, bits
        if changed == 0:
            writer.add(0, 1)
            return
        writer.add(1, 1)
        leading = min(64 - changed.bit_length(), 31)
        trailing = (changed & -changed).bit_length() - 1
        if self.leading != _NO_WINDOW and leading >= self.leading and trailing >= self.trailing:
            writer.add(0, 1)
            writer.add(changed >> self.trailing, 64 - self.leading - self.trailing)
            return
        self.leading, self.trailing = leading, trailing
        significant = 64 - leading - trailing
        writer.add(1, 1)
        writer.add(leading, 5)
        # 64 is written as 0, since no change has none.
        writer.add(significant & 63, 6)
        writer.add(changed >> trailing, significant)
