"""Text -> constant: PostgreSQL's input syntax of every type. The same readers serve casts of whole columns."""

import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import Any, Final

from query import fault
from query.pg.array_input import Items, array_items
from query.pg.bad_values import BadLiteral, UnsupportedLiteral
from query.pg.clock import Clock
from query.pg.date_parts import BadMoment, MomentOutOfRange, UnsupportedMoment, ZoneOutOfRange
from query.pg.full_text.notation import as_written
from query.pg.full_text.query_tree import output as search_text
from query.pg.intervals import INFINITE, BadInterval, IntervalOutOfRange, parse_interval
from query.pg.json_path import parse_path
from query.pg.json_path_output import path_text
from query.pg.json_path_tokens import BadPath, UnsupportedPath
from query.pg.json_text import BadJson, NoCharacter, normalise, parse_json
from query.pg.network import BadAddress, read_cidr, read_inet
from query.pg.time_zones import UnknownZone, UnsupportedZone, Zone, zone_named
from query.pg.timestamps import US_PER_DAY, parse_date, parse_moment, parse_time
from query.pg.types import FLOATS, INTEGER_LIMITS, INTEGERS, NUMERIC_DIGITS, PgType, dimensions, leaf

_SPACES: Final = " \t\n\r\v\f"
_BASED: Final = r"0[xX]_?([0-9a-fA-F]+(?:_[0-9a-fA-F]+)*)|0[oO]_?([0-7]+(?:_[0-7]+)*)|0[bB]_?([01]+(?:_[01]+)*)"
_INTEGER: Final = re.compile(rf"([-+]?)(?:([0-9]+(?:_[0-9]+)*)|{_BASED})", re.ASCII)
_DIGITS: Final = r"[0-9]+(?:_[0-9]+)*"
_NUMBER: Final = re.compile(rf"[-+]?(?:{_DIGITS}(?:\.(?:{_DIGITS})?)?|\.{_DIGITS})(?:[eE][-+]?{_DIGITS})?")
_FLOAT: Final = re.compile(r"[-+]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][-+]?[0-9]+)?")
_HEX_FLOAT: Final = re.compile(
    r"[-+]?0[xX](?:[0-9a-fA-F]+(?:\.[0-9a-fA-F]*)?|\.[0-9a-fA-F]+)(?:[pP][-+]?[0-9]+)?", re.ASCII
)
_FLOAT_WORDS: Final = ("nan", "infinity", "+infinity", "-infinity", "inf", "+inf", "-inf")
_TRUE: Final = ("true", "yes", "on")
_FALSE: Final = ("false", "no", "off")


@dataclass(frozen=True, slots=True)
class Numeric:
    """A decimal number: `digits` * 10 ** -`scale`."""

    digits: int
    scale: int

    def at_scale(self, scale: int) -> int:
        """Its digits at another scale, rounded half away from zero.

        >>> Numeric(125, 2).at_scale(1), Numeric(-125, 2).at_scale(1), Numeric(125, 2).at_scale(3)
        (13, -13, 1250)
        """
        if scale >= self.scale:
            return int(self.digits * 10 ** (scale - self.scale))
        unit = int(10 ** (self.scale - scale))
        quotient, rest = divmod(abs(self.digits), unit)
        rounded = quotient + (1 if rest * 2 >= unit else 0)
        return -rounded if self.digits < 0 else rounded


def _bad(text: str, target: PgType, sqlstate: str = fault.INVALID_TEXT) -> BadLiteral:
    return BadLiteral(sqlstate, f'invalid input syntax for type {target.sql_name}: "{text[:100]}"')


def read(text: str, target: PgType, zone: str = "", clock: Clock | None = None) -> object:
    """The value of `target` that `text` spells, an instant on the clock of `zone`. Without `clock`, which says when it
    is today, `today` is refused.

    Raises BadLiteral, UnsupportedLiteral.
    """
    if target.element is not None:
        return read_array(text, target, zone, clock)
    if target.name in INTEGERS:
        return read_integer(text, target)
    if target.name in FLOATS:
        return _read_float(text, target)
    if target.name in ("date", "time", "timestamp", "timestamptz"):
        return _read_moment(text, target, zone, clock)
    if target.name == "bool":
        return read_bool(text, target)
    if target.name == "interval":
        return read_interval(text, target)
    if target.name in ("json", "jsonb"):
        return _read_json(text, target)
    if target.name == "bytea":
        return _read_bytes(text)
    if target.name in ("inet", "cidr"):
        return _read_address(text, target)
    if target.name == "uuid":
        return _read_uuid(text, target)
    if target.name == "jsonpath":
        return _read_path(text)
    if target.name == "tsquery":
        return search_text(as_written(text))
    if target.name in ("text", "bpchar", "unknown"):
        return text
    raise UnsupportedLiteral(f"a literal of type {target.sql_name}")


