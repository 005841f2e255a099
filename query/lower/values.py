"""Constants -> Polars literals, and a collected value -> constant."""

from collections.abc import Iterable
from datetime import UTC, date, datetime, time, timedelta

import polars as pl

from query.bound import Constant
from query.moments import EPOCH, EPOCH_DAY
from query.types import PgType

_DATE_DAYS = range(1 - EPOCH_DAY, date.max.toordinal() - EPOCH_DAY)
_US_RANGE = range(-62_135_596_800_000_000, 253_402_300_800_000_000)


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
    stored = _stored(value, kind)
    if isinstance(stored, int) and kind.name in ("date", "timestamp", "timestamptz"):
        return pl.lit(stored, dtype=pl.Int32 if kind.name == "date" else pl.Int64).cast(kind.polars)
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
    if kind.name in ("timestamp", "timestamptz") and kind.unit == "us" and value in _US_RANGE:
        moment = EPOCH + timedelta(microseconds=value)
        return moment if kind.name == "timestamptz" else moment.replace(tzinfo=None)
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
