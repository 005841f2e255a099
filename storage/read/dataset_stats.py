"""The account of a dataset: exact numbers for its statistics, over converted and unconverted events alike."""

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time
from typing import Final, NamedTuple, TypeVar

import polars as pl

from errors import StorageUnavailable
from models import dataset_totals
from models.dataset import Dataset
from models.dataset_totals import Day, Total
from storage.context import Layout
from storage.read.listing import list_unconverted
from storage.times import to_us, within
from storage.wal.index import RecordLocation, scan_headers
from storage.wal.records import checked, to_rows
from storage.wal.segments import SegmentRef

S = TypeVar("S")
R = TypeVar("R")

DAY_NS: Final = 86_400 * 10**9
# Each attempt meets a segment that is deleted right then only with a delay as long as the grace.
MOST_ATTEMPTS: Final = 5


@dataclass(frozen=True, slots=True)
class DatasetStats:
    """Events and bytes of their bodies: ever, and now; bytes stored as Parquet: now, and deleted. Times in ns."""

    lifetime_events: int
    lifetime_body_bytes: int
    events: int
    body_bytes: int
    stored_bytes: int
    deleted_stored_bytes: int
    first: int | None
    last: int | None


class Found(NamedTuple):
    """A frame of a segment."""

    staged: SegmentRef
    place: RecordLocation


def dataset_stats(layout: Layout, target: Dataset) -> DatasetStats:
    """The dataset's account at one moment. Raises StorageUnavailable."""
    return _count(layout, target, lambda: dataset_totals.total(target.id), _add)


def day_stats(layout: Layout, target: Dataset, on: date) -> Day:
    """What the dataset has of one day (UTC), by the time its range filter uses. Raises StorageUnavailable."""
    start = to_us(datetime.combine(on, time(), UTC)) * 1000
    end = start + DAY_NS
    return _count(
        layout,
        target,
        lambda: dataset_totals.between(target.id, start, end),
        lambda stored, frames: _add_day(stored, frames, target.time_column, start, end),
    )


def _count(layout: Layout, target: Dataset, stored: Callable[[], S], add: Callable[[S, Sequence[Found]], R]) -> R:
    """`add` of what the manifest says and the frames that are not in it yet, both of one moment."""
    for _ in range(MOST_ATTEMPTS):
        with list_unconverted(layout) as staged:
            known = stored()
        try:
            return add(known, _frames(staged, target.id))
        except FileNotFoundError:
            continue
    raise StorageUnavailable("segments were converted faster than they could be counted")


def _frames(staged: Sequence[SegmentRef], dataset_id: int) -> list[Found]:
    """The dataset's frames in the segments, by their headers. Raises FileNotFoundError."""
    found: list[Found] = []
    for each in staged:
        fd = os.open(each.path, os.O_RDONLY | os.O_CLOEXEC)
        try:
            found += [Found(each, place) for owner, place in scan_headers(fd, 0, each.size) if owner == dataset_id]
        finally:
            os.close(fd)
    return found


def _add(stored: Total, frames: Sequence[Found]) -> DatasetStats:
    places = [each.place for each in frames]
    events = sum(place.rows for place in places)
    body_bytes = sum(place.body_bytes for place in places)
    return DatasetStats(
        lifetime_events=stored.ingested_events + events,
        lifetime_body_bytes=stored.ingested_body_bytes + body_bytes,
        events=stored.events + events,
        body_bytes=stored.body_bytes + body_bytes,
        stored_bytes=stored.stored_bytes,
        deleted_stored_bytes=stored.deleted_stored_bytes,
        first=min((t for t in (stored.first, *(place.tmin for place in places)) if t is not None), default=None),
        last=max((t for t in (stored.last, *(place.tmax for place in places)) if t is not None), default=None),
    )


def _add_day(stored: Day, frames: Sequence[Found], time_column: str, start: int, end: int) -> Day:
    events, body_bytes = stored.events, stored.body_bytes
    for each in frames:
        inside = _inside(each, time_column, start, end)
        events += inside
        body_bytes += each.place.body_bytes * inside // each.place.rows
    return Day(events, body_bytes, stored.stored_bytes)


def _inside(found: Found, time_column: str, start: int, end: int) -> int:
    """How many of the frame's rows are in `[start, end)`. Only a frame that spans a midnight has to be decoded."""
    if not found.place.may_be_in(start, end):
        return 0
    if found.place.is_in(start, end):
        return found.place.rows
    rows = _decoded(found)
    dtype = rows.schema.get(time_column)
    return rows.filter(*within(time_column, dtype, start, end)).height if isinstance(dtype, pl.Datetime) else 0


def _decoded(found: Found) -> pl.DataFrame:
    """The rows of the frame; none if it is damaged. Raises FileNotFoundError."""
    with open(found.staged.path, "rb") as segment:
        segment.seek(found.place.start)
        data = segment.read(found.place.end - found.place.start)
    frame = checked(memoryview(data), found.staged.name)
    return pl.DataFrame() if frame is None else to_rows(frame)
