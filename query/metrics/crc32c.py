"""CRC-32C (Castagnoli, RFC 3720 appendix B.4), by which remote read guards its frames."""

from typing import Final

_POLYNOMIAL: Final = 0x82F63B78


def _entry(value: int) -> int:
    for _ in range(8):
        value = value >> 1 ^ (_POLYNOMIAL if value & 1 else 0)
    return value


_TABLE: Final = tuple(map(_entry, range(256)))


def crc32c(data: bytes) -> int:
    """The checksum.

    >>> hex(crc32c(b"123456789"))
    '0xe3069283'
    """
    value = 0xFFFFFFFF
    for byte in data:
        value = _TABLE[(value ^ byte) & 0xFF] ^ value >> 8
    return value ^ 0xFFFFFFFF
