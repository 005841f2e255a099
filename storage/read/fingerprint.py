"""The fingerprint of a snapshot: it names what the snapshot holds, without reading it. Same fingerprint, same results.

Files are immutable, and so are the records of a segment. A file or record that is only partly in the snapshot's range
gets no fingerprint.
"""

import os
from dataclasses import dataclass
from typing import Final

from models.values.column import Schema
from storage.read.contents import Snapshot
from storage.wal.index import SegmentIndex

# A dataset that gets more records than this in a window has new ones at every query, so a fingerprint is of no use.
MOST_RECORDS: Final = 1000


@dataclass(frozen=True, slots=True)
class Fingerprint:
    """The columns of a range and what holds its events: files by path, records by segment and where they are there."""

    schema: Schema
    time_column: str
    files: tuple[str, ...]
    records: tuple[tuple[str, int, int], ...]


def fingerprint(snapshot: Snapshot, index: SegmentIndex) -> Fingerprint | None:
    """The snapshot's fingerprint; None if a file or record may be partly in the range, or gone, or too many are."""
    start, end = snapshot.start, snapshot.end
    for file in snapshot.files:
        if (start is not None and file.tmin < start) or (end is not None and file.tmax >= end):
            return None
    records = _record_ids(snapshot, index)
    if records is None or not all(map(snapshot.has_times, snapshot.files)):
        return None
    return Fingerprint(snapshot.schema, snapshot.time_column, tuple(file.path for file in snapshot.files), records)


def is_outside_range(snapshot: Snapshot, index: SegmentIndex) -> bool:
    """True when the dataset has rows, and none of them in the snapshot's range. False where that is not known."""
    if snapshot.files or (snapshot.start is None and snapshot.end is None):
        return False
    has_rows = snapshot.has_files_outside
    for segment in snapshot.segments:
        try:
            fd = os.open(segment.path, os.O_RDONLY | os.O_CLOEXEC)
        except FileNotFoundError:
            return False
        try:
            indexed = index.update(segment, fd)
        finally:
            os.close(fd)
        if indexed.is_cut_by(segment.size):
            return False
        locations = indexed.locations(snapshot.schema.dataset_id, segment.size)
        if any(snapshot.times_from or location.may_be_in(snapshot.start, snapshot.end) for location in locations):
            return False
        has_rows = has_rows or bool(locations)
    return has_rows


def _record_ids(snapshot: Snapshot, index: SegmentIndex) -> tuple[tuple[str, int, int], ...] | None:
    index.forget(snapshot.segments)
    records: list[tuple[str, int, int]] = []
    for segment in snapshot.segments:
        try:
            fd = os.open(segment.path, os.O_RDONLY | os.O_CLOEXEC)
        except FileNotFoundError:
            return None
        try:
            indexed = index.update(segment, fd)
        finally:
            os.close(fd)
        if indexed.is_cut_by(segment.size):
            return None
        for location in indexed.locations(snapshot.schema.dataset_id, segment.size):
            if snapshot.times_from:
                return None
            if location.is_in(snapshot.start, snapshot.end) and len(records) < MOST_RECORDS:
                records.append((segment.name, location.start, location.end))
            elif location.may_be_in(snapshot.start, snapshot.end):
                return None
    return tuple(records)
