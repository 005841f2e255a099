"""Casts: every pair of types that PostgreSQL converts between, with its rounding and its errors."""

from collections.abc import Callable
from decimal import Decimal
from typing import Final

import polars as pl

from query import fault
from query.expr.call_context import CallContext
from query.expr.checked_arithmetic import checked_int, rescale, to_float, to_numeric
from query.expr.interval_fields import interval_parts
from query.expr.row_errors import declare_row_error, declared_error
from query.expr.special_numbers import is_special, ordinary
from query.expr.text_output import to_text
from query.pg.bad_values import BadLiteral, UnsupportedLiteral
from query.pg.intervals import IntervalOutOfRange, cut_interval
from query.pg.json_text import parse_json
from query.pg.network import network_of
from query.pg.special_numbers import NAN
from query.pg.text_input import read, read_numeric
from query.pg.types import FLOATS, INTEGERS, INTERVAL_TYPE, NUMBERS, NUMERIC_DIGITS, TIMESTAMPS, PgType
from query.plan.tree import Cast

_OUT_OF_RANGE: Final = {"int2": "int2_range", "int4": "int4_range", "int8": "int8_range"}
_SIZES: Final = {"int2": 2, "int4": 4, "int8": 8}
declare_row_error("numeric_field", fault.NUMERIC_OUT_OF_RANGE, "numeric field overflow")


def convert(context: CallContext, value: pl.Expr, cast: Cast) -> pl.Expr:
    """`value` in the cast's type, with its modifiers applied."""
    source, target = cast.value.type, cast.type
    if target.name == "numeric" and cast.modifiers and cast.modifiers[1] < 0:
        return _to_tens(context, value, source, *cast.modifiers)
    result = _convert(context, value, source, target, cast)
    if cast.character:
        result = result.str.slice(0, cast.modifiers[0])
        return result.str.pad_end(cast.modifiers[0], " ") if cast.character == "bpchar" else result
    if target.name == "numeric" and cast.modifiers:
        return _limited(context, result, target, cast.modifiers[0])
    if cast.modifiers and target.name in (*TIMESTAMPS, "time"):
        return _cut(context, result, target, cast.modifiers[0])
    if cast.modifiers and target.name == "interval":
        return _cut_interval(context, result, cast.modifiers)
    return result


def _limited(context: CallContext, value: pl.Expr, target: PgType, precision: int) -> pl.Expr:
    """numeric(precision, scale): NaN fits into any, infinity into none."""
    overflows = value.abs() >= pl.lit(10**precision, dtype=pl.Int128)
    if target.special:
        overflows &= value != pl.lit(NAN, dtype=pl.Int128)
    elif precision == NUMERIC_DIGITS:
        return value
    return context.fail_where(value, overflows, "numeric_field")


def _cut_interval(context: CallContext, value: pl.Expr, modifiers: tuple[int, ...]) -> pl.Expr:
    """interval day, interval(p): without smaller fields, rounded to p digits of the second."""

    def cut(months: int, days: int, us: int) -> object:
        try:
            return to_stored(cut_interval((months, days, us), *modifiers), INTERVAL_TYPE)
        except IntervalOutOfRange as error:
            raise declared_error("interval_range", context.position) from error

    return context.rowwise(cut, *interval_parts(value))


def _to_tens(context: CallContext, value: pl.Expr, source: PgType, precision: int, scale: int) -> pl.Expr:
    """numeric(precision, -n): rounded to the n-th digit before the point."""
    limit = pl.lit(10**precision, dtype=pl.Int128)
    tens = rescale(context, value, source.scale - scale, 0)
    return context.fail_where(tens, tens.abs() >= limit, "numeric_field") * pl.lit(10**-scale, dtype=pl.Int128)


def _convert(context: CallContext, value: pl.Expr, source: PgType, target: PgType, cast: Cast) -> pl.Expr:
    if source.element is not None and target.element is not None:
        inner = CallContext((source.element,), target.element, context.position)
        return context.nullify_unneeded(value).list.eval(
            _convert(inner, pl.element(), source.element, target.element, cast)
        )
    if source == target:
        return value
    if target.name in ("text", "bpchar"):
        return to_text(context, value, source)
    if source.name in ("text", "bpchar"):
        return _from_text(context, value, target, cast.lenient)
    if (source.name, target.name) == ("cidr", "inet"):
        return value
    if (source.name, target.name) == ("inet", "cidr"):
        return context.rowwise(network_of, value)
    if source.name in NUMBERS and target.name in NUMBERS:
        return _number(context, value, source, target, cast.lenient)
    conversion = _OTHERS.get((source.name, target.name))
    if conversion is None:
        raise fault.unsupported(f"a cast from {source.sql_name} to {target.sql_name}", cast.position)
    return conversion(context, value, target)


