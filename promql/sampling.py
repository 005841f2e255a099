"""Where in [0, 1) a series falls for limit_ratio: the hash of its labels, as Prometheus computes it."""

import struct
from typing import Final

from promql.labels import Labels

_MASK: Final = 2**64 - 1
# The primes of xxHash 64 (its specification, section "XXH64 algorithm").
_P1: Final = 0x9E3779B185EBCA87
_P2: Final = 0xC2B2AE3D27D4EB4F
_P3: Final = 0x165667B19E3779F9
_P4: Final = 0x85EBCA77C2B2AE63
_P5: Final = 0x27D4EB2F165667C5
_STRIPE: Final = 32


def offset_of(labels: Labels) -> float:
    """HashRatioSampler.SampleOffset, over labels as labels_stringlabels.go lays them out."""
    data = b"".join(_sized(text.encode()) for pair in labels for text in pair)
    return xxh64(data) / float(_MASK)


def _sized(text: bytes) -> bytes:
    size = len(text)
    return (bytes([size]) if size < 255 else b"\xff" + size.to_bytes(3, "little")) + text


def xxh64(data: bytes) -> int:
    """xxHash 64 with seed 0.

    >>> hex(xxh64(b""))
    '0xef46db3751d8e999'
    """
    rest = data
    if len(data) >= _STRIPE:
        value, rest = _stripes(data)
    else:
        value = _P5
    value = (value + len(data)) & _MASK
    while len(rest) >= 8:
        value = _rotated(value ^ _round(0, struct.unpack("<Q", rest[:8])[0]), 27) * _P1 + _P4 & _MASK
        rest = rest[8:]
    if len(rest) >= 4:
        value = _rotated(value ^ struct.unpack("<I", rest[:4])[0] * _P1 & _MASK, 23) * _P2 + _P3 & _MASK
        rest = rest[4:]
    for byte in rest:
        value = _rotated(value ^ byte * _P5 & _MASK, 11) * _P1 & _MASK
    for shift, prime in ((33, _P2), (29, _P3), (32, 1)):
        value = (value ^ value >> shift) * prime & _MASK
    return value


def _stripes(data: bytes) -> tuple[int, bytes]:
    lanes = [(_P1 + _P2) & _MASK, _P2, 0, -_P1 & _MASK]
    end = len(data) - len(data) % _STRIPE
    for at in range(0, end, _STRIPE):
        words = struct.unpack("<4Q", data[at : at + _STRIPE])
        lanes = [_round(lane, word) for lane, word in zip(lanes, words, strict=True)]
    value = sum(_rotated(lane, shift) for lane, shift in zip(lanes, (1, 7, 12, 18), strict=True)) & _MASK
    for lane in lanes:
        value = ((value ^ _round(0, lane)) * _P1 + _P4) & _MASK
    return value, data[end:]


def _round(lane: int, word: int) -> int:
    return _rotated(lane + word * _P2 & _MASK, 31) * _P1 & _MASK


def _rotated(value: int, count: int) -> int:
    value &= _MASK
    return (value << count | value >> (64 - count)) & _MASK
