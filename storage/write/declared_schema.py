"""Batches of datasets with a declared schema: a static schema, or a time field in the events. Pure.

A declared timestamp or date reads text (RFC 3339, the forms of access logs) and Unix times. Other columns never guess
a time from text (api.md section 4).
"""

import re
from collections.abc import Callable
from datetime import UTC, datetime
from decimal import Decimal
from email.utils import parsedate_to_datetime
from math import isfinite
from typing import Final

import polars as pl

from columns import POLARS_TYPES, WIDER, Batch, ColumnType, Field
from errors import InvalidEvent, SchemaMismatch
from models.values.column import Schema
from models.values.dataset import Dataset
from storage.times import LATEST_NS, UNIT_NS, to_us, unix_ns
from storage.write.column_mapping import is_large

TIMES: Final = frozenset({ColumnType.TIMESTAMP_US, ColumnType.TIMESTAMP_NS})
DAY_NS: Final = 86_400 * 10**9
FORMS: Final = "use RFC 3339 (2026-01-31T10:00:00.5Z), Unix time in s, ms, us or ns, or 31/Jan/2026:10:00:00 +0000"
# RFC 3339, with a space or nothing but the date allowed, a comma before the fraction as many loggers write it, no zone
# meaning UTC, and up to nanoseconds.
_TIME: Final = re.compile(
    r"(\d{4}-\d\d-\d\d)(?:[Tt ](\d\d:\d\d(?::\d\d)?)(?:[.,](\d{1,9}))? ?(Z|z|UTC|[+-]\d\d:?\d\d)?)?", re.ASCII
)
# Apache's and nginx's access logs: 22/Nov/2026:10:00:00 +0000, also in the brackets that stand around it there.
_COMMON_LOG: Final = re.compile(
    r"\[?(\d\d)/(Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)/(\d{4}):(\d\d:\d\d:\d\d) ([+-]\d{4})\]?", re.ASCII
)
_MONTHS: Final = "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec".split()
# HTTP dates (RFC 9110 section 5.6.7) and mail dates (RFC 5322 section 3.3): Sun, 22 Nov 2026 10:00:00 GMT.
_HTTP_DATE: Final = re.compile(
    r"[A-Z][a-z]{2}, \d\d? [A-Z][a-z]{2} \d{4} \d\d:\d\d:\d\d (?:GMT|UTC|[+-]\d{4})", re.ASCII
)
# Fewer digits are more likely a mistake than a time before 1973.
_UNIX: Final = re.compile(r"-?\d{9,19}(?:\.\d{1,9})?", re.ASCII)


def conform(batch: Batch, target: Dataset, schema: Schema) -> Batch:
    """The batch with its declared times converted. A static schema refuses fields that it does not have.

    Raises InvalidEvent for a value that is no time, SchemaMismatch for a field of another type or name.
    """
    columns: dict[Field, pl.Series] = {}
    for field, values in zip(batch.fields, batch.columns, strict=True):
        column = schema.by_name.get(field.name)
        column_type = field.type if column is None else column.type
        is_declared = target.static_schema or field.name == target.time_column
        converted = _convert(field, values, column_type) if is_declared else values
        if target.static_schema and (column is None or converted is None):
            raise _mismatch(target, field, None if column is None else column_type)
        if converted is None or not is_declared:
            _merge(columns, field, values)
        else:
            _merge(columns, Field(field.name, column_type), converted)
    return Batch(tuple(columns), tuple(columns.values()), batch.height)


def _merge(columns: dict[Field, pl.Series], field: Field, values: pl.Series) -> None:
    before = columns.get(field)
    columns[field] = values if before is None else before.zip_with(before.is_not_null(), values)


def _mismatch(target: Dataset, field: Field, column_type: ColumnType | None) -> SchemaMismatch:
    expected = "which it does not have" if column_type is None else f"which is {column_type} there"
    return SchemaMismatch(
        f"dataset {target.name!r} has a static schema; the events have {field.name!r} of type {field.type}, {expected}",
        field=field.name,
    )


