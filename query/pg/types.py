"""PostgreSQL's data types as the engine carries them, and which Polars type holds the values of each.

numeric is a whole number scaled by a power of ten that is known when the statement is compiled (`PgType.scale`),
held in 128 bits: exact for 38 digits, and as fast to add and compare as an integer.
interval is a struct of months, days and microseconds, because PostgreSQL never folds one into the other.
"""

from dataclasses import dataclass, replace
from typing import Final

import polars as pl

NUMERIC_DIGITS: Final = 38
"""Digits of a numeric that 128 bits hold. PostgreSQL has more; what needs more is an error, never a rounding."""

QUOTIENT_SCALE: Final = 22
"""Digits after the point of a numeric quotient. PostgreSQL keeps at least 16 significant ones; this many do so for
quotients from 10^-6, and leave 16 digits before the point."""

AVERAGE_SCALE: Final = 20
"""Digits after the point of a numeric mean: as many as PostgreSQL shows of one below 1."""

INTERVAL: Final = pl.Struct({"months": pl.Int32(), "days": pl.Int32(), "us": pl.Int64()})


@dataclass(frozen=True, slots=True)
class PgType:
    """One type. `element` is an array's, itself an array if there are several dimensions; `scale` and `exact` are a
    numeric's; `unit` is a timestamp's; `fields` and `names` a record's, with no names when it was written as ROW(...).

    `special` tells that some values of a numeric may be NaN or infinite (query.pg.special_numbers).
    `exact` tells that every value would be shown by PostgreSQL with exactly `scale` digits after the point.
    """

    name: str
    element: "PgType | None" = None
    scale: int = 0
    exact: bool = True
    special: bool = False
    unit: str = "us"
    fields: tuple["PgType", ...] = ()
    names: tuple[str, ...] = ()

    @property
    def polars(self) -> pl.DataType:
        """The Polars type that holds the values."""
        if self.element is not None:
            return pl.List(self.element.polars)
        if self.name == "record":
            return pl.Struct({f"f{index}": field.polars for index, field in enumerate(self.fields)})
        if self.name == "timestamp":
            return pl.Datetime("ns" if self.unit == "ns" else "us")
        if self.name == "timestamptz":
            return pl.Datetime("ns" if self.unit == "ns" else "us", "UTC")
        return _HOLDERS[self.name]

    @property
    def sql_name(self) -> str:
        """The name that PostgreSQL uses in its messages."""
        if self.element is not None:
            return f"{leaf(self).sql_name}[]"
        return _SQL_NAMES.get(self.name, self.name)

    @property
    def output_name(self) -> str:
        """The short name that results carry: `int8`, `timestamptz`, `text[]`."""
        return f"{leaf(self).output_name}[]" if self.element is not None else self.name

    @property
    def category(self) -> str:
        """PostgreSQL's type category: N numbers, S strings, D times, T interval, B boolean, A arrays, X unknown, U."""
        return "A" if self.element is not None else _CATEGORIES.get(self.name, "U")


_HOLDERS: Final[dict[str, pl.DataType]] = {
    "bool": pl.Boolean(),
    "int2": pl.Int16(),
    "int4": pl.Int32(),
    "int8": pl.Int64(),
    "numeric": pl.Int128(),
    "float4": pl.Float32(),
    "float8": pl.Float64(),
    "text": pl.String(),
    "bpchar": pl.String(),
    "unknown": pl.String(),
    "bytea": pl.Binary(),
    "date": pl.Date(),
    "time": pl.Time(),
    "interval": INTERVAL,
    "json": pl.String(),
    "jsonb": pl.String(),
    "void": pl.String(),
    "uuid": pl.String(),
    "jsonpath": pl.String(),
    "inet": pl.Binary(),
    "cidr": pl.Binary(),
    "tsvector": pl.String(),
    "tsquery": pl.String(),
}
_SQL_NAMES: Final = {
    "bool": "boolean",
    "int2": "smallint",
    "int4": "integer",
    "int8": "bigint",
    "float4": "real",
    "float8": "double precision",
    "timestamp": "timestamp without time zone",
    "timestamptz": "timestamp with time zone",
    "time": "time without time zone",
    "bpchar": "character",
}
_CATEGORIES: Final = {
    "bool": "B",
    "int2": "N",
    "int4": "N",
    "int8": "N",
    "numeric": "N",
    "float4": "N",
    "float8": "N",
    "text": "S",
    "bpchar": "S",
    "date": "D",
    "timestamp": "D",
    "timestamptz": "D",
    "time": "D",
    "interval": "T",
    "unknown": "X",
    "inet": "I",
    "cidr": "I",
    "record": "P",
}