def read_integer(text: str, target: PgType) -> int:
    match = _INTEGER.fullmatch(text.strip(_SPACES))
    if match is None:
        raise _bad(text, target)
    value = _whole(match)
    limit = INTEGER_LIMITS[target.name]
    if not -limit <= value < limit:
        message = f'value "{text.strip(_SPACES)[:100]}" is out of range for type {target.sql_name}'
        raise BadLiteral(fault.NUMERIC_OUT_OF_RANGE, message)
    return value


def _whole(match: "re.Match[str]") -> int:
    """The integer that _INTEGER found."""
    sign, plain, hexadecimal, octal, binary = match.groups()
    base = 10 if plain else 16 if hexadecimal else 8 if octal else 2
    value = int((plain or hexadecimal or octal or binary).replace("_", ""), base)
    return -value if sign == "-" else value


def _read_float(text: str, target: PgType) -> float:
    """As strtod reads it. Raises 22003 for a number that becomes infinite, or zero without being it."""
    stripped = text.strip(_SPACES)
    if stripped.lower() in _FLOAT_WORDS:
        return float(stripped)
    if not _FLOAT.fullmatch(stripped) and not _HEX_FLOAT.fullmatch(stripped):
        raise _bad(text, target)
    hexadecimal = "x" in stripped.lower()
    try:
        value = float.fromhex(stripped) if hexadecimal else float(stripped)
    except OverflowError:
        value = math.inf
    mantissa = re.split("p" if hexadecimal else "e", stripped.lower())[0].replace("0x", "")
    if math.isinf(value) or (value == 0 and mantissa.strip("+-0.")):
        message = f'"{stripped[:100]}" is out of range for type {target.sql_name}'
        raise BadLiteral(fault.NUMERIC_OUT_OF_RANGE, message)
    return value


def read_numeric(text: str, target: PgType) -> Numeric:
    """The number that `text` spells; its scale is the number of digits written after the point."""
    stripped = text.strip(_SPACES)
    if stripped.lower() in _FLOAT_WORDS:
        raise UnsupportedLiteral("NaN and infinity as numeric")
    based = _INTEGER.fullmatch(stripped)
    if based is None and not _NUMBER.fullmatch(stripped):
        raise _bad(text, target)
    try:
        value = Decimal(stripped if based is None else _whole(based))
    except InvalidOperation as error:
        raise _bad(text, target) from error
    exponent = value.as_tuple().exponent
    scale = max(0, -exponent) if isinstance(exponent, int) else 0
    if value.adjusted() + 1 + scale > NUMERIC_DIGITS or scale > NUMERIC_DIGITS:
        raise UnsupportedLiteral(f"a numeric of more than {NUMERIC_DIGITS} digits")
    return Numeric(int(value.scaleb(scale)), scale)


def read_bool(text: str, target: PgType) -> bool:
    word = text.strip().lower()
    if word == "1" or (word and any(known.startswith(word) for known in _TRUE) and word != "o"):
        return True
    if word == "0" or (word and any(known.startswith(word) for known in _FALSE) and word != "o"):
        return False
    raise _bad(text, target)


def read_endless(text: str, target: PgType) -> float | None:
    """Plus or minus infinity, or NaN, if the text is one of them and the type has them."""
    if target.name == "numeric" and text.strip(_SPACES).lower() in _FLOAT_WORDS:
        return float(text)
    word = _ENDLESS.fullmatch(text)
    if word is None or target.name not in ("date", "timestamp", "timestamptz"):
        return None
    return -math.inf if word[1] == "-" else math.inf


def _read_moment(text: str, target: PgType, zone: str, clock: Clock | None) -> int:
    word = text.strip().lower()
    if target.name == "time" and "infinity" in word:
        raise _bad(text, target, fault.INVALID_DATETIME)
    if word in ("infinity", "-infinity"):
        raise UnsupportedLiteral(f"the special value '{word}'")
    try:
        if target.name == "date":
            return parse_date(text, clock)
        if target.name == "time":
            us = parse_time(text, clock)
            if us >= US_PER_DAY:
                raise UnsupportedLiteral("the time 24:00:00")
            return us
        session_zone = zone_named(zone) if zone else Zone()
        return parse_moment(text, target.name == "timestamptz", target.unit, session_zone, clock)
    except (UnsupportedZone, UnsupportedMoment) as error:
        raise UnsupportedLiteral(str(error)) from error
    except UnknownZone as error:
        raise BadLiteral(fault.INVALID_PARAMETER, f'time zone "{str(error).lower()[:60]}" not recognized') from error
    except BadMoment as error:
        raise _bad(text, target, fault.INVALID_DATETIME) from error
    except ZoneOutOfRange as error:
        raise BadLiteral("22009", f'time zone displacement out of range: "{text[:100]}"') from error
    except MomentOutOfRange as error:
        message = f'date/time field value out of range: "{text[:100]}"'
        raise BadLiteral(fault.DATETIME_OVERFLOW, message) from error