def _convert(field: Field, values: pl.Series, column_type: ColumnType) -> pl.Series | None:
    """The values as `wanted`; None if that type does not take them. Raises InvalidEvent for a value that is no time."""
    if field.type is column_type:
        return values
    if column_type in TIMES or column_type is ColumnType.DATE:
        read = reader(field.type)
        return None if read is None else _times(field, values, column_type, read)
    if WIDER.get(field.type) is column_type and not is_large(values):
        return values.cast(POLARS_TYPES[column_type])
    return None


def reader(column_type: ColumnType) -> Callable[[object], int] | None:
    """The function that converts a physical value of the type to ns since 1970; None if there is none."""
    units = {
        ColumnType.DATE: DAY_NS,
        ColumnType.TIMESTAMP_US: UNIT_NS["us"],
        ColumnType.TIMESTAMP_NS: 1,
    }
    if column_type is ColumnType.UTF8:
        return lambda text: parse_time(str(text))
    if column_type is ColumnType.INT64:
        return lambda count: unix_ns(int(str(count)))
    if column_type is ColumnType.FLOAT64:
        return _of_float
    unit = units.get(column_type)
    return None if unit is None else lambda count: int(str(count)) * unit


def _times(field: Field, values: pl.Series, column_type: ColumnType, read: Callable[[object], int]) -> pl.Series:
    unit = {ColumnType.DATE: DAY_NS, ColumnType.TIMESTAMP_US: UNIT_NS["us"]}.get(column_type, 1)
    physical: list[int | None] = []
    for index, value in enumerate(values.to_physical()):
        try:
            physical.append(None if value is None else _counted(read(value), unit))
        except ValueError as error:
            raise InvalidEvent(f"{field.name!r} of event {index} is not a time: {error}", index=index) from error
    counts = pl.Series(field.name, physical, dtype=pl.Int64())
    return (counts.cast(pl.Int32()) if column_type is ColumnType.DATE else counts).cast(POLARS_TYPES[column_type])


def _counted(ns: int, unit: int) -> int:
    if within_years(ns) % unit:
        raise ValueError("more precise than the column")
    return ns // unit


def within_years(ns: int) -> int:
    """The time. Raises ValueError when a column of nanoseconds cannot hold it."""
    if abs(ns) > LATEST_NS:
        raise ValueError("outside the years 1677 to 2262")
    return ns


def _of_float(seconds: object) -> int:
    """The time of a float, read by the digits that it was written with: nginx's `$msec` is 1795305592.123."""
    value = float(str(seconds))
    if not isfinite(value):
        raise ValueError("not a finite number")
    return unix_ns(Decimal(repr(value)))


def parse_time(text: str) -> int:
    """Nanoseconds since 1970 of a time as text: RFC 3339, an access log's, an HTTP date, Unix time. Raises ValueError.

    >>> parse_time("1970-01-01T00:00:01.000000005Z"), parse_time("1970-01-01 01:00+01:00"), parse_time("1970-01-02")
    (1000000005, 0, 86400000000000)
    >>> parse_time("[01/Jan/1970:01:00:01 +0100]"), parse_time("Thu, 01 Jan 1970 00:00:02 GMT")
    (1000000000, 2000000000)
    >>> parse_time("1795305592.25")
    1795305592250000000
    """
    stripped = text.strip()
    if match := _TIME.fullmatch(stripped):
        return _of_rfc3339(match)
    if match := _COMMON_LOG.fullmatch(stripped):
        day, month, year, time, zone = match.groups()
        moment = f"{year}-{_MONTHS.index(month) + 1:02}-{day}T{time}{zone}"
        return to_us(datetime.fromisoformat(moment).astimezone(UTC)) * 1000
    if _HTTP_DATE.fullmatch(stripped):
        return to_us(parsedate_to_datetime(stripped.replace("UTC", "GMT")).astimezone(UTC)) * 1000
    if _UNIX.fullmatch(stripped):
        return unix_ns(Decimal(stripped))
    raise ValueError(FORMS)


def _of_rfc3339(match: re.Match[str]) -> int:
    day, time, fraction, zone = match.groups()
    moment = datetime.fromisoformat(f"{day}T{time or '00:00'}{(zone or 'Z').upper().replace('UTC', 'Z')}")
    return to_us(moment.astimezone(UTC)) * 1000 + int((fraction or "").ljust(9, "0"))
