"""Parameters in binary format, as the text that PostgreSQL's types read. Pure.

Source: the receive functions of PostgreSQL's types.
"""

import ipaddress
import struct
import uuid
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Final

from pgwire.errors import PgError
from query.pg.oids import NAMES, oid

EPOCH: Final = datetime(2000, 1, 1, tzinfo=UTC)
BASE_DIGITS: Final = 4
_SPECIAL: Final = {0xC000: "NaN", 0xD000: "Infinity", 0xF000: "-Infinity"}
_INFINITE: Final = {2**63 - 1: "infinity", -(2**63): "-infinity", 2**31 - 1: "infinity", -(2**31): "-infinity"}
# Names of types that are texts to us.
TEXTS: Final = frozenset((18, 19, 25, 705, 1042, 1043, 114, 0))


def to_text(value: bytes, type_oid: int) -> str:
    """The text of a value. Raises PgError for what is no value of the type (22P03), or of a type that we have not."""
    try:
        return _to_text(value, type_oid)
    except (struct.error, ValueError, OverflowError, IndexError) as error:
        raise PgError("22P03", f"incorrect binary data format in bind parameter of type {type_oid}") from error


def _to_text(value: bytes, type_oid: int) -> str:
    if type_oid in TEXTS:
        return value.decode()
    name = NAMES.get(type_oid, "")
    if name.endswith("[]"):
        return _array(value)
    read = _READERS.get(name)
    if read is None:
        raise PgError("0A000", f"a parameter of type {type_oid} in binary format is not supported")
    return read(value)


def _number(form: str) -> Callable[[bytes], str]:
    def read(value: bytes) -> str:
        return repr(struct.unpack(form, value)[0])

    return read


def _boolean(value: bytes) -> str:
    return "true" if struct.unpack("!b", value)[0] else "false"


def _moment(suffix: str) -> Callable[[bytes], str]:
    def read(value: bytes) -> str:
        (microseconds,) = struct.unpack("!q", value)
        if microseconds in _INFINITE:
            return _INFINITE[microseconds]
        return (EPOCH + timedelta(microseconds=microseconds)).strftime("%Y-%m-%d %H:%M:%S.%f") + suffix

    return read


def _date(value: bytes) -> str:
    (days,) = struct.unpack("!i", value)
    return _INFINITE.get(days) or (date(2000, 1, 1) + timedelta(days=days)).isoformat()


def _time(value: bytes) -> str:
    seconds, microseconds = divmod(struct.unpack("!q", value)[0], 1_000_000)
    return f"{seconds // 3600:02d}:{seconds // 60 % 60:02d}:{seconds % 60:02d}.{microseconds:06d}"


def _interval(value: bytes) -> str:
    microseconds, days, months = struct.unpack("!qii", value)
    return f"{months} months {days} days {microseconds} microseconds"


def _numeric(value: bytes) -> str:
    count, weight, sign, scale = struct.unpack_from("!hhHh", value)
    if sign in _SPECIAL:
        return _SPECIAL[sign]
    groups = struct.unpack(f"!{count}h", value[8:])
    whole = int("".join(f"{group:04d}" for group in groups) or "0")
    number = Decimal(whole).scaleb(BASE_DIGITS * (weight - count + 1))
    return f"{'-' if sign else ''}{number:.{scale}f}"


def _jsonb(value: bytes) -> str:
    if value[:1] != b"\x01":
        raise ValueError("unsupported jsonb version")
    return value[1:].decode()


def _address(value: bytes) -> str:
    _, bits, _, size = struct.unpack_from("!BBBB", value)
    if len(value) != 4 + size:
        raise ValueError("an address of another size")
    return f"{ipaddress.ip_address(value[4:])}/{bits}"


def _array(value: bytes) -> str:
    """`{"a",NULL}`, of several dimensions too."""
    dimensions, _, element = struct.unpack_from("!iiI", value)
    if not 0 <= dimensions <= 6:
        raise ValueError("too many dimensions")
    sizes = [struct.unpack_from("!i", value, 12 + 8 * at)[0] for at in range(dimensions)]
    at, items = 12 + 8 * dimensions, []
    while at < len(value):
        (length,) = struct.unpack_from("!i", value, at)
        at += 4
        items.append("NULL" if length == -1 else _quoted(_to_text(value[at : at + length], element)))
        at += max(length, 0)
    return _nested(sizes, items)


def _nested(sizes: list[int], items: list[str]) -> str:
    if not sizes:
        return "{}"
    if len(sizes) == 1:
        if len(items) != sizes[0]:
            raise ValueError("wrong number of elements")
        return "{" + ",".join(items) + "}"
    each = len(items) // sizes[0]
    return "{" + ",".join(_nested(sizes[1:], items[at * each : (at + 1) * each]) for at in range(sizes[0])) + "}"


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


_READERS: Final[dict[str, Callable[[bytes], str]]] = {
    "bool": _boolean,
    "int2": _number("!h"),
    "int4": _number("!i"),
    "int8": _number("!q"),
    "float4": _number("!f"),
    "float8": _number("!d"),
    "numeric": _numeric,
    "timestamptz": _moment("+00"),
    "timestamp": _moment(""),
    "date": _date,
    "time": _time,
    "interval": _interval,
    "bytea": lambda value: "\\x" + value.hex(),
    "uuid": lambda value: str(uuid.UUID(bytes=value)),
    "jsonb": _jsonb,
    "inet": _address,
    "cidr": _address,
}
# The engine's type of a parameter that a client declares; what is not here its place decides.
OF_ENGINE: Final = {
    number: name for number, name in NAMES.items() if name.removesuffix("[]") not in ("unknown", "void")
} | {oid(name): "text" for name in ("varchar", "bpchar", "uuid")}
OTHER_NAMES: Final = {18: "text", 19: "text", 26: "int8", 705: ""}


def engine_type(type_oid: int) -> str:
    """The engine's name of a declared type; "" where the parameter's place decides. Raises PgError for one it has not.

    >>> engine_type(20), engine_type(1043), engine_type(0)
    ('int8', 'text', '')
    """
    found = {**OF_ENGINE, **OTHER_NAMES, 0: ""}.get(type_oid)
    if found is None:
        raise PgError("0A000", f"a parameter of the type with number {type_oid} is not supported")
    return found.replace("varchar", "text").replace("bpchar", "text").replace("uuid", "text")
