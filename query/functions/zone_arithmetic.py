"""Instants on the clock of a time zone: months and days added there, series, and texts written and read there."""

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Final

import polars as pl

from query import fault
from query.expr.call_context import CallContext
from query.expr.interval_fields import interval_parts
from query.expr.row_errors import row_fault
from query.expr.text_output import to_text
from query.functions.formats import printed, printed_tokens
from query.functions.registry import define
from query.functions.time_reading import reader
from query.functions.time_zones import to_local, zone_of
from query.limits import MAX_SERIES_ROWS
from query.pg.bad_values import BadLiteral, UnsupportedLiteral
from query.pg.intervals import DAY
from query.pg.text_input import read
from query.pg.time_zones import Zone, local_to_utc
from query.pg.timestamps import EPOCH, months_later
from query.pg.types import TIMESTAMPTZ, PgType, array_of, widest

_FAMILY: Final = "Date and time"


def _first(types: tuple[PgType, ...]) -> PgType:
    return types[0]


@define(
    "date_add(timestamptz, interval, text!) -> timestamptz",
    "Later by an interval, its months and days counted in a time zone.",
    family=_FAMILY,
    result=_first,
)
def date_add(context: CallContext, value: pl.Expr, amount: pl.Expr, zone: object) -> pl.Expr:
    return _moved(context, value, amount, zone_of(context, zone), 1)


@define(
    "date_subtract(timestamptz, interval, text!) -> timestamptz",
    "Earlier by an interval, its months and days counted in a time zone.",
    family=_FAMILY,
    result=_first,
)
def date_subtract(context: CallContext, value: pl.Expr, amount: pl.Expr, zone: object) -> pl.Expr:
    return _moved(context, value, amount, zone_of(context, zone), -1)


def _moved(context: CallContext, value: pl.Expr, amount: pl.Expr, zone: Zone, sign: int) -> pl.Expr:
    """Months, then days, each on the zone's clock, then the time, which is as long in every zone
    (timestamptz_pl_interval_internal)."""
    scale = 1000 if context.result.unit == "ns" else 1

    def moved(at: int, months: int, days: int, us: int) -> int:
        whole, rest = divmod(at, scale)
        later = _stepper(zone, sign * months, sign * days, timedelta(microseconds=sign * us))
        return (later(EPOCH + timedelta(microseconds=whole)) - EPOCH) // timedelta(microseconds=1) * scale + rest

    return context.rowwise(moved, value.to_physical(), *interval_parts(amount))


def _series_kind(types: tuple[PgType, ...]) -> PgType:
    return array_of(widest(types[0], types[1]))


@define(
    "generate_series(timestamptz, timestamptz, interval!, text!) -> timestamptz[]",
    "Times from start to end by steps, their months and days counted in a time zone.",
    family="Arrays",
    result=_series_kind,
)
def generate_times(context: CallContext, start: pl.Expr, end: pl.Expr, step: object, zone: object) -> pl.Expr:
    """One step after the other, as PostgreSQL takes them: a reading that the clock skips moves all that follow."""
    months, days, us = step if isinstance(step, tuple) else (0, 0, 0)
    span = (months * 30 + days) * DAY + us
    if span == 0:
        raise fault.invalid(fault.INVALID_PARAMETER, "step size cannot equal zero", context.position)
    if "ns" in (context.types[0].unit, context.types[1].unit):
        raise fault.unsupported("generate_series in a time zone over nanoseconds", context.position)
    later = _stepper(zone_of(context, zone), months, days, timedelta(microseconds=us))

    def walk(first: int, last: int) -> list[int]:
        moments, at = list[int](), first
        while at <= last if span > 0 else at >= last:
            moments.append(at)
            if len(moments) > MAX_SERIES_ROWS:
                raise row_fault(fault.PROGRAM_LIMIT, "generate_series would make too many rows", context.position)
            at = (later(EPOCH + timedelta(microseconds=at)) - EPOCH) // timedelta(microseconds=1)
        return moments

    return context.rowwise(walk, start.to_physical(), end.to_physical())


