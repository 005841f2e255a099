"""Constants -> Polars literals, and a collected value -> constant."""

from collections.abc import Iterable
from dataclasses import replace
from datetime import UTC, date, datetime, time, timedelta
from functools import lru_cache

import polars as pl

from query.fault import unsupported
from query.pg.special_numbers import float_of, stand_in
from query.pg.timestamps import EPOCH, EPOCH_DAY
from query.pg.types import NUMERIC_DIGITS, PgType
from query.plan.tree import Constant, is_endless, is_large

_DATE_DAYS = range(1 - EPOCH_DAY, date.max.toordinal() - EPOCH_DAY)
_MOST_KEPT = 1024
_TOO_MANY_DIGITS = f"a number of more than {NUMERIC_DIGITS} digits"


def literal(constant: Constant) -> pl.Expr:
    """The expression of a constant, in a form that reaches a scan's statistics."""
    value, pg_type = constant.value, constant.type
    if value is None:
        return pl.lit(None, dtype=pg_type.polars)
    if pg_type.element is not None and isinstance(value, tuple):
        return pl.lit(pl.Series([series_of(value, pg_type.element)], dtype=pg_type.polars)).first()
    if pg_type.name == "interval" and isinstance(value, tuple):
        months, days, us = value
        return pl.struct(
            pl.lit(months, dtype=pl.Int32).alias("months"),
            pl.lit(days, dtype=pl.Int32).alias("days"),
            pl.lit(us, dtype=pl.Int64).alias("us"),
        )
    if is_large(constant):
        raise unsupported(_TOO_MANY_DIGITS, constant.position)
    if isinstance(value, int) and not isinstance(value, bool):
        return _whole(value, pg_type)
    if isinstance(value, float) and pg_type.name == "numeric":
        return pl.lit(stand_in(value), dtype=pl.Int128)
    if is_endless(constant):
        raise unsupported("an infinite time that is not merely compared", constant.position)
    # Polars gives these the type that they have here; naming it costs five times the literal.
    plain = (isinstance(value, str) and pg_type.polars == pl.String) or (
        isinstance(value, bool) and pg_type.name == "bool"
    )
    return pl.lit(value) if plain else pl.lit(value, dtype=pg_type.polars)


@lru_cache(maxsize=_MOST_KEPT)
def _whole(value: int, pg_type: PgType) -> pl.Expr:
    """The literal of a whole number, or of what is held as one. Kept, since a few of them are most of the literals."""
    if pg_type.name in ("timestamp", "timestamptz"):
        # Folded while the plan is optimised; a tenth of what it costs to make it from a datetime.
        return pl.lit(value, dtype=pl.Int64).cast(pg_type.polars)
    stored = _to_stored(value, pg_type)
    if isinstance(stored, int) and pg_type.name == "date":
        return pl.lit(stored, dtype=pl.Int32).cast(pg_type.polars)
    return pl.lit(stored, dtype=pg_type.polars)


def series_of(values: Iterable[object], pg_type: PgType) -> pl.Series:
    """A column of constants of one type."""
    if pg_type.name in ("date", "timestamp", "timestamptz"):
        values = list(values)
        if any(isinstance(value, float) for value in values):
            raise unsupported("an infinite time that is not merely compared")
        return pl.Series(values, dtype=pl.Int32 if pg_type.name == "date" else pl.Int64).cast(pg_type.polars)
    return pl.Series([_to_stored(value, pg_type) for value in values], dtype=pg_type.polars)


def _to_stored(value: object, pg_type: PgType) -> object:
    """A constant's value as a Polars series takes it."""
    if pg_type.element is not None and isinstance(value, tuple):
        return [_to_stored(item, pg_type.element) for item in value]
    if pg_type.name == "interval" and isinstance(value, tuple):
        return dict(zip(("months", "days", "us"), value, strict=True))
    if pg_type.name == "numeric" and isinstance(value, float):
        return stand_in(value)
    if value is None or not isinstance(value, int) or isinstance(value, bool):
        return value
    if pg_type.name == "numeric" and abs(value) >= 10**NUMERIC_DIGITS:
        raise unsupported(_TOO_MANY_DIGITS)
    if pg_type.name == "date" and value in _DATE_DAYS:
        return date.fromordinal(value + EPOCH_DAY)
    if pg_type.name == "time":
        return (datetime(1970, 1, 1) + timedelta(microseconds=value)).time()
    return value


def constant_of(value: object, pg_type: PgType) -> Constant:
    """The constant behind a value that Polars computed (`physical` for times, see `collected`)."""
    if isinstance(value, pl.Series):
        value = value.to_list()
    if isinstance(value, list) and pg_type.element is not None:
        return Constant(pg_type, tuple(constant_of(item, pg_type.element).value for item in value))
    if isinstance(value, dict):
        return Constant(pg_type, tuple(value[name] for name in ("months", "days", "us")))
    if isinstance(value, datetime):
        moment = value if value.tzinfo else value.replace(tzinfo=UTC)
        return Constant(pg_type, _us(moment))
    if isinstance(value, date):
        return Constant(pg_type, value.toordinal() - EPOCH_DAY)
    if isinstance(value, time):
        return Constant(pg_type, ((value.hour * 60 + value.minute) * 60 + value.second) * 1_000_000 + value.microsecond)
    if pg_type.special and isinstance(value, int):
        special = float_of(value)
        return Constant(replace(pg_type, special=False), value) if special is None else Constant(pg_type, special)
    return Constant(pg_type, value)


def _us(moment: datetime) -> int:
    difference = moment - EPOCH
    return (difference.days * 86_400 + difference.seconds) * 1_000_000 + difference.microseconds
