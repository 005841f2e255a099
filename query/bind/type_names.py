"""Type names in SQL -> types, with their modifiers: numeric(10,2), varchar(20), timestamp(3), int[]."""

import re
from dataclasses import dataclass, replace
from typing import Final

from sqlglot import exp

from query import fault
from query.pg.intervals import FIELDS
from query.pg.types import (
    BOOL,
    BPCHAR,
    BYTEA,
    CIDR,
    DATE,
    FLOAT4,
    FLOAT8,
    INET,
    INT2,
    INT4,
    INT8,
    INTERVAL_TYPE,
    JSON,
    JSONB,
    JSONPATH,
    NUMERIC,
    NUMERIC_DIGITS,
    TEXT,
    TIME,
    TIMESTAMP,
    TIMESTAMPTZ,
    TSQUERY,
    UUID,
    PgType,
    array_of,
    leaf,
)
from query.syntax.positions import position_of


@dataclass(frozen=True, slots=True)
class TypeName:
    """A type as written: `type`, the name PostgreSQL gives an unnamed column, and modifiers."""

    type: PgType
    column_name: str
    modifiers: tuple[int, ...] = ()
    character: str = ""  # "varchar" or "bpchar" when a length cuts or pads
    fields: str = ""  # of an interval, as "HOUR TO MINUTE"


_T = exp.DType
_NAMES: Final[dict[exp.DType, tuple[PgType, str]]] = {
    _T.BOOLEAN: (BOOL, "bool"),
    _T.SMALLINT: (INT2, "int2"),
    _T.INT: (INT4, "int4"),
    _T.BIGINT: (INT8, "int8"),
    _T.DECIMAL: (NUMERIC, "numeric"),
    _T.FLOAT: (FLOAT4, "float4"),
    _T.DOUBLE: (FLOAT8, "float8"),
    _T.TEXT: (TEXT, "text"),
    _T.VARCHAR: (TEXT, "varchar"),
    _T.CHAR: (BPCHAR, "bpchar"),
    _T.VARBINARY: (BYTEA, "bytea"),
    _T.DATE: (DATE, "date"),
    _T.TIME: (TIME, "time"),
    _T.TIMESTAMP: (TIMESTAMP, "timestamp"),
    _T.DATETIME: (TIMESTAMP, "timestamp"),
    _T.TIMESTAMPTZ: (TIMESTAMPTZ, "timestamptz"),
    _T.INTERVAL: (INTERVAL_TYPE, "interval"),
    _T.JSON: (JSON, "json"),
    _T.JSONB: (JSONB, "jsonb"),
    _T.UUID: (UUID, "uuid"),
    _T.INET: (INET, "inet"),
}


def type_name(node: exp.DataType) -> TypeName:
    """The type that a cast names. Raises UnsupportedSQL for a type we lack."""
    type_node = node.this
    if type_node == _T.ARRAY:
        inner = type_name(node.expressions[0])
        if inner.modifiers:
            raise fault.unsupported("an array type with modifiers", position_of(node))
        # How many dimensions are declared does not matter (PostgreSQL documentation, "Declaration of Array Types").
        return TypeName(array_of(leaf(inner.type)), inner.column_name)
    if type_node == _T.USERDEFINED and node.args.get("kind") in _UNKNOWN_TO_THE_PARSER:
        named = _UNKNOWN_TO_THE_PARSER[node.args["kind"]]
        return TypeName(named, named.name)
    if type_node not in _NAMES:
        type_text = node.sql("postgres").lower()
        raise fault.unsupported(f'type "{type_text}"', position_of(node))
    pg_type, column_name = _NAMES[type_node]
    if pg_type.name == "interval":
        fields, modifiers = interval_fields(" ".join(map(str, node.expressions)))
        return TypeName(pg_type, column_name, modifiers, fields=fields)
    modifiers = tuple(_modifier(part) for part in node.expressions)
    if column_name in ("varchar", "bpchar"):
        return _character(pg_type, column_name, modifiers)
    if pg_type.name == "numeric" and modifiers:
        return _numeric(modifiers, node)
    if type_node == _T.FLOAT and modifiers:
        pg_type, column_name, modifiers = (FLOAT8, "float8", ()) if modifiers[0] > 24 else (FLOAT4, "float4", ())
    if modifiers and pg_type.name not in ("timestamp", "timestamptz", "time"):
        raise fault.unsupported(f"a modifier on type {pg_type.sql_name}", position_of(node))
    return TypeName(pg_type, column_name, modifiers)


_UNKNOWN_TO_THE_PARSER: Final = {"cidr": CIDR, "jsonpath": JSONPATH, "tsquery": TSQUERY}
_INTERVAL: Final = re.compile(r"((?:[A-Z]+(?: TO [A-Z]+)?)?) ?\(?(\d+)?\)?")
_MOST_DIGITS: Final = 6


def interval_fields(text: str) -> tuple[str, tuple[int, ...]]:
    """The fields of `DAY TO SECOND(3)`, and what cuts a value: the least field, and the digits of the second."""
    match = _INTERVAL.fullmatch(text.strip())
    if match is None:
        raise fault.unsupported(f"an interval of {text}")
    fields, digits = match.groups()
    if not fields and digits is None:
        return "", ()
    least = FIELDS.index(fields.split()[-1]) if fields else 0
    return fields, (least, min(int(digits or _MOST_DIGITS), _MOST_DIGITS))


def _modifier(part: exp.Expr) -> int:
    value = part.this
    if isinstance(part, exp.DataTypeParam) and isinstance(value, exp.Literal) and not value.is_string:
        return int(value.this)
    if isinstance(part, exp.DataTypeParam) and isinstance(value, exp.Neg):
        return -int(value.this.this)
    raise fault.unsupported("this type modifier", position_of(part))


def _character(pg_type: PgType, name: str, modifiers: tuple[int, ...]) -> TypeName:
    if not modifiers and name == "bpchar":
        modifiers = (1,)
    if modifiers and not 1 <= modifiers[0] <= 10_485_760:
        raise fault.invalid(fault.INVALID_PARAMETER, f"length for type {name} must be from 1 to 10485760")
    return TypeName(pg_type, name, modifiers, name if modifiers else "")


def _numeric(modifiers: tuple[int, ...], node: exp.DataType) -> TypeName:
    precision, scale = modifiers[0], modifiers[1] if len(modifiers) > 1 else 0
    if not 1 <= precision <= 1000:
        message = f"NUMERIC precision {precision} must be between 1 and 1000"
        raise fault.invalid(fault.INVALID_PARAMETER, message, position_of(node))
    if not -1000 <= scale <= 1000:
        message = f"NUMERIC scale {scale} must be between -1000 and 1000"
        raise fault.invalid(fault.INVALID_PARAMETER, message, position_of(node))
    if not max(precision, scale, precision - scale) <= NUMERIC_DIGITS:
        raise fault.unsupported(f"numeric({precision},{scale})", position_of(node), "use up to 38 digits")
    return TypeName(replace(NUMERIC, scale=max(scale, 0)), "numeric", (precision, scale))
