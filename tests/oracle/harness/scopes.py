"""What a generated expression may name: the tables' columns, by the type each is used as, and scopes of them."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

Columns = Mapping[str, str]
"""Column names with the type each is used as."""

# Values near the limits of a type are cut down, so that arithmetic stays inside it; the corpora test the limits.
TABLES: Final[Mapping[str, Columns]] = {
    "edge": {
        "id": "int4", "j": "int4", "f": "float8", "s": "text", "t": "text", "b": "bool", "ts": "timestamp", "d": "date",
    },
    "services": {"service": "text", "team": "text", "tier": "int4", "slo_ms": "float8"},
    "scalars": {"id": "int4", "n": "numeric", "s": "text", "b": "bool", "d": "date", "tz": "timestamptz", "i2": "int4"},
    "docs": {"id": "int8", "body": "jsonb", "tags": "text[]", "nums": "int8[]", "note": "text"},
    "(SELECT * FROM logs WHERE id <= 60)": {
        "id": "int8", "ts": "timestamp", "p_timestamp": "timestamptz", "level": "text", "service": "text",
        "status": "int4", "latency": "float8", "bytes": "int8", "message": "text", "ok": "bool", "region": "text",
    },
}  # fmt: skip
LARGE: Final[Mapping[str, Columns]] = {
    "logs": TABLES["(SELECT * FROM logs WHERE id <= 60)"],
    "metrics": {
        "ts": "timestamp", "metric_name": "text", "job": "text", "instance": "text", "le": "text", "value": "float8",
    },
    "spans": {
        "span_id": "text", "name": "text", "start_time": "timestamptz", "end_time": "timestamptz",
        "duration_ms": "float8", "error": "bool", "attributes": "jsonb", "codes": "int8[]", '"service.name"': "text",
        '"httpStatus"': "int8",
    },
}  # fmt: skip
KEYS: Final[Mapping[str, str]] = {
    "edge": "id", "scalars": "id", "docs": "id", "(SELECT * FROM logs WHERE id <= 60)": "id", "logs": "id",
    "spans": "span_id",
}  # fmt: skip
WIDE: Final = frozenset({"scalars.i2", "scalars.n"})


@dataclass(frozen=True)
class Reference:
    """A column in scope."""

    sql: str
    kind: str


@dataclass(frozen=True)
class Scope:
    """What expressions may name. `key` orders the rows totally, where the source has one."""

    columns: tuple[Reference, ...]
    key: str | None = None
