"""The segments that are not converted, and the manifest of the same moment: what every exact reader starts with."""

from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
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


@dataclass(frozen=True, slots=True)
class Candidates:
    """The segments of all hosts, as they were listed before the manifest is read, but for those known to be converted.

    `begun_at`: when the other hosts were asked, by the database's clock; None: there are none.
    """

    segments: tuple[SegmentRef, ...]
    begun_at: datetime | None = None
    gaps: tuple[Gap, ...] = ()

    @property
    def names(self) -> list[str]:
        return [each.name for each in self.segments]

    def without(self, converted: Collection[str], read_at: datetime | None) -> Unconverted:
        """Those that the manifest of `read_at` does not know as `converted`. Raises StorageUnavailable."""
        if self.begun_at is not None and read_at is not None and read_at - self.begun_at > LONGEST_LISTING:
            raise StorageUnavailable("asking the other hosts took too long; try again")
        return Unconverted(tuple(each for each in self.segments if each.size and each.name not in converted), self.gaps)


def list_candidates(layout: Layout) -> Candidates:
    """What to ask the manifest about.

    Staging is listed before the manifest is read: a segment that is converted in between is then known as both
    listed and converted, and read from its files. In the other order its events would be in neither.

    Raises HostMissing.
    """
    known = layout.converted.names
    listing = _listing(layout)
    own = list_segments(layout.staging, known)
    if listing is None:
        return Candidates(tuple(own))
    others = (each for each in listing.segments if each.name not in known)
    return Candidates((*own, *others), listing.begun_at, listing.gaps)


@contextmanager
def list_unconverted(layout: Layout) -> Iterator[Unconverted]:
    """The segments of all hosts whose events are not in the manifest that the block reads.

    Raises StorageUnavailable, HostMissing.
    """
    candidates = list_candidates(layout)
    with snapshot_transaction():
        converted = segment.converted(candidates.names)
        unconverted = candidates.without(converted, host.clock() if candidates.begun_at is not None else None)
        layout.converted.add(converted)
        yield unconverted


def _listing(layout: Layout) -> Listing | None:
    if layout.peers is None:
        return None
    return layout.peers.listing_with_gaps() if layout.names_gaps else layout.peers.listing()