BOOL: Final = PgType("bool")
INT2: Final = PgType("int2")
INT4: Final = PgType("int4")
INT8: Final = PgType("int8")
NUMERIC: Final = PgType("numeric")
FLOAT4: Final = PgType("float4")
FLOAT8: Final = PgType("float8")
TEXT: Final = PgType("text")
BPCHAR: Final = PgType("bpchar")
UNKNOWN: Final = PgType("unknown")
BYTEA: Final = PgType("bytea")
DATE: Final = PgType("date")
TIME: Final = PgType("time")
TIMESTAMP: Final = PgType("timestamp")
TIMESTAMPTZ: Final = PgType("timestamptz")
INTERVAL_TYPE: Final = PgType("interval")
JSON: Final = PgType("json")
JSONB: Final = PgType("jsonb")
UUID: Final = PgType("uuid")
JSONPATH: Final = PgType("jsonpath")
INET: Final = PgType("inet")
CIDR: Final = PgType("cidr")
VOID: Final = PgType("void")
TSVECTOR: Final = PgType("tsvector")
TSQUERY: Final = PgType("tsquery")

INTEGERS: Final = ("int2", "int4", "int8")
FLOATS: Final = ("float4", "float8")
NUMBERS: Final = ("int2", "int4", "int8", "numeric", "float4", "float8")
TIMESTAMPS: Final = ("timestamp", "timestamptz")
INTEGER_LIMITS: Final = {"int2": 2**15, "int4": 2**31, "int8": 2**63}
PREFERRED: Final = ("float8", "text", "timestamptz", "bool", "interval")

SIMPLE: Final = {
    pg_type.name: pg_type
    for pg_type in (
        BOOL,
        INT2,
        INT4,
        INT8,
        NUMERIC,
        FLOAT4,
        FLOAT8,
        TEXT,
        BPCHAR,
        UNKNOWN,
        BYTEA,
        DATE,
        TIME,
        TIMESTAMP,
        TIMESTAMPTZ,
        INTERVAL_TYPE,
        JSON,
        JSONB,
        UUID,
        JSONPATH,
        INET,
        CIDR,
        VOID,
        TSVECTOR,
        TSQUERY,
    )
}

# What PostgreSQL casts without being asked; pg_cast with castcontext 'i'.
IMPLICIT: Final[dict[str, tuple[str, ...]]] = {
    "int2": ("int4", "int8", "numeric", "float4", "float8"),
    "int4": ("int8", "numeric", "float4", "float8"),
    "int8": ("numeric", "float4", "float8"),
    "numeric": ("float4", "float8"),
    "float4": ("float8",),
    "date": ("timestamp", "timestamptz"),
    "timestamp": ("timestamptz",),
    "time": ("interval",),
    "bpchar": ("text",),
    "cidr": ("inet",),
}


def array_of(element: PgType) -> PgType:
    """The array type over `element`."""
    return PgType("array", element=element)


def dimensions(pg_type: PgType) -> int:
    """How many dimensions an array has; 0 for what is none."""
    return 0 if pg_type.element is None else 1 + dimensions(pg_type.element)


def leaf(pg_type: PgType) -> PgType:
    """What an array holds, through all of its dimensions; of what is none the type itself."""
    return pg_type if pg_type.element is None else leaf(pg_type.element)


