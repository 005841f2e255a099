"""Errors that depend on the data: raised inside a running plan, and turned back into ours when they surface.

Polars has no expression that raises. A strict cast of a negative number to an unsigned one does, its message shows the
number, and it costs little; so a trap casts minus a code, and `translate` reads the code from the message.
"""

import re
from typing import Final

import polars as pl

from errors import InternalError, QueryTooLarge, WeirError
from query import fault

FAULTS: Final[dict[str, tuple[str, str]]] = {
    "division_by_zero": (fault.DIVISION_BY_ZERO, "division by zero"),
    "int2_range": (fault.NUMERIC_OUT_OF_RANGE, "smallint out of range"),
    "int4_range": (fault.NUMERIC_OUT_OF_RANGE, "integer out of range"),
    "int8_range": (fault.NUMERIC_OUT_OF_RANGE, "bigint out of range"),
    "numeric_range": (fault.FEATURE_NOT_SUPPORTED, "a number of more than 38 digits is not supported"),
    "numeric_field": (fault.NUMERIC_OUT_OF_RANGE, "numeric field overflow"),
    "float_overflow": (fault.NUMERIC_OUT_OF_RANGE, "value out of range: overflow"),
    "float_underflow": (fault.NUMERIC_OUT_OF_RANGE, "value out of range: underflow"),
    "negative_sqrt": (fault.INVALID_POWER_ARGUMENT, "cannot take square root of a negative number"),
    "log_zero": (fault.INVALID_LOG_ARGUMENT, "cannot take logarithm of zero"),
    "log_negative": (fault.INVALID_LOG_ARGUMENT, "cannot take logarithm of a negative number"),
    "power_zero": (fault.INVALID_POWER_ARGUMENT, "zero raised to a negative power is undefined"),
    "power_complex": (
        fault.INVALID_POWER_ARGUMENT,
        "a negative number raised to a non-integer power yields a complex result",
    ),
    "input_range": (fault.NUMERIC_OUT_OF_RANGE, "input is out of range"),
    "interval_range": (fault.DATETIME_OVERFLOW, "interval out of range"),
    "many_rows": (fault.CARDINALITY_VIOLATION, "more than one row returned by a subquery used as an expression"),
    "negative_length": ("22011", "negative substring length not allowed"),
    "field_zero": (fault.INVALID_PARAMETER, "field position must not be zero"),
    "step_zero": (fault.INVALID_PARAMETER, "step size cannot equal zero"),
    "series_size": (fault.PROGRAM_LIMIT, "generate_series would make too many rows"),
    "series_limit": (fault.FEATURE_NOT_SUPPORTED, "generate_series up to the limits of bigint is not supported"),
    "text_size": (fault.PROGRAM_LIMIT, "requested length too large"),
    "bucket_count": (fault.INVALID_WIDTH_BUCKET, "count must be greater than zero"),
    "bucket_nan": (fault.INVALID_WIDTH_BUCKET, "operand, lower bound, and upper bound cannot be NaN"),
    "bucket_infinite": (fault.INVALID_WIDTH_BUCKET, "lower and upper bounds must be finite"),
    "bucket_bounds": (fault.INVALID_WIDTH_BUCKET, "lower bound cannot equal upper bound"),
    "chr_zero": (fault.PROGRAM_LIMIT, "null character not permitted"),
    "chr_negative": (fault.INVALID_PARAMETER, "character number must be positive"),
    "chr_range": (fault.PROGRAM_LIMIT, "requested character not valid for encoding"),
    "date_range": (fault.DATETIME_OVERFLOW, "date out of range"),
    "far_date": (fault.FEATURE_NOT_SUPPORTED, "a date outside of the years 1 to 9999 is not supported"),
    "whole_day": (fault.FEATURE_NOT_SUPPORTED, "the time 24:00:00 is not supported"),
    "infinite_interval": (fault.FEATURE_NOT_SUPPORTED, "an infinite interval is not supported"),
    "infinite_time": (fault.FEATURE_NOT_SUPPORTED, "an infinite time is not supported"),
    "timestamp_range": (fault.DATETIME_OVERFLOW, "timestamp out of range"),
    "field_range": (fault.DATETIME_OVERFLOW, "date/time field value out of range"),
    "ntile_zero": ("22014", "argument of ntile must be greater than zero"),
    "nth_zero": ("22016", "argument of nth_value must be greater than zero"),
    "nan_integer": (fault.NUMERIC_OUT_OF_RANGE, "value is NaN or infinite"),
    "tiny_numeric": (fault.FEATURE_NOT_SUPPORTED, "a number this small as numeric is not supported"),
    "like_escape": (fault.INVALID_ESCAPE, "LIKE pattern must not end with escape character"),
    "null_position": ("22004", "initial position must not be null"),
    "limit_negative": (fault.INVALID_LIMIT, "LIMIT must not be negative"),
    "offset_negative": (fault.INVALID_OFFSET, "OFFSET must not be negative"),
    "null_identifier": ("22004", "null values cannot be formatted as an SQL identifier"),
    "null_json_key": ("22004", "null value not allowed for object key"),
    "null_jsonb_name": (fault.INVALID_PARAMETER, "field name must not be null"),
    "null_jsonb_key": (fault.INVALID_PARAMETER, "key must not be null"),
    "json_shape": (fault.INVALID_PARAMETER, "cannot take elements of this JSON value"),
}
_CODES: Final = {name: index for index, name in enumerate(FAULTS, 1)}
_NAMES: Final = dict(enumerate(FAULTS, 1))
_PLACES: Final = 1_000_000
"""Positions in a statement fit below this; the code is kind * _PLACES + position."""
_QUIET: Final = pl.lit(0, dtype=pl.Int64)


