"""Names on disk: what every file and directory of the storage is called, and where it is."""

import re
from collections.abc import Collection
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Final

from ulid import ULID

if TYPE_CHECKING:
    from storage.cluster.peers import Peers

SEGMENT_SUFFIX: Final = ".wal"
# A file that a process keeps locked as long as it lives.
OWNER_SUFFIX: Final = ".owner"
# A file on its way; readers ignore it, and the sweep removes it when its writer is gone.
UNFINISHED_SUFFIX: Final = ".new"
PARQUET_SUFFIX: Final = ".parquet"
# What Hive calls the directory of rows without a value.
HIVE_NULL: Final = "__HIVE_DEFAULT_PARTITION__"
# Directories of the data directory that are not a tenant's.
RESERVED: Final = frozenset({"staging", "postgres", "queries", "metrics", "cache"})
# More than a host has within the grace; what is forgotten is asked again.
MOST_CONVERTED: Final = 16_384
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_UNSAFE: Final = re.compile(rb"[^A-Za-z0-9_-]")


@dataclass(frozen=True, slots=True)
class CacheLimits:
    """How much of the disk copies of objects may take: so many bytes, and nothing while the disk is that full.

    What was used within the grace stays.
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
    readers have found out.
    """

    root: Path
    node: str = "local"
    url: str | None = None
    cached: CacheLimits | None = None
    peers: "Peers | None" = field(default=None, compare=False, repr=False)
    converted: Converted = field(default_factory=Converted, compare=False, repr=False)

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
    def leader(self) -> Path:
        """The file whose lock the host's one maintenance process holds."""
        return self.root / "staging" / "maintenance.lock"


def mirrors(root: Path) -> Path:
    """The directory, in the data directory, of what was read of other hosts' segments. A restart may empty it."""
    return root / "staging" / "peers"


def unique() -> str:
    """A name that was never used before and sorts by time."""
    return str(ULID())


def directory(text: str) -> str:
    """`text` as the name of one directory, the same for no other text.

    >>> directory("app-1"), directory("../x"), directory("staging")
    ('app-1', '%2E%2E%2Fx', '%73taging')
    """
    if text in RESERVED:
        return f"%{ord(text[0]):02X}{text[1:]}"
    return _UNSAFE.sub(lambda match: b"%%%02X" % match[0][0], text.encode()).decode()


def partition(tenant: str, dataset: str, hour: int, key: tuple[str, str | None] | None = None) -> str:
    """The directory, below the data directory, of the events of one hour (hours since 1970, UTC).

    `key`: the field that divides the hour further, and its value in these events (None: they have none).

    >>> partition("default", "app", 0)
    'default/app/date=1970-01-01/hour=00'
    >>> partition("default", "app", 0, ("region", "eu/west"))
    'default/app/date=1970-01-01/hour=00/region=eu%2Fwest'
    """
    moment = _EPOCH + timedelta(hours=hour)
    parent = f"{directory(tenant)}/{directory(dataset)}/date={moment:%Y-%m-%d}/hour={moment:%H}"
    if key is None:
        return parent
    field, value = key
    return f"{parent}/{directory(field)}={directory(value) if value else HIVE_NULL}"
