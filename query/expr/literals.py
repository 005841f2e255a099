"""Constants -> Polars literals, and a collected value -> constant."""

from collections.abc import Iterable
from datetime import UTC, date, datetime, time, timedelta
from functools import lru_cache

import polars as pl

from query.pg.timestamps import EPOCH, EPOCH_DAY
from query.pg.types import PgType
from query.plan.tree import Constant

_DATE_DAYS = range(1 - EPOCH_DAY, date.max.toordinal() - EPOCH_DAY)
_MOST_KEPT = 1024


def literal(constant: Constant) -> pl.Expr:
    """The expression of a constant, in a form that reaches a scan's statistics."""
    value, kind = constant.value, constant.type
    if value is None:
        return pl.lit(None, dtype=kind.polars)
    if kind.element is not None and isinstance(value, tuple):
        return pl.lit(pl.Series([series_of(value, kind.element)], dtype=kind.polars)).first()
    if kind.name == "interval" and isinstance(value, tuple):
        months, days, us = value
        return pl.struct(
            pl.lit(months, dtype=pl.Int32).alias("months"),
            pl.lit(days, dtype=pl.Int32).alias("days"),
            pl.lit(us, dtype=pl.Int64).alias("us"),
        )
    if isinstance(value, int) and not isinstance(value, bool):
        return _whole(value, kind)
    # Polars gives these the type that they have here; naming it costs five times the literal.
    plain = (isinstance(value, str) and kind.polars == pl.String) or (isinstance(value, bool) and kind.name == "bool")
    return pl.lit(value) if plain else pl.lit(value, dtype=kind.polars)


@lru_cache(maxsize=_MOST_KEPT)
def _whole(value: int, kind: PgType) -> pl.Expr:
    """The literal of a whole number, or of what is held as one. Kept, since a few of them are most of the literals."""
    if kind.name in ("timestamp", "timestamptz"):
        # Folded while the plan is optimised; a tenth of what it costs to make it from a datetime.
        return pl.lit(value, dtype=pl.Int64).cast(kind.polars)
    stored = _stored(value, kind)
    if isinstance(stored, int) and kind.name == "date":
        return pl.lit(stored, dtype=pl.Int32).cast(kind.polars)
    return pl.lit(stored, dtype=kind.polars)


def series_of(values: Iterable[object], kind: PgType) -> pl.Series:
    """A column of constants of one type."""
    if kind.name in ("date", "timestamp", "timestamptz"):
        return pl.Series(values, dtype=pl.Int32 if kind.name == "date" else pl.Int64).cast(kind.polars)
    return pl.Series([_stored(value, kind) for value in values], dtype=kind.polars)


def _stored(value: object, kind: PgType) -> object:
    """A constant's value as a Polars series takes it."""
    if kind.element is not None and isinstance(value, tuple):
        return [_stored(item, kind.element) for item in value]
    if kind.name == "interval" and isinstance(value, tuple):
        return dict(zip(("months", "days", "us"), value, strict=True))
    if value is None or not isinstance(value, int) or isinstance(value, bool):
        return value
    if kind.name == "date" and value in _DATE_DAYS:
        return date.fromordinal(value + EPOCH_DAY)
    if kind.name == "time":
        return (datetime(1970, 1, 1) + timedelta(microseconds=value)).time()
    return value


def constant_of(value: object, kind: PgType) -> Constant:
    """The constant behind a value that Polars computed (`physical` for times, see `collected`)."""
    if isinstance(value, pl.Series):
        value = value.to_list()
    if isinstance(value, list) and kind.element is not None:
        return Constant(kind, tuple(constant_of(item, kind.element).value for item in value))
    if isinstance(value, dict):
        return Constant(kind, tuple(value[name] for name in ("months", "days", "us")))
    if isinstance(value, datetime):
        moment = value if value.tzinfo else value.replace(tzinfo=UTC)
        return Constant(kind, _us(moment))
    if isinstance(value, date):
        return Constant(kind, value.toordinal() - EPOCH_DAY)
    if isinstance(value, time):
        return Constant(kind, ((value.hour * 60 + value.minute) * 60 + value.second) * 1_000_000 + value.microsecond)
    return Constant(kind, value)


def _us(moment: datetime) -> int:
    difference = moment - EPOCH
    return (difference.days * 86_400 + difference.seconds) * 1_000_000 + difference.microseconds
