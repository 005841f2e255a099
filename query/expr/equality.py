"""Values that are equal though they differ in form: '1 mon' and '30 days', and 1 and 1.0 in JSON, have one key."""

import polars as pl

from query.expr.sort_keys import sort_key
from query.pg.types import PgType


def is_matched_by_key(pg_type: PgType) -> bool:
    """True for a type of which different values may be equal: interval, jsonb, and what holds them."""
    parts = (pg_type.element,) if pg_type.element is not None else pg_type.fields
    return pg_type.name in ("interval", "jsonb") or any(part is not None and is_matched_by_key(part) for part in parts)


def match_key(value: pl.Expr, pg_type: PgType) -> pl.Expr:
    """The key that values of the type are grouped and joined by."""
    if not is_matched_by_key(pg_type):
        return value
    if pg_type.fields:
        parts = enumerate(pg_type.fields)
        key = pl.struct(match_key(value.struct.field(f"f{index}"), part).alias(f"f{index}") for index, part in parts)
        return pl.when(value.is_not_null()).then(key)
    return sort_key(value, pg_type)


def once(value: pl.Expr, pg_type: PgType) -> pl.Expr:
    """Each value of a group once."""
    return value.filter(match_key(value, pg_type).is_first_distinct()) if is_matched_by_key(pg_type) else value.unique()