def _number(context: CallContext, value: pl.Expr, source: PgType, target: PgType, lenient: bool) -> pl.Expr:
    if source.special and target.name in INTEGERS:
        value = ordinary(context.fail_where(value, is_special(value), "nan_numeric"))
    if target.name == "numeric":
        return to_numeric(context, value, source, target)
    if target.name == "float8":
        return to_float(value, source)
    if target.name == "float4":
        return to_float(value, source).cast(pl.Float32)
    if source.name == "numeric":
        value = rescale(context, value, source.scale, 0)
    elif source.name in FLOATS:
        value = value.round(0, mode="half_to_even")
        value = context.fail_where(value, value.is_nan() | value.is_infinite(), _OUT_OF_RANGE[target.name])
    return value.cast(target.polars, strict=False) if lenient else checked_int(context, value, target)


def _from_text(context: CallContext, value: pl.Expr, target: PgType, lenient: bool) -> pl.Expr:
    fast = _fast_read(value, target)
    if fast is None:
        return context.rowwise(_reader(target, lenient), value)
    rest = pl.when(fast.is_null() & value.is_not_null()).then(value)
    if lenient and target.name in INTEGERS:
        return fast
    return pl.coalesce(fast, context.rowwise(_reader(target, lenient), rest))


def _fast_read(value: pl.Expr, target: PgType) -> pl.Expr | None:
    """The common spellings, without Python; null for anything else."""
    stripped = value.str.strip_chars(" \t\n\r\v\f")
    if target.name in INTEGERS:
        return stripped.cast(target.polars, strict=False)
    if target.name == "float8":
        plain = stripped.str.contains(r"^[-+]?\d{1,15}(\.\d{1,15})?$")
        return pl.when(plain).then(stripped).cast(pl.Float64, strict=False)
    if target.name in TIMESTAMPS and target.unit == "us":
        plain = stripped.str.contains(r"^[12]\d{3}-\d\d-\d\d[ T]\d\d:\d\d:\d\d(\.\d{1,6})?$")
        text = pl.when(plain).then(stripped.str.replace("T", " ", literal=True))
        moment = text.str.to_datetime("%Y-%m-%d %H:%M:%S%.f", time_unit="us", strict=False)
        return moment.dt.replace_time_zone("UTC") if target.name == "timestamptz" else moment
    return None


def _reader(target: PgType, lenient: bool) -> Callable[[str], object]:
    def strict(text: str) -> object:
        if target.name == "numeric":
            return _numeric(text, target)
        return to_stored(read(text, target), target)

    def forgiving(text: str) -> object:
        try:
            return strict(text)
        except (BadLiteral, UnsupportedLiteral):
            return None

    return forgiving if lenient else strict


def _numeric(text: str, target: PgType) -> int:
    number = read_numeric(text, target)
    if not target.exact and number.scale > target.scale:
        raise UnsupportedLiteral(f"a numeric with more than {target.scale} digits after the point")
    return number.at_scale(target.scale)


def to_stored(value: object, pg_type: PgType) -> object:
    """A read value as a Polars series takes it."""
    if pg_type.name == "interval" and isinstance(value, tuple):
        return dict(zip(("months", "days", "us"), value, strict=True))
    if pg_type.name == "time" and isinstance(value, int):
        return value * 1000
    return list(value) if isinstance(value, tuple) else value


