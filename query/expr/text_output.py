"""Values as PostgreSQL's text output shows them."""

import math
from dataclasses import replace

import polars as pl

from query import fault
from query.expr.call_context import CallContext
from query.expr.special_numbers import names, ordinary
from query.pg.intervals import format_interval
from query.pg.json_text import normalise
from query.pg.network import inet_text, with_mask
from query.pg.types import TEXT, PgType, leaf


def float_text(value: float) -> str:
    """A float8 in its shortest form: `1e+15`, `0.1`, `NaN`.

    >>> float_text(1e15)
    '1e+15'
    """
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    if value == 0:
        return "-0" if math.copysign(1, value) < 0 else "0"
    return _shown("-" if value < 0 else "", *_shortest(repr(abs(value))), 15)


def real_text(shortest: str) -> str:
    """A float4, given by the shortest digits that are it.

    >>> real_text("1e7"), real_text("0.1")
    ('1e+07', '0.1')
    """
    value = float(shortest)
    if math.isnan(value) or math.isinf(value) or value == 0:
        return float_text(value)
    return _shown("-" if value < 0 else "", *_shortest(shortest.lstrip("-")), 6)


def _shown(sign: str, digits: str, exponent: int, most: int) -> str:
    """Without an exponent up to so many digits before the point."""
    if -4 <= exponent < most:
        return sign + _fixed_notation(digits, exponent)
    mantissa = digits[0] + (f".{digits[1:]}" if len(digits) > 1 else "")
    return f"{sign}{mantissa}e{'-' if exponent < 0 else '+'}{abs(exponent):02d}"


def _shortest(text: str) -> tuple[str, int]:
    """The digits of a number's text, and its exponent."""
    mantissa, _, power = text.partition("e")
    whole, _, fraction = mantissa.partition(".")
    digits = (whole + fraction).lstrip("0")
    exponent = len(whole) - 1 + int(power or 0)
    if whole.strip("0") == "":
        exponent = -(len(fraction) - len(fraction.lstrip("0"))) - 1 + int(power or 0)
    return digits.rstrip("0") or "0", exponent


def _fixed_notation(digits: str, exponent: int) -> str:
    if exponent < 0:
        return "0." + "0" * (-exponent - 1) + digits
    whole = digits[: exponent + 1].ljust(exponent + 1, "0")
    fraction = digits[exponent + 1 :]
    return f"{whole}.{fraction}" if fraction else whole


def _float(context: CallContext, value: pl.Expr) -> pl.Expr:
    plain = ((value.abs() >= 1e-4) & (value.abs() < 1e15)) | (value == 0)
    simple = value.cast(pl.String).str.strip_suffix(".0")
    rest = context.rowwise(float_text, pl.when(~plain.fill_null(False)).then(value))
    return pl.when(plain).then(simple).otherwise(rest)


def _numeric(context: CallContext, value: pl.Expr, pg_type: PgType) -> pl.Expr:
    if not pg_type.exact:
        raise fault.unsupported(
            "the text of a numeric whose number of digits depends on the data",
            context.position,
            "round it first: round(x, 2)::text",
        )
    if pg_type.special:
        return pl.coalesce(names(value), _numeric(context, ordinary(value), replace(pg_type, special=False)))
    if pg_type.scale == 0:
        return value.cast(pl.String)
    return numeric_digits(value, pg_type.scale)


