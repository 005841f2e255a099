"""Values in the text and the binary format of the PostgreSQL protocol, whole columns at a time.

Polars joins bytes (`+` of two binary expressions), so that no value passes through Python, except for intervals,
numerics and arrays in binary. Source: the send functions of PostgreSQL's types, and "Message Formats" of its manual.
"""

import struct
from decimal import Decimal
from typing import Final

import polars as pl

from query.fault import unsupported
from query.pg.oids import oid
from query.pg.text_input import read
from query.pg.types import INTERVAL_TYPE
from query.results.csv_rows import value_text

NULL: Final = b"\xff\xff\xff\xff"
# Seconds and days from 1970 to 2000, where PostgreSQL counts from.
SECONDS: Final = 946_684_800
DAYS: Final = 10_957
NS_PER_US: Final = 1_000
BASE: Final = 10_000
BASE_DIGITS: Final = 4
HALF: Final = 65_536
_HALVES: Final = pl.Series([struct.pack("!H", number) for number in range(HALF)], dtype=pl.Binary)
_INTEGERS: Final = {
    pl.Int8: (pl.UInt16, 2),
    pl.UInt8: (pl.UInt16, 2),
    pl.Int16: (pl.UInt16, 2),
    pl.Int32: (pl.UInt32, 4),
    pl.Int64: (pl.UInt64, 8),
}
_INTEGER_BYTES: Final = {"int2": 2, "int4": 4, "int8": 8}


def text_cell(value: pl.Expr, dtype: pl.DataType, type_name: str) -> pl.Expr:
    """The text of each value; null stays null. PostgreSQL's times end at microseconds."""
    if isinstance(dtype, pl.Datetime):
        value = value.dt.cast_time_unit("us")
    return value_text(value, dtype, type_name)


def text_bytes(value: pl.Expr, dtype: pl.DataType, type_name: str) -> pl.Expr:
    """The same as bytes."""
    return text_cell(value, dtype, type_name).cast(pl.Binary)


def binary_bytes(value: pl.Expr, dtype: pl.DataType, type_name: str) -> pl.Expr:
    """The binary form of each value; null stays null. Raises UnsupportedSQL for a type that has none here."""
    if isinstance(dtype, pl.List):
        return _array(value, dtype, type_name)
    match type_name:
        case "bool":
            return pl.when(value).then(pl.lit(b"\x01")).when(~value).then(pl.lit(b"\x00"))
        case "int2" | "int4" | "int8":
            return big_endian(value.cast(pl.Int64), _INTEGER_BYTES[type_name])
        case "float4" | "float8":
            form = "!f" if type_name == "float4" else "!d"
            return _each(value, struct.Struct(form).pack)
        case "timestamp" | "timestamptz":
            return big_endian(value.dt.epoch("us") - SECONDS * 1_000_000, 8)
        case "date":
            return big_endian(value.to_physical().cast(pl.Int64) - DAYS, 4)
        case "time":
            return big_endian(value.to_physical() // NS_PER_US, 8)
        case "numeric":
            return _each(value.cast(pl.String), numeric_bytes)
        case "interval":
            return _each(value.cast(pl.String), interval_bytes)
        case "jsonb":
            return pl.lit(b"\x01") + value.cast(pl.Binary)
        case "bytea":
            return value
        case "uuid":
            return value.cast(pl.String).str.replace_all("-", "", literal=True).str.decode("hex")
        case "record":
            raise unsupported("a record in binary format", None, "ask for it in text")
        case _:
            return text_bytes(value, dtype, type_name)


def with_length(value: pl.Expr) -> pl.Expr:
    """Each value behind its length, null as -1: a cell of a row."""
    framed = unsigned(value.bin.size().fill_null(0), 4) + value
    return pl.when(value.is_null()).then(pl.lit(NULL)).otherwise(framed)


def big_endian(value: pl.Expr, size: int) -> pl.Expr:
    """A signed number in so many bytes; its bits as an unsigned one's, whose high ones are left out."""
    return unsigned(value.cast(pl.UInt64, wrap_numerical=True), size)


def unsigned(value: pl.Expr, size: int) -> pl.Expr:
    """An unsigned number in so many bytes, most significant first, two at a time from a table."""
    table = pl.lit(_HALVES)
    steps = [pl.lit(1 << 16 * place, dtype=pl.UInt64) for place in reversed(range(size // 2))]
    halves = [table.gather(value.cast(pl.UInt64) // step % HALF) for step in steps]
    joined = halves[0]
    for half in halves[1:]:
        joined = joined + half
    return joined


def _each(value: pl.Expr, write: object) -> pl.Expr:
    return value.map_elements(write, return_dtype=pl.Binary)  # type: ignore[arg-type]


def numeric_bytes(text: str) -> bytes:
    """A numeric: digits of base 10,000, the weight of the first, sign, digits after the point (numeric_send).

    >>> numeric_bytes("-12345.60").hex()
    '0003000140000002000109291770'
    """
    return _finite(Decimal(text)) if text not in _SPECIAL else struct.pack("!hhHh", 0, 0, _SPECIAL[text], 0)


_SPECIAL: Final = {"NaN": 0xC000, "Infinity": 0xD000, "-Infinity": 0xF000}


def _finite(value: Decimal) -> bytes:
    sign, digits, exponent = value.as_tuple()
    scale = max(0, -int(exponent))
    whole = "".join(map(str, digits)) + "0" * max(0, int(exponent))
    before, after = (whole[:-scale], whole[-scale:].rjust(scale, "0")) if scale else (whole, "")
    before = before.lstrip("0")
    padded = before.rjust(-(-len(before) // BASE_DIGITS) * BASE_DIGITS, "0")
    groups = [int(padded[at : at + BASE_DIGITS]) for at in range(0, len(padded), BASE_DIGITS)]
    weight = len(groups) - 1
    groups += [int(after[at : at + BASE_DIGITS].ljust(BASE_DIGITS, "0")) for at in range(0, scale, BASE_DIGITS)]
    while groups and groups[-1] == 0:
        groups.pop()
    while groups and groups[0] == 0:
        groups.pop(0)
        weight -= 1
    head = struct.pack("!hhHh", len(groups), weight if groups else 0, 0x4000 if sign and groups else 0, scale)
    return head + struct.pack(f"!{len(groups)}h", *groups)


def interval_bytes(text: str) -> bytes:
    """An interval: microseconds, days, months (interval_send).

    >>> interval_bytes("1 mon 2 days 00:00:01").hex()
    '00000000000f42400000000200000001'
    """
    value = read(text, INTERVAL_TYPE)
    if not isinstance(value, tuple):
        raise TypeError("not an interval")
    months, days, microseconds = value
    return struct.pack("!qii", microseconds, days, months)


def _array(value: pl.Expr, dtype: pl.List, type_name: str) -> pl.Expr:
    """array_send: dimensions, whether nulls are inside, the elements' type, and the elements as cells."""
    inner = dtype.inner if isinstance(dtype.inner, pl.DataType) else dtype.inner()
    if isinstance(inner, pl.List):
        raise unsupported("an array of several dimensions in binary format", None, "ask for it in text")
    element = type_name.removesuffix("[]")
    number = oid(element)
    cells = value.list.eval(with_length(binary_bytes(pl.element(), inner, element)))
    return cells.map_elements(lambda items: _array_bytes(items.to_list(), number), return_dtype=pl.Binary)


def _array_bytes(items: list[bytes], element: int) -> bytes:
    if not items:
        return struct.pack("!iii", 0, 0, element)
    head = struct.pack("!iiiii", 1, NULL in items, element, len(items), 1)
    return head + b"".join(items)
