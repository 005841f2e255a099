"""What a snapshot holds, without reading it: as long as that is the same, so is every answer from it.

Files are immutable, and so are the frames of a segment. What is only partly in the snapshot's range has no such name.
"""

import os
from dataclasses import dataclass
from typing import Final

from models.column import Schema
from storage.read.snapshot import Snapshot
from storage.wal.index import SegmentIndex

# Of a dataset that gets more frames than this in a window something is new whenever it is looked at.
MOST_FRAMES: Final = 1000


@dataclass(frozen=True, slots=True)
class Fingerprint:
    """The columns, the files by path and the frames by segment and place that all of a range's events are in."""

    schema: Schema
    time_column: str
    files: tuple[str, ...]
    frames: tuple[tuple[str, int], ...]


def fingerprint(snapshot: Snapshot, places: SegmentIndex) -> Fingerprint | None:
    """What the snapshot holds; None when something is partly in its range, or too much to be listed, or gone."""
    start, end = snapshot.start, snapshot.end
    for file in snapshot.files:
        if (start is not None and file.tmin < start) or (end is not None and file.tmax >= end):
            return None
    frames = _frames(snapshot, places)
    if frames is None:
        return None
    return Fingerprint(snapshot.schema, snapshot.time_column, tuple(file.path for file in snapshot.files), frames)


def is_outside_range(snapshot: Snapshot, index: SegmentIndex) -> bool:
    """True when the dataset has rows, and none of them in the snapshot's range. False where that is not known."""
    if snapshot.files or (snapshot.start is None and snapshot.end is None):
        return False
    has_rows = snapshot.has_files_outside
    for segment in snapshot.staged:
        try:
            fd = os.open(segment.path, os.O_RDONLY | os.O_CLOEXEC)
        except FileNotFoundError:
            return False
        try:
            locations = index.walked(segment, fd).places(snapshot.schema.dataset_id, segment.size)
        finally:
            os.close(fd)
        if any(location.may_be_in(snapshot.start, snapshot.end) for location in locations):
            return False
        has_rows = has_rows or bool(locations)
    return has_rows


def _frames(snapshot: Snapshot, places: SegmentIndex) -> tuple[tuple[str, int], ...] | None:
    places.forget(snapshot.staged)
    found: list[tuple[str, int]] = []
    for each in snapshot.staged:
        try:
            fd = os.open(each.path, os.O_RDONLY | os.O_CLOEXEC)
        except FileNotFoundError:
            return None
        try:
            walked = places.walked(each, fd)
        finally:
            os.close(fd)
        for place in walked.places(snapshot.schema.dataset_id, each.size):
            if place.is_in(snapshot.start, snapshot.end) and len(found) < MOST_FRAMES:
                found.append((each.name, place.start))
            elif place.may_be_in(snapshot.start, snapshot.end):
                return None
    return tuple(found)
