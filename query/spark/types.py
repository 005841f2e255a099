"""How Spark holds PostgreSQL's types: times are whole numbers of their unit, which no zone and no calendar changes.

numeric is here only as what sums of integers make.
"""

from typing import Any, Final

import polars as pl

from query.pg.types import PgType
from query.plan.tree import Constant, is_endless
from query.spark import messages
from query.spark.refusal import NotOnCluster

TIMES: Final = ("timestamp", "timestamptz")
_TYPES: Final = {
    "bool": "BOOLEAN",
    "int2": "SMALLINT",
    "int4": "INT",
    "int8": "BIGINT",
    "float8": "DOUBLE",
    "text": "STRING",
    "date": "DATE",
    "timestamp": "BIGINT",
    "timestamptz": "BIGINT",
}
_KINDS: Final = {
    "bool": "boolean",
    "int2": "short",
    "int4": "integer",
    "int8": "long",
    "float8": "double",
    "text": "string",
    "date": "date",
    "timestamp": "long",
    "timestamptz": "long",
}
# Documents that are carried along and not looked into.
CARRIED: Final = ("json", "jsonb")
SUMMED: Final = "DECIMAL(38,0)"


def require_plain(pg_type: PgType) -> str:
    """What Spark calls a type whose values it compares as PostgreSQL does. Raises NotOnCluster."""
    if pg_type.element is not None or pg_type.special or pg_type.name not in _TYPES:
        raise NotOnCluster(f"a value of type {pg_type.sql_name}")
    return _TYPES[pg_type.name]


def require_held(pg_type: PgType) -> None:
    """Raises NotOnCluster if Spark cannot even carry such values."""
    if pg_type.name in CARRIED or (pg_type.name == "numeric" and not pg_type.scale and not pg_type.special):
        return
    require_plain(pg_type)


def constant(scalar: Constant) -> Any:
    """Raises NotOnCluster."""
    type_text = require_plain(scalar.type)
    if scalar.value is None:
        return messages.null(type_text)
    if is_endless(scalar):
        raise NotOnCluster("an infinite time")
    return messages.literal(**{_KINDS[scalar.type.name]: scalar.value})


def received(rows: pl.DataFrame, name: str, pg_type: PgType) -> pl.Expr:
    """A column of an answer as the local engine holds it."""
    if pg_type.name in TIMES:
        return pl.col(name).cast(pl.Int64()).cast(pg_type.polars)
    return pl.col(name).cast(pg_type.polars)