def _stepper(zone: Zone, months: int, days: int, clock: timedelta) -> Callable[[datetime], datetime]:
    def local(moment: datetime) -> datetime:
        return moment.astimezone(zone.rules).replace(tzinfo=None)

    def later(moment: datetime) -> datetime:
        try:
            moment = local_to_utc(months_later(local(moment), months), zone) if months else moment
            moment = local_to_utc(local(moment) + timedelta(days=days), zone) if days else moment
            return moment + clock
        except (OverflowError, ValueError) as error:
            raise UnsupportedLiteral("a date outside of the years 1 to 9999") from error

    return later


@define("text at zone(timestamptz, text!, bool!) -> text", "The text of an instant in a time zone.", family=_FAMILY)
def text_at_zone(context: CallContext, value: pl.Expr, zone: object, in_json: object) -> pl.Expr:
    naive = PgType("timestamp", unit=context.types[0].unit)
    local = to_local(CallContext(context.types, naive, context.position), value, zone_of(context, zone))
    unit = 10**9 if naive.unit == "ns" else 10**6
    seconds = (local.to_physical() - value.to_physical()) // unit
    text = to_text(context, local, naive)
    text = text.str.replace(" ", "T", literal=True) if in_json else text
    return text + _offset_text(seconds, is_long=bool(in_json))


def _offset_text(seconds: pl.Expr, is_long: bool) -> pl.Expr:
    """Hours east of UTC, with minutes and seconds where there are any; minutes always if `is_long` (EncodeTimezone)."""
    size = seconds.abs()
    sign = pl.when(seconds < 0).then(pl.lit("-")).otherwise(pl.lit("+"))
    hours, minutes, rest = (part.cast(pl.String).str.zfill(2) for part in (size // 3600, size // 60 % 60, size % 60))
    has_minutes = pl.lit(True) if is_long else size % 3600 != 0
    minutes = pl.when(has_minutes).then(pl.lit(":") + minutes).otherwise(pl.lit(""))
    rest = pl.when(size % 60 != 0).then(pl.lit(":") + rest).otherwise(pl.lit(""))
    return pl.concat_str([sign, hours, minutes, rest])


@define(
    "instant at zone(text, text!, bool!) -> timestamptz",
    "The instant that a text means in a time zone; NULL instead of an error if asked so.",
    family=_FAMILY,
)
def instant_at_zone(context: CallContext, text: pl.Expr, zone: object, lenient: object) -> pl.Expr:
    zone_of(context, zone)

    def instant(value: str) -> object:
        try:
            return read(value, TIMESTAMPTZ, str(zone))
        except (BadLiteral, UnsupportedLiteral):
            if lenient:
                return None
            raise

    return context.rowwise(instant, text)


@define(
    "to_timestamp at zone(text, text!, text!) -> timestamptz",
    "An instant by a template without a zone, in a time zone.",
    family=_FAMILY,
)
def to_timestamp_at_zone(context: CallContext, value: pl.Expr, template: object, zone: object) -> pl.Expr:
    read = reader(template, zone_of(context, zone))
    return context.rowwise(lambda text: (read(text) - EPOCH) // timedelta(microseconds=1), value)


@define(
    "to_char at zone(timestamptz, text!, text!) -> text",
    "An instant by a template with fields of the zone, in a time zone.",
    family=_FAMILY,
)
def to_char_at_zone(context: CallContext, value: pl.Expr, template: object, zone: object) -> pl.Expr:
    found, parsed = zone_of(context, zone), printed_tokens(context, template)
    if not found.name and any(token.field.upper() == "TZ" for token in parsed):
        raise fault.unsupported("template pattern TZ in a time zone without a name", context.position, "name a place")
    return context.rowwise(
        lambda moment: printed(parsed, moment.astimezone(found.rules)), value.dt.cast_time_unit("us")
    )


@define("offset at zone(timestamptz, text!) -> int8", "Seconds east of UTC of a zone's clock.", family=_FAMILY)
def offset_at_zone(context: CallContext, value: pl.Expr, zone: object) -> pl.Expr:
    naive = PgType("timestamp", unit=context.types[0].unit)
    local = to_local(CallContext(context.types, naive, context.position), value, zone_of(context, zone))
    return (local.to_physical() - value.to_physical()) // (10**9 if naive.unit == "ns" else 10**6)
