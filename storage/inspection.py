"""What is wrong with a data directory: the manifest against the disk, and segments read to their end."""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

import polars as pl

from models import census, segment
from models.census import Entry
from storage.frames import decode
from storage.names import PARQUET_SUFFIX, RESERVED, Layout
from storage.segments import Staged, is_locked, stage


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
    """Every trouble there is; reads footers, not data. With a server running, what is on its way may look orphaned."""
    known = set()
    for entry in census.live():
        known.add(entry.path)
        yield from _file(layout, entry)
    known |= census.removed()
    for path in _on_disk(layout):
        if path not in known:
            yield Finding(Trouble.ORPHAN, path, "the manifest does not have it")
    staged = stage(layout.staging)
    converted = segment.converted([each.name for each in staged])
    for each in staged:
        if each.name not in converted:
            yield from _segment(layout, each)


def _file(layout: Layout, entry: Entry) -> Iterator[Finding]:
    path = layout.root / entry.path
    try:
        size = path.stat().st_size
    except FileNotFoundError:
        yield Finding(Trouble.MISSING, entry.path, f"{entry.rows} events")
        return
    if size != entry.bytes:
        yield Finding(Trouble.DAMAGED, entry.path, f"{size} bytes instead of {entry.bytes}")
        return
    rows = _rows(path)
    if rows != entry.rows:
        detail = "its footer cannot be read" if rows is None else f"{rows} rows instead of {entry.rows}"
        yield Finding(Trouble.DAMAGED, entry.path, detail)


def _rows(path: Path) -> int | None:
    """The number of rows by the footer; None if it cannot be read."""
    try:
        return int(pl.scan_parquet(path).select(pl.len()).collect().item())
    except (pl.exceptions.PolarsError, OSError):
        return None


def _on_disk(layout: Layout) -> Iterator[str]:
    for tenant in sorted(layout.root.iterdir()):
        if tenant.is_dir() and tenant.name not in RESERVED:
            yield from (str(path.relative_to(layout.root)) for path in sorted(tenant.rglob(f"*{PARQUET_SUFFIX}")))


def _segment(layout: Layout, staged: Staged) -> Iterator[Finding]:
    path = Path(staged.path)
    if is_locked(path):
        # It grows, so its end says nothing.
        return
    try:
        good = sum(frame.size for frame in decode(path.read_bytes(), staged.name))
    except FileNotFoundError:
        # Converted since it was listed.
        return
    if good != staged.size:
        yield Finding(
            Trouble.TAIL, str(path.relative_to(layout.root)), f"{staged.size - good} bytes after the last frame"
        )
