"""inet and cidr: networks that hold others, and the parts of an address."""

from collections.abc import Callable

import polars as pl

from query import fault
from query.expr.call_context import CallContext
from query.functions.registry import define
from query.pg import network
from query.pg.bad_values import BadLiteral

_FAMILY = "Network addresses"
_LEAST = -(2**63)


def _operator(symbol: str, summary: str, function: Callable[[bytes, bytes], bool]) -> None:
    @define(f"{symbol}(inet, inet) -> bool", summary, family=_FAMILY)
    def build(context: CallContext, left: pl.Expr, right: pl.Expr) -> pl.Expr:
        return context.rowwise(function, left, right)


_operator("<<", "Is contained in a network.", lambda left, right: network.contains(right, left, False))
_operator("<<=", "Is contained in a network or equal.", lambda left, right: network.contains(right, left, True))
_operator(">>", "Contains a network.", lambda left, right: network.contains(left, right, False))
_operator(">>=", "Contains a network or is equal.", lambda left, right: network.contains(left, right, True))
_operator(
    "&&",
    "Has addresses in common with a network.",
    lambda left, right: network.contains(left, right, True) or network.contains(right, left, True),
)
_operator("inet_same_family", "Are both IPv4, or both IPv6.", lambda left, right: left[0] == right[0])


def _part(signature: str, summary: str, function: Callable[[bytes], object]) -> None:
    @define(signature, summary, family=_FAMILY)
    def build(context: CallContext, value: pl.Expr) -> pl.Expr:
        return context.rowwise(function, value)


def _whole(value: bytes, address: int) -> bytes:
    """An address of the same family, without a mask."""
    return network.held(value[0], address, network.width_of(value[0]))


def _host_mask(value: bytes) -> int:
    return network.mask_of(value) ^ ((1 << network.width_of(value[0])) - 1)


def _broadcast(value: bytes) -> bytes:
    family, address, bits = network.parts(value)
    return network.held(family, address | _host_mask(value), bits)


_part("host(inet) -> text", "The address without its mask.", network.host)
_part("abbrev(inet) -> text", "The address in short.", network.inet_text)
_part("abbrev(cidr) -> text", "The network in short.", network.abbreviated)
_part("masklen(inet) -> int4", "Bits of the mask.", lambda value: network.parts(value)[2])
_part("family(inet) -> int4", "4 or 6.", lambda value: value[0])
_part("network(inet) -> cidr", "The network of the address.", network.network_of)
_part("netmask(inet) -> inet", "The mask.", lambda value: _whole(value, network.mask_of(value)))
_part("hostmask(inet) -> inet", "The bits beyond the mask.", lambda value: _whole(value, _host_mask(value)))
_part("broadcast(inet) -> inet", "The last address of the network.", _broadcast)


@define("set_masklen(inet, int4) -> inet", "The address with a mask of so many bits; all for -1.", family=_FAMILY)
def set_masklen(context: CallContext, value: pl.Expr, bits: pl.Expr) -> pl.Expr:
    def changed(one: bytes, count: int) -> bytes:
        family, address, _ = network.parts(one)
        width = network.width_of(family)
        if not -1 <= count <= width:
            raise BadLiteral(fault.INVALID_PARAMETER, f"invalid mask length: {count}")
        return network.held(family, address, width if count == -1 else count)

    return context.rowwise(changed, value, bits)


def _moved(value: bytes, distance: int) -> bytes:
    family, address, bits = network.parts(value)
    if not 0 <= address + distance < 1 << network.width_of(family):
        raise BadLiteral(fault.NUMERIC_OUT_OF_RANGE, "result is out of range")
    return network.held(family, address + distance, bits)


@define("+(inet, int8) -> inet", "A later address.", family=_FAMILY, mirrored="+")
def later(context: CallContext, value: pl.Expr, distance: pl.Expr) -> pl.Expr:
    return context.rowwise(_moved, value, distance)


@define("-(inet, int8) -> inet", "An earlier address.", family=_FAMILY)
def earlier(context: CallContext, value: pl.Expr, distance: pl.Expr) -> pl.Expr:
    def moved(one: bytes, count: int) -> bytes:
        if count == _LEAST:
            raise BadLiteral(fault.NUMERIC_OUT_OF_RANGE, "result is out of range")
        return _moved(one, -count)

    return context.rowwise(moved, value, distance)


@define("-(inet, inet) -> int8", "Addresses between.", family=_FAMILY)
def distance(context: CallContext, left: pl.Expr, right: pl.Expr) -> pl.Expr:
    def between(one: bytes, other: bytes) -> int:
        if one[0] != other[0]:
            raise BadLiteral(fault.INVALID_PARAMETER, "cannot subtract inet values of different sizes")
        count = network.parts(one)[1] - network.parts(other)[1]
        if not -(2**63) <= count < 2**63:
            raise BadLiteral(fault.NUMERIC_OUT_OF_RANGE, "result is out of range")
        return count

    return context.rowwise(between, left, right)


@define("inet_merge(inet, inet) -> cidr", "The smallest network that has both.", family=_FAMILY)
def merge_networks(context: CallContext, left: pl.Expr, right: pl.Expr) -> pl.Expr:
    def merged(one: bytes, other: bytes) -> bytes:
        (family, address, bits), (other_family, second, other_bits) = network.parts(one), network.parts(other)
        if family != other_family:
            raise BadLiteral(fault.INVALID_PARAMETER, "cannot merge addresses from different families")
        common = network.width_of(family) - (address ^ second).bit_length()
        return network.network_of(network.held(family, address, min(bits, other_bits, common)))

    return context.rowwise(merged, left, right)
