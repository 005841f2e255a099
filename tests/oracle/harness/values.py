"""Values of both sides in one form, by PostgreSQL type, and when two of them are the same.

PostgreSQL's values come as its text output, ours as Python values. Both are read into plain values: None, bool, int,
Decimal, float, str, lists and dicts of these. What cannot be read as its column's type is `Misfit`, equal to nothing.
"""

import datetime as dt
import json
import math
import re
import struct
from collections.abc import Callable
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Context, Decimal
from typing import Final

FLOAT_TOLERANCE: Final = 1e-9
# Below this a sum of floats that cancel is noise of the order of additions, which SQL does not fix.
FLOAT_NOISE: Final = 1e-11
# PostgreSQL keeps at least 16 significant digits of a quotient; where it cuts depends on the values. Up to there the
# digits are the same; from 16 digits after the point on, sums of quotients may differ in what was cut.
NUMERIC_TOLERANCE: Final = Decimal("1e-15")
QUOTIENT_DIGITS: Final = 16
WIDE: Final = Context(prec=200, rounding=ROUND_HALF_UP)
INTERVAL_PART: Final = re.compile(r"([+-]?\d+) (year|mon|day)s?")
INTERVAL_TIME: Final = re.compile(r"([+-]?)(\d+):(\d\d):(\d\d(?:\.\d+)?)$")


@dataclass(frozen=True)
class Misfit:
    """A value of ours that is none of its column's type."""

    shown: str


Plain = object


def read_theirs(text: object, kind: str) -> Plain:
    """A value of PostgreSQL's in the common form. `kind` is the short type name."""
    if text is None:
        return None
    if kind.endswith("[]"):
        return _map(_parse_array(str(text)), lambda item: read_theirs(item, kind[:-2]))
    return _THEIRS.get(kind, str)(str(text))


def read_ours(value: object, kind: str) -> Plain:
    """A value of ours in the common form, read as PostgreSQL's type `kind`."""
    if value is None:
        return None
    if kind.endswith("[]"):
        if not isinstance(value, list):
            return Misfit(repr(value))
        return _map(value, lambda item: read_ours(item, kind[:-2]))
    return _OURS.get(kind, _our_text)(value)


def same(theirs: Plain, ours: Plain) -> bool:
    """True when both stand for the same value."""
    if isinstance(theirs, float) and isinstance(ours, float):
        return theirs == ours or (math.isnan(theirs) and math.isnan(ours)) or _close(theirs, ours)
    if isinstance(theirs, Decimal) and isinstance(ours, Decimal):
        return _same_numeric(theirs, ours)
    if isinstance(theirs, list) and isinstance(ours, list):
        return len(theirs) == len(ours) and all(map(same, theirs, ours))
    if isinstance(theirs, dict) and isinstance(ours, dict):
        return theirs.keys() == ours.keys() and all(same(theirs[key], ours[key]) for key in theirs)
    return type(theirs) is type(ours) and theirs == ours


def _map(items: list[object], read: Callable[[object], Plain]) -> list[Plain]:
    return [_map(item, read) if isinstance(item, list) else read(item) for item in items]


def _close(left: float, right: float) -> bool:
    return math.isclose(left, right, rel_tol=FLOAT_TOLERANCE, abs_tol=FLOAT_NOISE)


def _same_numeric(theirs: Decimal, ours: Decimal) -> bool:
    """Equal, or the same quotient: cut where PostgreSQL cut it, or both with the many digits of one."""
    if theirs.is_nan() or ours.is_nan() or theirs.is_infinite() or ours.is_infinite():
        return theirs.compare_total(ours) == 0
    if theirs == ours:
        return True
    if abs(WIDE.subtract(ours, theirs)) > abs(theirs) * NUMERIC_TOLERANCE:
        return False
    scale = -int(theirs.as_tuple().exponent)
    return scale >= QUOTIENT_DIGITS or ours.quantize(Decimal(1).scaleb(-scale), context=WIDE) == theirs


def _their_interval(text: str) -> Plain:
    """Months, days and microseconds of the `postgres` interval style."""
    months = days = microseconds = 0
    for number, unit in INTERVAL_PART.findall(text):
        months += int(number) * {"year": 12, "mon": 1, "day": 0}[unit]
        days += int(number) * (unit == "day")
    if clock := INTERVAL_TIME.search(text):
        sign, hours, minutes, seconds = clock.groups()
        whole = (int(hours) * 60 + int(minutes)) * 60_000_000 + int(Decimal(seconds) * 1_000_000)
        microseconds = -whole if sign == "-" else whole
    return [months, days, microseconds]


def _single(value: float) -> float:
    """The number of single precision that a text of few digits stands for."""
    return float(struct.unpack("f", struct.pack("f", value))[0])


def _their_bytes(text: str) -> Plain:
    return bytes.fromhex(text.removeprefix("\\x")).hex()


def _json(text: str) -> Plain:
    return _read_json(json.loads(text, parse_float=Decimal, parse_int=Decimal))


def _read_json(value: Plain) -> Plain:
    """JSON's null is kept apart from SQL's."""
    if value is None:
        return ["null"]
    if isinstance(value, list):
        return ["array", *map(_read_json, value)]
    if isinstance(value, dict):
        return {key: _read_json(item) for key, item in value.items()}
    return value


