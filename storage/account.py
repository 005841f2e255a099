"""The account of a dataset: exact numbers for its statistics, over converted and unconverted events alike."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time
from pathlib import Path
from typing import Final, TypeVar

import polars as pl

from errors import StorageUnavailable
from models import total
from models.dataset import Dataset
from models.total import Day, Total
from storage.frames import Frame, decode, to_rows
from storage.names import Layout
from storage.segments import Staged
from storage.times import to_us, within
from storage.unconverted import unconverted

S = TypeVar("S")
R = TypeVar("R")

DAY_NS: Final = 86_400 * 10**9
# Each attempt meets a segment that is deleted right then only with a delay as long as the grace.
MOST_ATTEMPTS: Final = 5


@dataclass(frozen=True, slots=True)
class Account:
    """Events and bytes of their bodies: ever, and now; bytes stored as Parquet: now, and deleted. Times in ns."""

    lifetime_events: int
    lifetime_body_bytes: int
    events: int
    body_bytes: int
    stored_bytes: int
    deleted_stored_bytes: int
    first: int | None
    last: int | None


def account(layout: Layout, target: Dataset) -> Account:
    """The dataset's account at one moment. Raises StorageUnavailable."""
    return _count(layout, target, lambda: total.total(target.id), _add)


def day(layout: Layout, target: Dataset, on: date) -> Day:
    """What the dataset has of one day (UTC), by the time its range filter uses. Raises StorageUnavailable."""
    start = to_us(datetime.combine(on, time(), UTC)) * 1000
    end = start + DAY_NS
    return _count(
        layout,
        target,
        lambda: total.between(target.id, start, end),
        lambda stored, frames: _add_day(stored, frames, target.time_column, start, end),
    )


def _count(layout: Layout, target: Dataset, stored: Callable[[], S], add: Callable[[S, Sequence[Frame]], R]) -> R:
    """`add` of what the manifest says and the frames that are not in it yet, both of one moment."""
    for _ in range(MOST_ATTEMPTS):
        with unconverted(layout) as staged:
            known = stored()
        try:
            return add(known, _frames(staged, target.id))
        except FileNotFoundError:
            continue
    raise StorageUnavailable("segments were converted faster than they could be counted")


def _frames(staged: Sequence[Staged], dataset_id: int) -> list[Frame]:
    """The dataset's frames in the segments. Raises FileNotFoundError."""
    return [
        frame
        for each in staged
        for frame in decode(Path(each.path).read_bytes()[: each.size], each.name)
        if frame.dataset_id == dataset_id
    ]


def _add(stored: Total, frames: Sequence[Frame]) -> Account:
    events = sum(frame.rows for frame in frames)
    body_bytes = sum(frame.body_bytes for frame in frames)
    return Account(
        lifetime_events=stored.ingested_events + events,
        lifetime_body_bytes=stored.ingested_body_bytes + body_bytes,
        events=stored.events + events,
        body_bytes=stored.body_bytes + body_bytes,
        stored_bytes=stored.stored_bytes,
        deleted_stored_bytes=stored.deleted_stored_bytes,
        first=min((t for t in (stored.first, *(frame.tmin for frame in frames)) if t is not None), default=None),
        last=max((t for t in (stored.last, *(frame.tmax for frame in frames)) if t is not None), default=None),
    )


def _add_day(stored: Day, frames: Sequence[Frame], time_column: str, start: int, end: int) -> Day:
    events, body_bytes = stored.events, stored.body_bytes
    for frame in frames:
        inside = _inside(frame, time_column, start, end)
        events += inside
        body_bytes += frame.body_bytes * inside // frame.rows
    return Day(events, body_bytes, stored.stored_bytes)


def _inside(frame: Frame, time_column: str, start: int, end: int) -> int:
    """How many of the frame's rows are in `[start, end)`. Only a frame that spans a midnight has to be decoded."""
    if frame.tmax < start or frame.tmin >= end:
        return 0
    if start <= frame.tmin and frame.tmax < end:
        return frame.rows
    rows = to_rows(frame)
    dtype = rows.schema[time_column]
    return rows.filter(*within(time_column, dtype, start, end)).height if isinstance(dtype, pl.Datetime) else 0
