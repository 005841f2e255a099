"""The statistics of a dataset: exact numbers over converted and unconverted events."""

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time
from typing import Final, NamedTuple, TypeVar

import polars as pl

from errors import StorageUnavailable
from models import dataset_totals
from models.dataset_totals import Day, Total
from models.values.dataset import Dataset
from storage.context import Layout
from storage.read.listing import list_unconverted
from storage.times import to_us, within
from storage.wal.index import scan_headers
from storage.wal.locations import RecordLocation
from storage.wal.records import decode_first, to_rows
from storage.wal.segments import SegmentRef
from storage.write.event_time import complete_times_of

S = TypeVar("S")
R = TypeVar("R")

DAY_NS: Final = 86_400 * 10**9
# An attempt fails only if it takes longer than the grace, after which converted segments are deleted.
MOST_ATTEMPTS: Final = 5


@dataclass(frozen=True, slots=True)
class DatasetStats:
    """Events and bytes of their bodies: ever, and now; bytes stored as Parquet: now, those of them
    that are text indexes, and deleted. Times in ns."""

    lifetime_events: int
    lifetime_body_bytes: int
    events: int
    body_bytes: int
    stored_bytes: int
    index_bytes: int
    deleted_stored_bytes: int
    first: int | None
    last: int | None


class StoredRecord(NamedTuple):
    """A record and the segment that holds it."""

    segment: SegmentRef
    location: RecordLocation


def dataset_stats(layout: Layout, target: Dataset) -> DatasetStats:
    """The dataset's statistics at one moment. Raises StorageUnavailable."""
    return _count(layout, target, lambda: dataset_totals.total(target.id), _add)


def day_stats(layout: Layout, target: Dataset, on: date) -> Day:
    """The dataset's events of one day (UTC), by the dataset's time column. Raises StorageUnavailable."""
    start = to_us(datetime.combine(on, time(), UTC)) * 1000
    end = start + DAY_NS
    return _count(
        layout,
        target,
        lambda: dataset_totals.between(target.id, start, end),
        lambda stored, records: _add_day(stored, records, target, start, end),
    )


def _count(
    layout: Layout, target: Dataset, read_totals: Callable[[], S], add: Callable[[S, Sequence[StoredRecord]], R]
) -> R:
    """Call `add` with the manifest's totals and the records that the manifest lacks, both of one moment."""
    for _ in range(MOST_ATTEMPTS):
        with list_unconverted(layout) as unconverted:
            totals = read_totals()
        try:
            return add(totals, _list_records(unconverted.segments, target.id))
        except FileNotFoundError:
            continue
    raise StorageUnavailable("segments were converted faster than they could be counted")


def _list_records(segments: Sequence[SegmentRef], dataset_id: int) -> list[StoredRecord]:
    """The dataset's records in the segments, by their headers. Raises FileNotFoundError."""
    records: list[StoredRecord] = []
    for segment in segments:
        fd = os.open(segment.path, os.O_RDONLY | os.O_CLOEXEC)
        try:
            records += [
                StoredRecord(segment, location)
                for owner, location in scan_headers(fd, 0, segment.size)
                if owner == dataset_id
            ]
        finally:
            os.close(fd)
    return records


def _add(totals: Total, records: Sequence[StoredRecord]) -> DatasetStats:
    locations = [each.location for each in records]
    events = sum(location.rows for location in locations)
    body_bytes = sum(location.body_bytes for location in locations)
    return DatasetStats(
        lifetime_events=totals.ingested_events + events,
        lifetime_body_bytes=totals.ingested_body_bytes + body_bytes,
        events=totals.events + events,
        body_bytes=totals.body_bytes + body_bytes,
        stored_bytes=totals.stored_bytes,
        index_bytes=totals.index_bytes,
        deleted_stored_bytes=totals.deleted_stored_bytes,
        first=min(
            (t for t in (totals.first, *(location.tmin for location in locations)) if t is not None), default=None
        ),
        last=max((t for t in (totals.last, *(location.tmax for location in locations)) if t is not None), default=None),
    )


def _add_day(totals: Day, records: Sequence[StoredRecord], target: Dataset, start: int, end: int) -> Day:
    events, body_bytes = totals.events, totals.body_bytes
    for record in records:
        inside = _count_inside(record, target, start, end)
        events += inside
        body_bytes += record.location.body_bytes * inside // record.location.rows
    return Day(events, body_bytes, totals.stored_bytes)


def _count_inside(record: StoredRecord, target: Dataset, start: int, end: int) -> int:
    """How many of the record's rows are in `[start, end)`. Only a record that spans a midnight has to be decoded."""
    if target.times_from is None and not record.location.may_be_in(start, end):
        return 0
    if target.times_from is None and record.location.is_in(start, end):
        return record.location.rows
    rows = _decode(record)
    rows = complete_times_of(target, rows) if rows.height else rows
    dtype = rows.schema.get(target.time_stored)
    return rows.filter(*within(target.time_stored, dtype, start, end)).height if isinstance(dtype, pl.Datetime) else 0


def _decode(record: StoredRecord) -> pl.DataFrame:
    """The rows of the record; none if it is damaged. Raises FileNotFoundError."""
    with open(record.segment.path, "rb") as segment:
        segment.seek(record.location.start)
        data = segment.read(record.location.end - record.location.start)
    decoded = decode_first(memoryview(data), record.segment.name)
    return pl.DataFrame() if decoded is None else to_rows(decoded)
