"""The inspection of stored events: it compares the manifest with the disk or bucket, and reads every segment."""

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Final

from models import dataset_sizes, segment
from models.dataset_sizes import Entry
from storage.context import Layout
from storage.durable_files import is_locked
from storage.files import parquet
from storage.files.store import open_store
from storage.wal.records import decode, decode_after_damage
from storage.wal.segments import SegmentRef, list_segments

# Footers read at once: of objects, each is a request.
READERS: Final = 8


class Trouble(StrEnum):
    """`MISSING`, `DAMAGED`: events are lost. `ORPHAN`, `TAIL`: leftovers of a crash that hold no acknowledged event."""

    MISSING = "missing"
    DAMAGED = "damaged"
    ORPHAN = "orphan"
    TAIL = "tail"


@dataclass(frozen=True, slots=True)
class Finding:
    """One trouble with one file, whose path is below the data directory."""

    trouble: Trouble
    path: str
    detail: str


def inspect(layout: Layout) -> Iterator[Finding]:
    """Every trouble. Reads footers, not data. While a server runs, a file that it is writing may look orphaned.

    Raises StorageUnavailable.
    """
    live = dataset_sizes.live()
    there = dict(open_store(layout).sizes())
    yield from _missing(layout, [entry for entry in live if entry.path not in there])
    with ThreadPoolExecutor(READERS) as readers:
        present = [entry for entry in live if entry.path in there]
        found = readers.map(lambda entry: _file(layout, entry, there[entry.path]), present)
        yield from (finding for finding in found if finding is not None)
    known = {entry.path for entry in live} | dataset_sizes.removed() | {entry.path for entry in dataset_sizes.live()}
    for path in sorted(set(there) - known):
        yield Finding(Trouble.ORPHAN, path, "the manifest does not have it")
    staged = list_segments(layout.staging)
    converted = segment.converted([each.name for each in staged])
    for each in staged:
        if each.name not in converted:
            yield from _segment(layout, each)


def _missing(layout: Layout, entries: Sequence[Entry]) -> Iterator[Finding]:
    """A finding for each missing file that is still in the manifest."""
    live = {entry.path for entry in dataset_sizes.live()} if entries else set()
    for entry in entries:
        if entry.path in live:
            yield Finding(Trouble.MISSING, entry.path, f"{entry.rows} events")


def _file(layout: Layout, entry: Entry, size: int) -> Finding | None:
    if size != entry.bytes:
        return Finding(Trouble.DAMAGED, entry.path, f"{size} bytes instead of {entry.bytes}")
    rows = parquet.count(layout, entry.path)
    if rows == entry.rows:
        return None
    detail = "its footer cannot be read" if rows is None else f"{rows} rows instead of {entry.rows}"
    return Finding(Trouble.DAMAGED, entry.path, detail)


def _segment(layout: Layout, ref: SegmentRef) -> Iterator[Finding]:
    path = Path(ref.path)
    if is_locked(path):
        # The segment grows, so its last record may be incomplete.
        return
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        # Converted since it was listed.
        return
    good = sum(record.size for record in decode(data, ref.name))
    after = sum(record.rows for record in decode_after_damage(data, good, ref.name))
    name = str(path.relative_to(layout.root))
    if after:
        yield Finding(Trouble.DAMAGED, name, f"unreadable from byte {good} on, with {after} events behind it")
    elif good != len(data):
        yield Finding(Trouble.TAIL, name, f"{len(data) - good} bytes after the last record")
