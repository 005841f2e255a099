"""Values in the text and the binary format of the PostgreSQL protocol, whole columns at a time.

No value passes through Python but intervals, numerics, bytea, uuid, addresses and arrays in binary. Source: the send
functions of PostgreSQL's types, and "Message Formats" of its manual.
"""

import math
import struct
from collections.abc import Callable, Iterator, Sequence
from decimal import Decimal
from itertools import islice, pairwise
from typing import Any, Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from query.fault import unsupported
from query.pg.network import parts, read_inet, width_of
from query.pg.oids import oid
from query.pg.text_input import read
from query.pg.types import INTERVAL_TYPE
from query.results.csv_rows import value_text
from query.results.row_bytes import COUNT_BYTES, HEAD_BYTES, Bytes, Cells, Fixed, Texts, rows_of_cells
from query.results.time_text import time_texts
from storage.exactly import exactly

NULL: Final = b"\xff\xff\xff\xff"
# Seconds and days from 1970 to 2000, where PostgreSQL counts from.
SECONDS: Final = 946_684_800
DAYS: Final = 10_957
NS_PER_US: Final = 1_000
BASE: Final = 10_000
BASE_DIGITS: Final = 4
# PGSQL_AF_INET and PGSQL_AF_INET6 (utils/inet.h).
_FAMILIES: Final = {4: 2, 6: 3}
_NUMBERS: Final = {"int2": ">i2", "int4": ">i4", "int8": ">i8", "float4": ">f4", "float8": ">f8"}


def text_cell(value: pl.Expr, dtype: pl.DataType, type_name: str, zone: str = "") -> pl.Expr:
    """The text of each value, an instant on the clock of `zone`; null stays null. PostgreSQL's times end at
    microseconds."""
    if isinstance(dtype, pl.Datetime):
        value, dtype = value.dt.cast_time_unit("us"), pl.Datetime("us", dtype.time_zone)
    return value_text(value, dtype, type_name, zone)


def texts_of(frame: pl.DataFrame, types: Sequence[str], zone: str = "") -> pl.DataFrame:
    """The text of each value of each column."""
    return frame.select(
        text_cell(exactly(name), dtype, type_name, zone).alias(str(at))
        for at, ((name, dtype), type_name) in enumerate(zip(frame.schema.items(), types, strict=True))
    )


def cells_of(frame: pl.DataFrame, types: Sequence[str], binary: Sequence[bool], zone: str = "") -> list[Cells]:
    """The cells of each column, in the binary format, which knows no zone, where `binary` says so."""
    texts = frame.select(
        text_cell(exactly(name), dtype, type_name, zone).alias(str(at))
        for at, ((name, dtype), type_name, is_binary) in enumerate(
            zip(frame.schema.items(), types, binary, strict=True)
        )
        if not (is_binary or isinstance(dtype, pl.Datetime))
    )
    columns = zip(frame.get_columns(), types, binary, strict=True)
    return [
        Texts(texts[str(at)])
        if str(at) in texts.columns
        else (binary_cells(column, type_name) if is_binary else _times(column, type_name, zone))
        for at, (column, type_name, is_binary) in enumerate(columns)
    ]


def _times(column: pl.Series, type_name: str, zone: str) -> Cells:
    return time_texts(column, zone) or _texts(column, type_name, zone)


def _texts(column: pl.Series, type_name: str, zone: str = "") -> Texts:
    return Texts(column.to_frame().select(text_cell(exactly(column.name), column.dtype, type_name, zone)).to_series())