def _cut(context: CallContext, value: pl.Expr, pg_type: PgType, digits: int) -> pl.Expr:
    """timestamp(p): rounded to p digits of the second, half of a unit away from the start of the year 2000
    (AdjustTimestampForTypmod)."""
    if digits >= 6:
        return value
    per_second = 10**9 if pg_type.unit == "ns" or pg_type.name == "time" else 10**6
    unit: int = per_second // 10**digits
    number, half = value.to_physical(), unit // 2
    rounded = (number + half) // unit * unit
    if pg_type.name == "time":
        rounded = context.fail_where(rounded, rounded >= _DAY_NS, "end_of_day")
    else:
        rounded = pl.when(number < _YEAR_2000 * per_second).then(-((half - number) // unit * unit)).otherwise(rounded)
    return rounded.cast(pg_type.polars)


_DAY_NS: Final = 86_400 * 10**9
_YEAR_2000: Final = 946_684_800
declare_row_error("end_of_day", fault.FEATURE_NOT_SUPPORTED, "the time 24:00:00 is not supported")


def _date_to_moment(context: CallContext, value: pl.Expr, target: PgType) -> pl.Expr:
    moment = value.cast(pl.Datetime("ns" if target.unit == "ns" else "us"))
    return moment.dt.replace_time_zone("UTC") if target.name == "timestamptz" else moment


def _to_utc(context: CallContext, value: pl.Expr, target: PgType) -> pl.Expr:
    return value.dt.replace_time_zone("UTC").cast(target.polars)


def _to_naive(context: CallContext, value: pl.Expr, target: PgType) -> pl.Expr:
    return value.dt.replace_time_zone(None).cast(target.polars)


def _unit(context: CallContext, value: pl.Expr, target: PgType) -> pl.Expr:
    return value.cast(target.polars)


def _interval_of_time(context: CallContext, value: pl.Expr, target: PgType) -> pl.Expr:
    us = value.to_physical() // 1000
    zero = pl.lit(0, dtype=pl.Int32)
    interval = pl.struct(zero.alias("months"), zero.alias("days"), us.alias("us"))
    return pl.when(value.is_not_null()).then(interval)


def _time_of_interval(context: CallContext, value: pl.Expr, target: PgType) -> pl.Expr:
    us = value.struct.field("us") % 86_400_000_000
    return (us * 1000).cast(pl.Time)


def _json_number(context: CallContext, value: pl.Expr, target: PgType) -> pl.Expr:
    def read_number(text: str) -> object:
        parsed = parse_json(text)
        if isinstance(parsed, bool) or not isinstance(parsed, int | Decimal):
            raise BadLiteral(fault.INVALID_PARAMETER, f"cannot cast jsonb to type {target.sql_name}")
        if target.name in INTEGERS:
            return read_numeric(str(parsed), target).at_scale(0)
        return _numeric(str(parsed), target) if target.name == "numeric" else float(parsed)

    def read_bool(text: str) -> object:
        parsed = parse_json(text)
        if not isinstance(parsed, bool):
            raise BadLiteral(fault.INVALID_PARAMETER, "cannot cast jsonb to type boolean")
        return parsed

    present = pl.when(value != "null").then(value)
    return context.rowwise(read_bool if target.name == "bool" else read_number, present)


def _bytes_of(context: CallContext, value: pl.Expr, target: PgType) -> pl.Expr:
    """An integer in as many bytes as its type has, the first of them the highest."""
    size = _SIZES[context.types[0].name]
    return context.rowwise(lambda number: number.to_bytes(size, "big", signed=True), value)


def _number_of(context: CallContext, value: pl.Expr, target: PgType) -> pl.Expr:
    """The integer that bytes are; the highest bit is a sign where there are as many as the type has."""

    def read_bytes(data: bytes) -> int:
        if len(data) > _SIZES[target.name]:
            raise declared_error(_OUT_OF_RANGE[target.name], context.position)
        return int.from_bytes(data, "big", signed=len(data) == _SIZES[target.name])

    return context.rowwise(read_bytes, value)


def _normalise(context: CallContext, value: pl.Expr, target: PgType) -> pl.Expr:
    return context.rowwise(_reader(target, False), value)


_OTHERS: Final[dict[tuple[str, str], Callable[[CallContext, pl.Expr, PgType], pl.Expr]]] = {
    ("bool", "int4"): lambda context, value, target: value.cast(pl.Int32),
    ("int4", "bool"): lambda context, value, target: value != 0,
    ("date", "timestamp"): _date_to_moment,
    ("date", "timestamptz"): _date_to_moment,
    ("timestamp", "timestamptz"): _to_utc,
    ("timestamptz", "timestamp"): _to_naive,
    ("timestamp", "timestamp"): _unit,
    ("timestamptz", "timestamptz"): _unit,
    ("timestamp", "date"): lambda context, value, target: value.dt.date(),
    ("timestamptz", "date"): lambda context, value, target: value.dt.date(),
    ("timestamp", "time"): lambda context, value, target: value.dt.time(),
    ("timestamptz", "time"): lambda context, value, target: value.dt.time(),
    ("time", "interval"): _interval_of_time,
    ("interval", "time"): _time_of_interval,
    ("json", "jsonb"): _normalise,
    ("jsonb", "json"): lambda context, value, target: value,
    **{(name, "bytea"): _bytes_of for name in INTEGERS},
    **{("bytea", name): _number_of for name in INTEGERS},
    **{("jsonb", name): _json_number for name in (*NUMBERS, "bool")},
}
