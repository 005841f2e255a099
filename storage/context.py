"""The context of storage: where it keeps what, and what its readers in this process share."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Final, Protocol

from storage.names import copies, directory, mirrors
from storage.wal.segments import SegmentRef

# More than a host has within the grace; what is forgotten is asked again.
MOST_CONVERTED: Final = 16_384


@dataclass(frozen=True, slots=True)
class Gap:
    """A host that cannot be asked: what it had not converted is not in the answer. `seen_at`: its last sign of life."""

    host: str
    seen_at: datetime | None


@dataclass(frozen=True, slots=True)
class Listing:
    """The unconverted segments of all other hosts but those of `gaps`. `begun_at`: by the database's clock."""

    segments: tuple[SegmentRef, ...]
    begun_at: datetime
    gaps: tuple[Gap, ...] = ()


class Peers(Protocol):
    """The other hosts of the deployment (storage.cluster.peers)."""

    def listing(self) -> Listing:
        """What the other hosts have had unconverted at some moment after the call. Raises HostMissing."""

    def listing_with_gaps(self) -> Listing:
        """The same of the hosts that can be asked; the others are its gaps."""

    def survey(self, after: Callable[[str], str | None]) -> Mapping[str, Sequence[SegmentRef] | str]:
        """By each other host what it has, or why it cannot be asked."""


@dataclass(frozen=True, slots=True)
class CacheLimits:
    """The limits of the disk cache of objects: its size in bytes, and the disk use above which it stores nothing.

    A copy that was used within the grace stays.
    """

    bytes: int
    grace_seconds: float = 360.0
    disk_percent: float = 100.0


class Converted:
    """Names of segments that this process knows to be converted, which stay in staging for a grace. Safe for threads.

    Once converted, a segment is so for ever, and its name is never used again. So nobody has to ask a second time.
    """

    def __init__(self) -> None:
        self.names: frozenset[str] = frozenset()

    def add(self, names: Collection[str]) -> None:
        """Remember them too; when there are too many, half of all, the newest."""
        if not names:
            return
        grown = self.names.union(names)
        if len(grown) > MOST_CONVERTED:
            grown = frozenset(sorted(grown)[-MOST_CONVERTED // 2 :])
        self.names = grown


@dataclass(frozen=True, slots=True)
class Layout:
    """Where things are: the data directory, the name of this host in it, the object store and the other hosts, if any.

    `cached`: how much of the object store this process may keep copies of; None: it keeps none. Whoever reads by a
    layout reads all there is, so `peers` is in it and not beside it, where it could be forgotten. `converted`: what its
    readers have found out. `names_gaps`: its reader tells whoever asks which hosts could not be asked; no other reader
    may go on without them.
    """

    root: Path
    node: str = "local"
    url: str | None = None
    cached: CacheLimits | None = None
    peers: Peers | None = field(default=None, compare=False, repr=False)
    converted: Converted = field(default_factory=Converted, compare=False, repr=False)
    names_gaps: bool = False

    @property
    def staging(self) -> Path:
        """The directory of this host's segments."""
        return self.root / "staging" / directory(self.node)

    @property
    def cache(self) -> Path:
        """The directory of copies of objects."""
        return self.root / "cache"

    @property
    def mirrors(self) -> Path:
        """The directory of what was read of other hosts' segments."""
        return mirrors(self.root)

    @property
    def copies(self) -> Path:
        """The directory of the copies that this host keeps of other hosts' segments."""
        return copies(self.root)

    @property
    def leader(self) -> Path:
        """The file whose lock the host's one maintenance process holds."""
        return self.root / "staging" / "maintenance.lock"