def nested(element: PgType, count: int) -> PgType:
    """The array over `element` with so many dimensions."""
    return element if count == 0 else array_of(nested(element, count - 1))


def numeric(scale: int, exact: bool = True, special: bool = False) -> PgType:
    """numeric whose values are held with `scale` digits after the point."""
    return PgType("numeric", scale=scale, exact=exact, special=special)


def is_json(pg_type: PgType) -> bool:
    return pg_type.name in ("json", "jsonb")


_KEYED: Final = ("interval", "array", "jsonb")


def is_keyed(pg_type: PgType) -> bool:
    """True for a type whose values sort by something else than themselves: query.expr.sort_keys."""
    return pg_type.name in _KEYED


def same(left: PgType, right: PgType) -> bool:
    """True for the same PostgreSQL type, whatever the scale or time unit."""
    if left.element is not None and right.element is not None:
        return same(left.element, right.element)
    return left.name == right.name


def implicit(source: PgType, target: PgType) -> bool:
    """True when PostgreSQL converts `source` to `target` without an explicit cast."""
    if same(source, target) or source.name == "unknown":
        return True
    if source.element is not None and target.element is not None:
        return implicit(source.element, target.element)
    return source.element is None and target.element is None and target.name in IMPLICIT.get(source.name, ())


def natural(source: PgType, target: PgType) -> PgType:
    """`target` with the scale or unit that keeps every value of `source`: what a cast without a modifier gives."""
    if target.element is not None and source.element is not None:
        return array_of(natural(source.element, target.element))
    if target.name == "numeric" and source.name == "numeric":
        return source
    if target.name == "numeric" and source.name in FLOATS:
        return numeric(FLOAT_SCALE, exact=False, special=True)
    if target.name == "numeric" and source.name in ("text", "json", "jsonb"):
        return numeric(TEXT_SCALE, exact=False)
    if target.name in TIMESTAMPS and source.name in TIMESTAMPS:
        return replace(target, unit=source.unit)
    return target


TEXT_SCALE: Final = 10
"""Digits after the point when text or JSON becomes numeric without a scale; a value with more is refused."""

FLOAT_SCALE: Final = 18
"""Digits after the point when a float8 becomes numeric; PostgreSQL keeps 15 significant digits."""


def widest(left: PgType, right: PgType) -> PgType:
    """The variant of the type that holds the values of both."""
    if left == right:
        return left
    if left.element is not None and right.element is not None:
        return array_of(widest(left.element, right.element))
    if left.name == "numeric":
        exact = left.exact and right.exact and left.scale == right.scale
        return numeric(max(left.scale, right.scale), exact, left.special or right.special)
    if left.name in TIMESTAMPS:
        return replace(left, unit="ns" if "ns" in (left.unit, right.unit) else "us")
    return left


def from_polars(dtype: pl.DataType) -> PgType | None:
    """The type of a stored column; None when PostgreSQL has none for it."""
    if isinstance(dtype, pl.List):
        inner = dtype.inner
        element = from_polars(inner if isinstance(inner, pl.DataType) else inner())
        return array_of(element) if element is not None else None
    if isinstance(dtype, pl.Datetime):
        unit = "ns" if dtype.time_unit == "ns" else "us"
        return replace(TIMESTAMPTZ if dtype.time_zone else TIMESTAMP, unit=unit)
    if isinstance(dtype, pl.Decimal):
        return numeric(dtype.scale)
    return _STORED.get(dtype.base_type())


_STORED: Final[dict[type[pl.DataType], PgType]] = {
    pl.Boolean: BOOL,
    pl.Int8: INT2,
    pl.UInt8: INT2,
    pl.Int16: INT2,
    pl.UInt16: INT4,
    pl.Int32: INT4,
    pl.UInt32: INT8,
    pl.Int64: INT8,
    pl.UInt64: NUMERIC,
    pl.Float32: FLOAT4,
    pl.Float64: FLOAT8,
    pl.String: TEXT,
    pl.Binary: BYTEA,
    pl.Date: DATE,
    pl.Time: TIME,
    pl.Null: TEXT,
}
