"""The segments that are not converted, and the manifest of the same moment: what every exact reader starts with."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Final

from errors import StorageUnavailable
from models import host, segment
from models.base import snapshot_transaction
from storage.context import Layout
from storage.wal.segments import SegmentRef, list_segments

# From the listing of other hosts' segments to the manifest. Whoever is slower might find neither the segment nor the
# row that tells of its conversion, which goes after the grace: longer than this (storage/upkeep/maintenance.py).
LONGEST_LISTING: Final = timedelta(seconds=30)


@contextmanager
def list_unconverted(layout: Layout) -> Iterator[tuple[SegmentRef, ...]]:
    """The segments of all hosts whose events are not in the manifest that the block reads.

    Staging is listed before the manifest is read: a segment that is converted in between is then known as both
    listed and converted, and read from its files. In the other order its events would be in neither.

    Raises StorageUnavailable, HostMissing.
    """
    remembered = layout.converted
    listing = None if layout.peers is None else layout.peers.listing()
    others = listing.segments if listing is not None else ()
    segments = (
        *list_segments(layout.staging, remembered.names),
        *(each for each in others if each.name not in remembered.names),
    )
    with snapshot_transaction():
        converted = segment.converted([each.name for each in segments])
        if listing is not None and host.clock() - listing.begun_at > LONGEST_LISTING:
            raise StorageUnavailable("asking the other hosts took too long; try again")
        remembered.add(converted)
        yield tuple(each for each in segments if each.size and each.name not in converted)
