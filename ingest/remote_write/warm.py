"""The short way for what Prometheus mostly sends: series of labels and one sample.

Such a series ends in its sample, 18 bytes, or 9 where the value is 0 and so left out:

    12 10  09 <double>  10 <varint of 6 bytes>          12 07  10 <varint of 6 bytes>

What stands before it is looked up in the catalogue as it is. Nothing is assumed: a label set enters the catalogue only
after it was parsed as a message of nothing but labels, so that a sample begins where it ends, and every sample is
held against its pattern. Whatever does not fit makes the whole request take the plain way.
"""

from collections.abc import Iterable
from typing import Final

import polars as pl

from columns import POLARS_TYPES, ColumnType
from ingest.remote_write.catalogue import Generation
from ingest.remote_write.rows import (
    IS_STALE,
    METRIC_NAME,
    METRIC_TYPE,
    STALE,
    TIME,
    VALUE,
    DecodedSamples,
    batch_of,
)
from ingest.remote_write.series import METRIC_NAME_LABEL, UNKNOWN

_WITH_VALUE: Final = b"\x12\x10\x09"
_WITHOUT_VALUE: Final = b"\x12\x07\x10"

# The last eight bytes of a sample of either form as a little-endian number: the tag 0x10 in the second byte, then six
# bytes of varint, all but the last with their high bit set. Six bytes hold the years 1971 to 2109 in ms.
_TIME_MASK: Final = 0x80_80_80_80_80_80_FF_00
_TIME_PATTERN: Final = 0x00_80_80_80_80_80_10_00


def decode_warm(encoded: Iterable[bytes], generation: Generation, max_columns: int) -> DecodedSamples | None:
    """The rows of encoded series, or None if one of them needs the plain way. Raises TooManyColumns."""
    messages = list(encoded)
    series = pl.Series(messages, dtype=pl.Binary)
    has_value = _stands_at(series, -18, _WITH_VALUE)
    if not (has_value | _stands_at(series, -9, _WITHOUT_VALUE)).all():
        return None
    times = _times(series)
    cut = zip(messages, has_value.to_list(), strict=True)
    numbers = _numbers([message[:-18] if has else message[:-9] for message, has in cut], generation)
    if times is None or numbers is None:
        return None
    labels = generation.columns(numbers, max_columns)
    names = labels.pop(METRIC_NAME_LABEL, _constant(None, ColumnType.UTF8, len(series)))
    is_stale = has_value & _stands_at(series, -15, STALE)
    own = {
        METRIC_NAME: names,
        METRIC_TYPE: _constant(UNKNOWN, ColumnType.UTF8, len(series)),
        TIME: times,
        VALUE: _values(series, has_value, is_stale),
        IS_STALE: is_stale,
    }
    return DecodedSamples(batch_of(own, labels, len(series)), samples=len(series))


def _stands_at(series: pl.Series, offset: int, pattern: bytes) -> pl.Series:
    return series.bin.slice(offset, len(pattern)) == pl.Series([pattern], dtype=pl.Binary)


def _numbers(label_sets: list[bytes], generation: Generation) -> list[int] | None:
    """The catalogue's numbers of encoded label sets, None if one is something else."""
    try:
        return list(map(generation.numbers.__getitem__, label_sets))
    except KeyError:
        numbers = [generation.number(labels) for labels in label_sets]
        known = [number for number in numbers if number is not None]
        return known if len(known) == len(numbers) else None


def _values(series: pl.Series, has_value: pl.Series, is_stale: pl.Series) -> pl.Series:
    """The doubles: 0 where left out, null where the series has ended."""
    doubles = series.bin.slice(-15, 8).bin.reinterpret(dtype=pl.Float64)
    values = doubles.zip_with(has_value, _constant(0.0, ColumnType.FLOAT64, len(series)))
    return values.zip_with(~is_stale, _constant(None, ColumnType.FLOAT64, len(series)))


def _times(series: pl.Series) -> pl.Series | None:
    """The timestamps, None if one is not the varint that is expected."""
    words = series.bin.tail(8).bin.reinterpret(dtype=pl.UInt64)
    if not ((words & _TIME_MASK) == _TIME_PATTERN).all():
        return None
    # Seven bits of each byte, joined two bytes at a time: the varint's least significant group comes first.
    pairs = (words // 0x1_0000 & 0x7F_00_7F_00_7F) + (words // 0x2_0000 & 0x3F_80_3F_80_3F_80)
    milliseconds = (pairs & 0x3FFF) + (pairs // 0x4 & 0xFFF_C000) + (pairs // 0x10 & 0x3FF_F000_0000)
    nanoseconds = milliseconds.cast(pl.Int64) * 1_000_000
    return nanoseconds.cast(POLARS_TYPES[ColumnType.TIMESTAMP_NS])


def _constant(value: object, type: ColumnType, height: int) -> pl.Series:
    return pl.Series([value], dtype=POLARS_TYPES[type]).new_from_index(0, height)