def binary_cells(column: pl.Series, type_name: str) -> Cells:
    """The binary form of each value. Raises UnsupportedSQL for a type that has none here."""
    if isinstance(column.dtype, pl.List):
        return Bytes.of(_arrays(column, type_name))
    numbers = _numbers(column, type_name)
    if numbers is not None:
        return Fixed.of(numbers, column)
    match type_name:
        case "numeric":
            return Bytes.of(_each(column.cast(pl.String), numeric_bytes))
        case "interval":
            return Bytes.of(_each(column.cast(pl.String), interval_bytes))
        case "inet" | "cidr":
            return Bytes.of(_each(column, lambda text: inet_bytes(text, is_cidr=type_name == "cidr")))
        case "uuid":
            return Bytes.of(_each(column.cast(pl.String), lambda text: bytes.fromhex(text.replace("-", ""))))
        case "bytea":
            return Bytes.of(column.to_list())
        case "jsonb":
            return Texts(column.to_frame("v").select(pl.concat_str(pl.lit("\x01"), pl.col("v"))).to_series())
        case "record" | "tsvector" | "tsquery":
            raise unsupported(f"a {type_name} in binary format", None, "ask for it in text")
        case _:
            return _texts(column, type_name)


def _numbers(column: pl.Series, type_name: str) -> NDArray[Any] | None:
    """Values of a fixed size, big-endian, with anything for null; None for other types."""
    if type_name in _NUMBERS:
        return _filled(column).astype(_NUMBERS[type_name])
    match type_name:
        case "bool":
            return column.fill_null(value=False).to_numpy().astype(np.uint8)
        case "timestamp" | "timestamptz":
            return (_filled(column.dt.epoch("us")) - SECONDS * 1_000_000).astype(">i8")
        case "date":
            return (_filled(column.to_physical()) - DAYS).astype(">i4")
        case "time":
            return (_filled(column.to_physical()) // NS_PER_US).astype(">i8")
        case _:
            return None


def _filled(column: pl.Series) -> NDArray[Any]:
    kind = pl.Float64 if column.dtype.is_float() else pl.Int64
    return column.cast(kind).fill_null(0).to_numpy()


def _each(texts: pl.Series, write: Callable[[str], bytes]) -> list[bytes | None]:
    return [None if text is None else write(text) for text in texts.to_list()]


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


def inet_bytes(text: str, *, is_cidr: bool) -> bytes:
    """An address: family, bits of the mask, whether it is a cidr, size, bytes (network_send).

    >>> inet_bytes("10.0.0.1/8", is_cidr=False).hex()
    '020800040a000001'
    """
    family, address, bits = parts(read_inet(text))
    size = width_of(family) // 8
    return struct.pack("!BBBB", _FAMILIES[family], bits, is_cidr, size) + address.to_bytes(size)


def _arrays(column: pl.Series, type_name: str) -> list[bytes | None]:
    """array_send of each value."""
    element = type_name.rstrip("[]")
    flat = column
    while isinstance(flat.dtype, pl.List):
        flat = flat.filter(flat.list.len() > 0).explode()
    cells = iter(_framed(binary_cells(flat, element)))
    return [None if value is None else _array(value, cells, oid(element)) for value in column.to_list()]


def _framed(values: Cells) -> list[bytes]:
    """Each value behind its length."""
    rows, starts = rows_of_cells(b"D", [values])
    content, bounds = rows.tobytes(), [*starts.tolist(), rows.size]
    return [content[start + HEAD_BYTES + COUNT_BYTES : end] for start, end in pairwise(bounds)]


def _array(value: list[Any], cells: Iterator[bytes], element: int) -> bytes:
    """Dimensions, whether nulls are inside, the elements' type, size and lower bound of each dimension, the elements.

    Raises UnsupportedSQL for what is no array of PostgreSQL's, where all of a dimension have the same size.
    """
    shape, count = _shape(value), _leaves(value)
    if count == 0:
        return struct.pack("!iii", 0, 0, element)
    if math.prod(shape) != count:
        raise unsupported("an array of arrays of different lengths in binary format", None, "ask for it in text")
    items = list(islice(cells, count))
    head = struct.pack("!iii", len(shape), NULL in items, element)
    return head + b"".join(struct.pack("!ii", size, 1) for size in shape) + b"".join(items)


def _shape(value: object) -> list[int]:
    return [len(value), *_shape(value[0] if value else None)] if isinstance(value, list) else []


def _leaves(value: list[Any]) -> int:
    return sum(_leaves(each) if isinstance(each, list) else 1 for each in value)