def trap(value: pl.Expr, bad: pl.Expr, name: str, position: int | None) -> pl.Expr:
    """`value`, unless `bad` holds on some row: then collecting fails with the fault `name`."""
    code = pl.lit(-(_CODES[name] * _PLACES + (position or 0)), dtype=pl.Int64)
    alarm = pl.when(bad).then(code).otherwise(_QUIET).cast(pl.UInt8, strict=True)
    return pl.when(alarm == 0).then(value)


class RowFault(Exception):
    """Raised by a function over rows; its text carries what an InvalidSQL needs.

    Polars raises it anew with a longer text, so it takes a text and nothing else: use `row_fault`.
    """


def row_fault(sqlstate: str, message: str, position: int | None = None) -> RowFault:
    """The exception for a function over rows to raise."""
    return RowFault(f"weir!{sqlstate}!{position or ''}!{message}!weir")


_REFUSAL: Final = " is not supported"
_ROW_FAULT: Final = re.compile(r"weir!(\w{5})!(\d*)!(.*?)!weir", re.DOTALL)
_CONVERSION: Final = re.compile(
    r"conversion from `(?P<source>.+?)` to `(?P<target>.+?)` failed in column .*? values: \[(?P<values>.*?)\]",
    re.DOTALL,
)
_TYPE_NAMES: Final = {
    "i16": "smallint",
    "i32": "integer",
    "i64": "bigint",
    "f32": "real",
    "f64": "double precision",
    "i128": "numeric",
}


def translate(error: BaseException) -> WeirError:
    """The error behind whatever a plan raised while it was collected."""
    if isinstance(error, WeirError):
        return error
    text = str(error)
    own = _ROW_FAULT.search(text)
    if own is not None:
        position = int(own[2]) if own[2] else None
        return _fault(own[1], own[3], position)
    conversion = _CONVERSION.search(text)
    if conversion is not None:
        return _failed_conversion(conversion)
    if "Compiled regex exceeds size limit" in text:
        return QueryTooLarge("a regular expression of the query is too large when compiled")
    if isinstance(error, MemoryError | RecursionError):
        return QueryTooLarge("the query needs more than it may use")
    return InternalError(f"the query failed while it ran: {type(error).__name__}")


def _fault(sqlstate: str, message: str, position: int | None) -> WeirError:
    """The error of this SQLSTATE: a refusal where only we lack something."""
    if sqlstate == fault.FEATURE_NOT_SUPPORTED and message.endswith(_REFUSAL):
        return fault.unsupported(message.removesuffix(_REFUSAL), position)
    return fault.invalid(sqlstate, message, position)


def _failed_conversion(match: "re.Match[str]") -> WeirError:
    source, target, values = match["source"], match["target"], match["values"]
    first = values.split(",")[0].strip()
    if target == "u8" and first.startswith("-") and first[1:].isdigit():
        kind, position = divmod(int(first[1:]), _PLACES)
        if kind in _NAMES:
            sqlstate, message = FAULTS[_NAMES[kind]]
            return _fault(sqlstate, message, position or None)
    shown = _TYPE_NAMES.get(target, target)
    if source == "str":
        return fault.invalid(fault.INVALID_TEXT, f"invalid input syntax for type {shown}: {values[:100]}")
    return fault.invalid(fault.NUMERIC_OUT_OF_RANGE, f"{shown} out of range")