def read_interval(text: str, target: PgType, fields: str = "") -> tuple[int, int, int]:
    """The interval that `text` spells."""
    if _ENDLESS.fullmatch(text):
        raise UnsupportedLiteral("an infinite interval")
    try:
        value = parse_interval(text, fields)
    except IntervalOutOfRange as error:
        message = f'interval field value out of range: "{text[:100]}"'
        raise BadLiteral("22015", message) from error
    except (BadInterval, ValueError, ZeroDivisionError) as error:
        raise _bad(text, target, fault.INVALID_DATETIME) from error
    if value in INFINITE:
        raise UnsupportedLiteral("an infinite interval")
    return value


_ENDLESS: Final = re.compile(r"\s*([-+]?)\s*infinity\s*", re.IGNORECASE)


def _read_json(text: str, target: PgType) -> str:
    try:
        if target.name == "jsonb":
            return normalise(text)
        parse_json(text)
    except NoCharacter as error:
        raise BadLiteral("22P05", "unsupported Unicode escape sequence") from error
    except BadJson as error:
        raise BadLiteral(fault.INVALID_TEXT, f"invalid input syntax for type {target.name}") from error
    return text


def _read_address(text: str, target: PgType) -> bytes:
    try:
        return read_inet(text) if target.name == "inet" else read_cidr(text)
    except BadAddress as error:
        raise BadLiteral(fault.INVALID_TEXT, str(error)) from error


def _read_path(text: str) -> str:
    try:
        return path_text(parse_path(text))
    except BadPath as error:
        raise BadLiteral(error.sqlstate, str(error)) from error
    except UnsupportedPath as error:
        raise UnsupportedLiteral(str(error)) from error


_UUID: Final = re.compile(r"[0-9a-fA-F]{4}(?:-?[0-9a-fA-F]{4}){7}")


def _read_uuid(text: str, target: PgType) -> str:
    """In small letters with four dashes; braces and other dashes between groups of four digits are allowed."""
    inner = text[1:-1] if text[:1] == "{" and text[-1:] == "}" else text
    if not _UUID.fullmatch(inner):
        raise _bad(text, target)
    digits = inner.replace("-", "").lower()
    return "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]))


def _read_bytes(text: str) -> bytes:
    return _read_hexadecimal(text[2:]) if text.startswith("\\x") else read_escaped_bytes(text)


_HEXADECIMAL: Final = re.compile(r"[ \t\n\r]*([0-9a-fA-F])([0-9a-fA-F])")


def _read_hexadecimal(text: str) -> bytes:
    """Pairs of digits, with blanks between pairs. Raises 22023 (hex_decode)."""
    rest = _HEXADECIMAL.sub("", text).lstrip(" \t\n\r")
    if not rest:
        return bytes.fromhex(text)
    wrong = re.search(r"[^0-9a-fA-F]", rest)
    reason = f'digit: "{wrong[0]}"' if wrong else "data: odd number of digits"
    raise BadLiteral(fault.INVALID_PARAMETER, f"invalid hexadecimal {reason}")


_ESCAPED: Final = re.compile(rb"\\(?:([0-3][0-7]{2})|(\\)|())")


def read_escaped_bytes(text: str) -> bytes:
    """Bytes in the escape format: three octal digits after a backslash, or a second one. Raises 22P02."""

    def byte(match: re.Match[bytes]) -> bytes:
        if match[3] is not None:
            raise BadLiteral(fault.INVALID_TEXT, "invalid input syntax for type bytea")
        return bytes([int(match[1], 8)]) if match[1] else b"\\"

    return _ESCAPED.sub(byte, text.encode())


def read_array(text: str, target: PgType, zone: str = "", clock: Clock | None = None) -> tuple[object, ...]:
    """An array literal of as many dimensions as the target has."""
    read_as = array_items(text)
    if read_as.items and len(read_as.sizes) != dimensions(target):
        raise UnsupportedLiteral("a value with another number of dimensions than the column")
    element = leaf(target)

    def value(item: str) -> object:
        return (
            read_numeric(item, element).at_scale(element.scale)
            if element.name == "numeric"
            else read(item, element, zone, clock)
        )

    return each_item(read_as.items, value)


def each_item(items: Items, read_item: Callable[[str], object]) -> tuple[Any, ...]:
    """The items' values, in as many tuples in each other as there are dimensions."""
    return tuple(
        each_item(item, read_item) if isinstance(item, list) else None if item is None else read_item(item)
        for item in items
    )