def numeric_digits(value: pl.Expr, scale: int) -> pl.Expr:
    """A numeric with exactly `scale` digits after the point."""
    unit = pl.lit(10**scale, dtype=pl.Int128)
    whole = (value.abs() // unit).cast(pl.String)
    fraction = (value.abs() % unit).cast(pl.String).str.zfill(scale)
    sign = pl.when(value < 0).then(pl.lit("-")).otherwise(pl.lit(""))
    return pl.when(value.is_not_null()).then(pl.concat_str([sign, whole, pl.lit("."), fraction]))


def _moment(value: pl.Expr, pattern: str, suffix: str, nanoseconds: bool) -> pl.Expr:
    """A time with as many digits of the second as it has."""
    fraction = value.dt.to_string("%.9f" if nanoseconds else "%.6f").str.strip_chars_end("0")
    fraction = pl.when(fraction == ".").then(pl.lit("")).otherwise(fraction)
    return pl.concat_str([value.dt.to_string(pattern), fraction]) + pl.lit(suffix)


def to_text(context: CallContext, value: pl.Expr, pg_type: PgType) -> pl.Expr:
    """The result of `value::text`."""
    if pg_type.element is not None:
        return _array(context, value, pg_type)
    match pg_type.name:
        case "text" | "unknown" | "json" | "uuid" | "tsvector" | "tsquery":
            return value
        case "inet" | "cidr":
            return replace(context, result=TEXT).rowwise(with_mask, value)
        case "jsonb":
            return context.rowwise(normalise, value)
        case "bpchar":
            return value.str.strip_chars_end(" ")
        case "bool":
            return pl.when(value).then(pl.lit("true")).when(~value).then(pl.lit("false"))
        case "float8":
            return _float(context, value)
        case "float4":
            return context.rowwise(real_text, value.cast(pl.String))
        case "numeric":
            return _numeric(context, value, pg_type)
        case "date":
            return value.dt.to_string("%Y-%m-%d")
        case "timestamp":
            return _moment(value, "%Y-%m-%d %H:%M:%S", "", pg_type.unit == "ns")
        case "timestamptz":
            return _moment(value, "%Y-%m-%d %H:%M:%S", "+00", pg_type.unit == "ns")
        case "time":
            return _moment(value, "%H:%M:%S", "", False)
        case "interval":
            return interval_text(context, value)
        case "bytea":
            return pl.lit("\\x") + value.bin.encode("hex")
        case "int2" | "int4" | "int8":
            return value.cast(pl.String)
        case "record":
            return _record(context, value, pg_type)
        case _:
            raise fault.unsupported(f"the text of {pg_type.sql_name}")


def output_text(context: CallContext, value: pl.Expr, pg_type: PgType) -> pl.Expr:
    """The value as its type's output function writes it, where a cast differs: `t` for true, blanks kept."""
    if pg_type.name == "bool":
        return pl.when(value).then(pl.lit("t")).when(~value).then(pl.lit("f"))
    if pg_type.name == "inet":
        return address_text(context, value)
    return value if pg_type.name == "bpchar" else to_text(context, value, pg_type)


def address_text(context: CallContext, value: pl.Expr) -> pl.Expr:
    """An inet as it is shown."""
    return replace(context, result=TEXT).rowwise(inet_text, value)


def interval_text(context: CallContext, value: pl.Expr) -> pl.Expr:
    parts = [value.struct.field(name) for name in ("months", "days", "us")]
    return context.rowwise(lambda months, days, us: format_interval((months, days, us)), *parts)


def _array(context: CallContext, value: pl.Expr, pg_type: PgType) -> pl.Expr:
    """`{a,NULL,"b c"}`."""
    element = leaf(pg_type)
    if element.name in ("record", "bytea"):
        raise fault.unsupported(f"the text of {pg_type.sql_name}")
    if element.name in _SHOWN:
        return context.rowwise(lambda items: array_text(items, element.name), value)
    return context.rowwise(lambda items: array_text(items, "text"), element_texts(context, value, pg_type))


def element_texts(context: CallContext, value: pl.Expr, pg_type: PgType) -> pl.Expr:
    """An array, of any number of dimensions, of its elements' texts."""
    if pg_type.element is None:
        return output_text(CallContext((pg_type,), TEXT, context.position), value, pg_type)
    return value.list.eval(element_texts(context, pl.element(), pg_type.element))


def _record(context: CallContext, value: pl.Expr, pg_type: PgType) -> pl.Expr:
    """`(1,,"b c")`: nothing for NULL (record_out)."""
    cells = [
        _record_cell(output_text(replace(context, types=(field,)), value.struct.field(f"f{index}"), field), field)
        for index, field in enumerate(pg_type.fields)
    ]
    inner = pl.concat_str(cells, separator=",") if cells else pl.lit("")
    return pl.when(value.is_not_null()).then(pl.concat_str([pl.lit("("), inner, pl.lit(")")]))


def _record_cell(text: pl.Expr, pg_type: PgType) -> pl.Expr:
    if pg_type.name in _PLAIN:
        return text.fill_null("")
    escaped = text.str.replace_all("\\", "\\\\", literal=True).str.replace_all('"', '""', literal=True)
    quoted = pl.concat_str([pl.lit('"'), escaped, pl.lit('"')])
    return pl.when(text.str.contains(r'^$|[(),"\\\s]')).then(quoted).otherwise(text).fill_null("")


_PLAIN = ("bool", "int2", "int4", "int8", "float4", "float8", "numeric", "date", "time", "uuid", "inet", "cidr")
"""Types whose text a record never quotes."""

_SHOWN = ("text", "int2", "int4", "int8", "bool", "float8")
"""Types whose elements are written one by one; others are made texts by Polars first."""


def array_text(items: list[object], element: str) -> str:
    """An array in PostgreSQL's notation."""
    return "{" + ",".join(_item(item, element) for item in items) + "}"


def _item(item: object, element: str) -> str:
    if item is None:
        return "NULL"
    if isinstance(item, list):
        return array_text(item, element)
    if isinstance(item, bool):
        return "t" if item else "f"
    if isinstance(item, float):
        return float_text(item)
    text = str(item)
    if element != "text":
        return text
    if text == "" or text.upper() == "NULL" or any(c in '{}",\\ \t\n\r\v\f' for c in text):
        return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'
    return text