def _parse_array(text: str) -> list[object]:
    """PostgreSQL's array output: braces, commas, quotes, backslashes, an unquoted NULL, and perhaps its bounds."""
    items: list[list[object]] = [[]]
    for quoted, brace_open, brace_close, bare in _ARRAY_TOKEN.findall(text[text.index("{") :]):
        if brace_open:
            items.append([])
        elif brace_close:
            done = items.pop()
            items[-1].append(done)
        elif quoted:
            items[-1].append(re.sub(r"\\(.)", r"\1", quoted[1:-1], flags=re.DOTALL))
        elif bare:
            items[-1].append(None if bare == "NULL" else bare)
    whole = items[0][0]
    assert isinstance(whole, list)
    return whole


_ARRAY_TOKEN: Final = re.compile(r'("(?:[^"\\]|\\.)*")|(\{)|(\})|([^{},"]+)', re.DOTALL)


def _our_bool(value: object) -> Plain:
    return value if isinstance(value, bool) else Misfit(repr(value))


def _our_integer(value: object) -> Plain:
    return value if isinstance(value, int) and not isinstance(value, bool) else Misfit(repr(value))


def _our_float(value: object) -> Plain:
    return value if isinstance(value, float) else Misfit(repr(value))


def _our_numeric(value: object) -> Plain:
    """A Decimal, or its text. A float is a misfit: it has lost digits that PostgreSQL keeps."""
    if isinstance(value, Decimal):
        return value
    if isinstance(value, str) or (isinstance(value, int) and not isinstance(value, bool)):
        return Decimal(value)
    return Misfit(repr(value))


def _our_text(value: object) -> Plain:
    return value if isinstance(value, str) else Misfit(repr(value))


def _our_date(value: object) -> Plain:
    is_date = isinstance(value, dt.date) and not isinstance(value, dt.datetime)
    return value.isoformat() if is_date else Misfit(repr(value))


def _our_timestamp(value: object) -> Plain:
    if not isinstance(value, dt.datetime) or value.tzinfo is not None:
        return Misfit(repr(value))
    return _timestamp_text(value)


def _our_instant(value: object) -> Plain:
    if not isinstance(value, dt.datetime) or value.tzinfo is None:
        return Misfit(repr(value))
    return _timestamp_text(value.astimezone(dt.UTC)) + "+00"


def _timestamp_text(value: dt.datetime) -> str:
    """As PostgreSQL's ISO style writes it: a space, and a fraction only where there is one."""
    fraction = f".{value.microsecond:06}".rstrip("0") if value.microsecond else ""
    return f"{value.year:04}-{value:%m-%d %H:%M:%S}{fraction}"


def _our_time(value: object) -> Plain:
    if not isinstance(value, dt.time):
        return _our_text(value)
    fraction = f".{value.microsecond:06}".rstrip("0") if value.microsecond else ""
    return f"{value:%H:%M:%S}{fraction}"


def _our_interval(value: object) -> Plain:
    """Ours is a struct of months, days and microseconds, or the text of one."""
    if isinstance(value, dict):
        return list(value.values())
    return _their_interval(value) if isinstance(value, str) else Misfit(repr(value))


def _our_bytes(value: object) -> Plain:
    return value.hex() if isinstance(value, bytes) else Misfit(repr(value))


def _our_json(value: object) -> Plain:
    if not isinstance(value, str):
        return Misfit(repr(value))
    try:
        return _json(value)
    except ValueError:
        return Misfit(f"not JSON: {value!r}")


def _our_record(value: object) -> Plain:
    """A record's fields as text; PostgreSQL quotes what has a space, a comma, a quote or is empty."""
    if not isinstance(value, dict):
        return _our_text(value)
    return "(" + ",".join(_record_field(item) for item in value.values()) + ")"


def _record_field(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "t" if value else "f"
    text = _timestamp_text(value) if isinstance(value, dt.datetime) else str(value)
    return '"' + text.replace("\\", "\\\\").replace('"', '""') + '"' if re.search(r'[\s,"\\()]|^$', text) else text


_THEIRS: Final[dict[str, Callable[[str], Plain]]] = {
    "bool": lambda text: text == "t",
    "int2": int,
    "int4": int,
    "int8": int,
    "oid": int,
    "numeric": Decimal,
    "float4": lambda text: _single(float(text)),
    "float8": float,
    "interval": _their_interval,
    "bytea": _their_bytes,
    "json": _json,
    "jsonb": _json,
}
_OURS: Final[dict[str, Callable[[object], Plain]]] = {
    "bool": _our_bool,
    "int2": _our_integer,
    "int4": _our_integer,
    "int8": _our_integer,
    "oid": _our_integer,
    "numeric": _our_numeric,
    "float4": _our_float,
    "float8": _our_float,
    "date": _our_date,
    "timestamp": _our_timestamp,
    "timestamptz": _our_instant,
    "time": _our_time,
    "interval": _our_interval,
    "bytea": _our_bytes,
    "json": _our_json,
    "jsonb": _our_json,
    "record": _our_record,
}
