"""inet and cidr texts, in and out. An address is held as bytes that sort as PostgreSQL sorts addresses: the family, the
network, the length of its mask, the address."""

import ipaddress
import re
from typing import Final

_WIDTHS: Final = {4: 4, 6: 16}
_QUAD: Final = re.compile(r"[0-9]+(?:\.[0-9]+){3}")
"""An address of IPv4, whose numbers may have zeros before them."""
_PARTIAL: Final = re.compile(r"(\d{1,3}(?:\.\d{1,3}){0,3})(?:/(\d{1,3}))?")
_CLASSES: Final = ((240, 32), (224, 8), (192, 24), (128, 16), (0, 8))
"""The mask of an address without one, by its first byte."""


class BadAddress(ValueError):
    """The text is no address; the message is PostgreSQL's."""


def held(family: int, address: int, bits: int) -> bytes:
    """The bytes of an address with a mask of so many bits."""
    width = _WIDTHS[family]
    mask = _mask(width * 8, bits)
    network, whole = (address & mask).to_bytes(width, "big"), address.to_bytes(width, "big")
    return bytes([family]) + network + bytes([bits]) + whole


def parts(value: bytes) -> tuple[int, int, int]:
    """The family, the address and the bits of the mask.

    >>> parts(read_inet("10.0.0.1/8")) == (4, 0x0A000001, 8)
    True
    """
    width = _WIDTHS[value[0]]
    return value[0], int.from_bytes(value[2 + width :], "big"), value[1 + width]


def width_of(family: int) -> int:
    """Bits of an address."""
    return _WIDTHS[family] * 8


def _mask(width: int, bits: int) -> int:
    return ((1 << bits) - 1) << (width - bits)


def mask_of(value: bytes) -> int:
    """The mask as a number."""
    family, _, bits = parts(value)
    return _mask(width_of(family), bits)


def network_of(value: bytes) -> bytes:
    """The network that an address is in."""
    family, address, bits = parts(value)
    return held(family, address & mask_of(value), bits)


def read_inet(text: str) -> bytes:
    """The address that `text` spells. Raises BadAddress."""
    address, _, mask = text.partition("/")
    if "%" in text:
        raise _bad(text, "inet")
    if _QUAD.fullmatch(address):
        address = ".".join(part.lstrip("0") or "0" for part in address.split("."))
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError as error:
        raise _bad(text, "inet") from error
    width = parsed.max_prefixlen
    bits = width if "/" not in text else int(mask) if mask.isascii() and mask.isdigit() else width + 1
    if bits > width:
        raise _bad(text, "inet")
    return held(parsed.version, int(parsed), bits)


def read_cidr(text: str) -> bytes:
    """The network that `text` spells; of IPv4 the bytes at its end may be missing."""
    partial = _PARTIAL.fullmatch(text)
    if partial is None:
        value = read_inet(text) if ":" in text else _refuse(text)
    else:
        numbers = [int(part) for part in partial[1].split(".")]
        if any(number > 255 for number in numbers):
            raise _bad(text, "cidr")
        by_class = next(bits for least, bits in _CLASSES if numbers[0] >= least)
        bits = int(partial[2]) if partial[2] else max(by_class, len(numbers) * 8)
        if bits > 32 or len(numbers) * 8 < min(bits, 32) - 31:
            raise _bad(text, "cidr")
        value = held(4, int.from_bytes(bytes([*numbers, *[0] * (4 - len(numbers))]), "big"), bits)
    if network_of(value) != value:
        raise BadAddress(f'invalid cidr value: "{text[:100]}"')
    return value


def _refuse(text: str) -> bytes:
    raise _bad(text, "cidr")


def _bad(text: str, type_name: str) -> BadAddress:
    return BadAddress(f'invalid input syntax for type {type_name}: "{text[:100]}"')


def host(value: bytes) -> str:
    """The address alone."""
    family, address, _ = parts(value)
    if family == 4:
        return str(ipaddress.IPv4Address(address))
    if address >> 32 in (0, 0xFFFF) and address >> 16:
        return f"::{'ffff:' if address >> 32 else ''}{ipaddress.IPv4Address(address & 0xFFFFFFFF)}"
    return str(ipaddress.IPv6Address(address))


def with_mask(value: bytes) -> str:
    """The address with the bits of its mask."""
    return f"{host(value)}/{parts(value)[2]}"


def inet_text(value: bytes) -> str:
    """An inet as PostgreSQL shows it: without a mask of all bits.

    >>> inet_text(read_inet("10.0.0.1/32")), inet_text(read_inet("::ffff:1.2.3.4/96"))
    ('10.0.0.1', '::ffff:1.2.3.4/96')
    """
    family, _, bits = parts(value)
    return host(value) if bits == width_of(family) else with_mask(value)


def abbreviated(value: bytes) -> str:
    """An IPv4 cidr without the bytes beyond its mask."""
    _, address, bits = parts(value)
    numbers = address.to_bytes(4, "big")[: max((bits + 7) // 8, 1)]
    return f"{'.'.join(map(str, numbers))}/{bits}"


def contains(outer: bytes, inner: bytes, or_equals: bool) -> bool:
    """Whether the network of `outer` has that of `inner` in it."""
    family, address, bits = parts(outer)
    other_family, other, other_bits = parts(inner)
    if family != other_family or bits > other_bits or (bits == other_bits and not or_equals):
        return False
    mask = _mask(width_of(family), bits)
    return address & mask == other & mask
