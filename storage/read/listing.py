"""The segments that are not converted, and the manifest of the same moment: what every exact reader starts with."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from errors import StorageUnavailable
from models import host, segment
from models.base import snapshot_transaction
from storage.context import Gap, Layout, Listing
from storage.wal.segments import SegmentRef, list_segments

# From the listing of other hosts' segments to the manifest. Whoever is slower might find neither the segment nor the
# row that tells of its conversion, which goes after the grace: longer than this (storage/upkeep/maintenance.py).
LONGEST_LISTING: Final = timedelta(seconds=30)


@dataclass(frozen=True, slots=True)
class Unconverted:
    """The segments whose events are not in the manifest, but for those of hosts that could not be asked."""

    segments: tuple[SegmentRef, ...]
    gaps: tuple[Gap, ...] = ()


@contextmanager
def list_unconverted(layout: Layout) -> Iterator[Unconverted]:
    """The segments of all hosts whose events are not in the manifest that the block reads.

    Staging is listed before the manifest is read: a segment that is converted in between is then known as both
    listed and converted, and read from its files. In the other order its events would be in neither.

    Raises StorageUnavailable, HostMissing.
    """
    remembered = layout.converted
    listing = _listing(layout)
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
        unconverted = tuple(each for each in segments if each.size and each.name not in converted)
        yield Unconverted(unconverted, listing.gaps if listing is not None else ())


def _listing(layout: Layout) -> Listing | None:
    if layout.peers is None:
        return None
    return layout.peers.listing_with_gaps() if layout.names_gaps else layout.peers.listing()
