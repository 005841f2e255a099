"""Errors that depend on the data: raised inside a running plan, and turned back into ours when they surface.

Polars has no expression that raises. A strict cast of a negative number to an unsigned one does, its message shows the
number, and it costs little; so `fail_where` casts minus a code, and `translate` reads the code from the message.
"""

import re
from typing import Final

import polars as pl

from errors import InternalError, QueryTooLarge, WeirError
from query import fault

_FAULTS: Final[list[tuple[str, str]]] = []
_CODES: Final[dict[str, int]] = {}


def declare_row_error(name: str, sqlstate: str, message: str) -> None:
    """Declare an error that `fail_where` raises by this name. Those that several modules raise are declared below."""
    if name in _CODES:
        raise ValueError(f"{name} is declared twice")
    _FAULTS.append((sqlstate, message))
    _CODES[name] = len(_FAULTS)


declare_row_error("division_by_zero", fault.DIVISION_BY_ZERO, "division by zero")
declare_row_error("int2_range", fault.NUMERIC_OUT_OF_RANGE, "smallint out of range")
declare_row_error("int4_range", fault.NUMERIC_OUT_OF_RANGE, "integer out of range")
declare_row_error("int8_range", fault.NUMERIC_OUT_OF_RANGE, "bigint out of range")
declare_row_error("numeric_range", fault.FEATURE_NOT_SUPPORTED, "a number of more than 38 digits is not supported")
declare_row_error("float_overflow", fault.NUMERIC_OUT_OF_RANGE, "value out of range: overflow")
declare_row_error("interval_range", fault.DATETIME_OVERFLOW, "interval out of range")
declare_row_error("negative_length", "22011", "negative substring length not allowed")
declare_row_error("far_date", fault.FEATURE_NOT_SUPPORTED, "a date outside of the years 1 to 9999 is not supported")
declare_row_error("timestamp_range", fault.DATETIME_OVERFLOW, "timestamp out of range")
declare_row_error("null_json_key", "22004", "null value not allowed for object key")
declare_row_error("like_escape", fault.INVALID_ESCAPE, "LIKE pattern must not end with escape character")
_POSITIONS: Final = 1_000_000
"""Positions in a statement fit below this; the code is fault * _POSITIONS + position."""
_NO_FAULT: Final = pl.lit(0, dtype=pl.Int64)


def fail_where(value: pl.Expr, bad: pl.Expr, name: str, position: int | None) -> pl.Expr:
    """`value`, unless `bad` holds on some row: then collecting fails with the fault `name`."""
    code = pl.lit(-(_CODES[name] * _POSITIONS + (position or 0)), dtype=pl.Int64)
    code_or_zero = pl.when(bad).then(code).otherwise(_NO_FAULT).cast(pl.UInt8, strict=True)
    return pl.when(code_or_zero == 0).then(value)


class RowFault(Exception):
    """Raised by a function over rows; its text carries what an InvalidSQL needs.

    Polars raises it anew with a longer text, so it takes a text and nothing else: use `row_fault`.
    """


def declared_error(name: str, position: int | None) -> RowFault:
    """The declared error of this name, for a function over rows to raise."""
    sqlstate, message = _FAULTS[_CODES[name] - 1]
    return row_fault(sqlstate, message, position)


def row_fault(sqlstate: str, message: str, position: int | None = None) -> RowFault:
    """The exception for a function over rows to raise."""
    return RowFault(f"weir!{sqlstate}!{position or ''}!{message}!weir")


_OUR_FAULT: Final = "the query failed by an error on our side"
"""What a user reads of an error that nobody foresaw. What the engine says of it stands in the log."""
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
    return InternalError(_OUR_FAULT)


def _fault(sqlstate: str, message: str, position: int | None) -> WeirError:
    """The error of this SQLSTATE: a refusal where only we lack something."""
    if sqlstate == fault.FEATURE_NOT_SUPPORTED and message.endswith(_REFUSAL):
        return fault.unsupported(message.removesuffix(_REFUSAL), position)
    return fault.invalid(sqlstate, message, position)


def _failed_conversion(match: "re.Match[str]") -> WeirError:
    source, target, values = match["source"], match["target"], match["values"]
    first = values.split(",")[0].strip()
    if target == "u8" and first.startswith("-") and first[1:].isdigit():
        fault_number, position = divmod(int(first[1:]), _POSITIONS)
        if 1 <= fault_number <= len(_FAULTS):
            sqlstate, message = _FAULTS[fault_number - 1]
            return _fault(sqlstate, message, position or None)
    type_name = _TYPE_NAMES.get(target)
    if type_name is None:
        return InternalError(_OUR_FAULT)
    if source == "str":
        return fault.invalid(fault.INVALID_TEXT, f"invalid input syntax for type {type_name}: {values[:100]}")
    return fault.invalid(fault.NUMERIC_OUT_OF_RANGE, f"{type_name} out of range")
