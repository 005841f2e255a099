"""Names on disk: what every file and directory of the storage is called. Pure."""

import re
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

from ulid import ULID

from errors import StorageUnavailable

SEGMENT_SUFFIX: Final = ".wal"
# A copy of the rows of a segment's small records, beside the segment (storage/wal/gathered.py).
GATHERED_SUFFIX: Final = ".gathered"
# A file that a process keeps locked as long as it lives.
OWNER_SUFFIX: Final = ".owner"
# A file on its way; readers ignore it, and the sweep removes it when its writer is gone.
UNFINISHED_SUFFIX: Final = ".new"
PARQUET_SUFFIX: Final = ".parquet"
# What Hive calls the directory of rows without a value.
HIVE_NULL: Final = "__HIVE_DEFAULT_PARTITION__"
# Directories of the data directory that are not a tenant's.
RESERVED: Final = frozenset({"staging", "postgres", "queries", "metrics", "cache"})
# The path of a Parquet file below the data directory or in the bucket, whole: nothing upward, nothing that is not the
# events', and no name that `partition` would not give. And the name of a segment.
STORED: Final = re.compile(
    rf"(?!(?:{'|'.join(sorted(RESERVED))})/)(?:[A-Za-z0-9_%=-]+/)+"
    rf"[A-Za-z0-9_-]+(?:{re.escape(PARQUET_SUFFIX)}|{re.escape(UNFINISHED_SUFFIX)})"
)
# The directory of what is published of datasets as Iceberg tables. No tenant has a point in the name of its directory.
LAKE: Final = "iceberg.tables"
LAKE_FILE: Final = re.compile(rf"{re.escape(LAKE)}/[A-Za-z0-9_%-]+/[0-9]+/[A-Za-z0-9_-]+(?:\.avro|\.metadata\.json)")
SEGMENT: Final = re.compile(r"[A-Za-z0-9_-]+")
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_UNSAFE: Final = re.compile(rb"[^A-Za-z0-9_-]")


def mirrors(root: Path) -> Path:
    """The directory, in the data directory, of what was read of other hosts' segments. A restart may empty it."""
    return root / "staging" / "peers"


def copies(root: Path) -> Path:
    """The directory, in the data directory, of the copies that this host keeps of other hosts' segments."""
    return root / "staging" / "copies"


def require_stored(path: str) -> str:
    """The path, if it can be that of a Parquet file of ours. Raises StorageUnavailable: it is from a forged database.

    >>> require_stored("default/app/date=2026-01-01/hour=00/01K.parquet")
    'default/app/date=2026-01-01/hour=00/01K.parquet'
    """
    if not STORED.fullmatch(path):
        raise StorageUnavailable(f"the path {path[:200]!r} is none of a Parquet file of Weir; nothing is done with it")
    return path


def require_lake(path: str) -> str:
    """The same for the path of a metadata file of a published table."""
    if not LAKE_FILE.fullmatch(path):
        raise StorageUnavailable(f"the path {path[:200]!r} is none of a table's metadata; nothing is done with it")
    return path


def require_segment(name: str) -> str:
    """The same for the name of a segment."""
    if not SEGMENT.fullmatch(name):
        raise StorageUnavailable(f"{name[:200]!r} is no name of a segment; nothing is done with it")
    return name


def unique() -> str:
    """A name that was never used before and sorts by time."""
    return str(ULID())


def made_ms(name: str) -> int:
    """When a name of `unique` was made: milliseconds since 1970, by the clock of the host that made it."""
    return ULID.from_str(name).milliseconds


def earliest(moment_ms: int) -> str:
    """The least name that `unique` can make at that moment: names made before are less, all others are not.

    >>> made_ms(earliest(1_795_305_592_123))
    1795305592123
    """
    return str(ULID.from_bytes(moment_ms.to_bytes(6) + bytes(10)))


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
