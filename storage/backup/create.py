"""Backup: one moment of everything a host stores, copied while the service runs.

Run as `python -m storage.backup.create DIRECTORY`.

The order is that of a snapshot: segments are listed before the database is read, so that every event that was
acknowledged before is in exactly one of both. Files never change, and a hold keeps those of that moment from being
deleted, so the copying may take its time. Segments grow; they are copied up to the length at which they were listed.
"""

import argparse
import sys
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

import version
from config import InvalidSetting, Settings
from errors import WeirError
from models import dataset_sizes, deletion_hold, dump
from models.base import connection
from models.dataset_sizes import Entry
from models.dump import Counter
from storage.backup import archive
from storage.backup.archive import BackupRefused, Manifest, Member, Table
from storage.backup.data_dir import open_data_dir
from storage.cluster.host import NAME_FILE
from storage.context import Layout
from storage.files.store import open_store, pieces
from storage.names import SEGMENT_SUFFIX
from storage.read.listing import list_unconverted
from storage.wal.segments import SegmentRef

# Of the data directory: what a host is called, and what seals its API keys unless a setting does.
OWN_FILES: Final = (NAME_FILE, "secret.key")
# Copying waits for the disk or the network, not for Python.
COPIERS: Final = 4


@dataclass(frozen=True, slots=True)
class _Moment:
    """What there was: the manifest's live files, the segments that were none of them yet, the database itself."""

    live: Sequence[Entry]
    segments: Sequence[SegmentRef]
    migrations: Sequence[str]
    tables: Sequence[Table]
    counters: Sequence[Counter]
    dumped: Sequence[Member]


@dataclass(frozen=True, slots=True)
class _Earlier:
    """An earlier backup, if any, and the Parquet files in it."""

    root: Path
    files: Mapping[str, Member]

    @classmethod
    def of(cls, root: Path | None) -> "_Earlier":
        """Raises BackupRefused."""
        if root is None:
            return cls(Path(), {})
        return cls(root, {each.path: each for each in archive.read(root).below(archive.FILES)})

    def link(self, target: Path, entry: Entry) -> Member | None:
        """The file from this backup, now in that one too; None if it has to be copied."""
        known = self.files.get(f"{archive.FILES}/{entry.path}")
        if known is None or known.bytes != entry.bytes or not archive.reuse(self.root, target, known):
            return None
        return known


def backup(layout: Layout, target: Path, previous: Path | None = None, *, now: datetime | None = None) -> Manifest:
    """Copy everything into the new or empty directory `target`; returns what is in it.

    `previous`: an earlier backup on the same file system. What it has of the Parquet files is checked and linked.

    Events that were acknowledged before the call are in it, each once; later ones may be: those of all hosts, if the
    layout has peers. Raises BackupRefused, HostMissing, StorageUnavailable, OSError; then `target` holds no complete
    backup.
    """
    begin = now or datetime.now(UTC)
    earlier = _Earlier.of(previous)
    _require_apart(layout, target)
    with connection(), deletion_hold.held():
        moment = _look(layout, target)
        members = [*moment.dumped, *_copy(layout, target, moment, earlier)]
    manifest = Manifest(
        version=version.VERSION,
        created_at=begin.isoformat(),
        node=layout.node,
        events=sum(each.rows for each in moment.live),
        migrations=tuple(moment.migrations),
        tables=tuple(moment.tables),
        counters=tuple(moment.counters),
        members=tuple(members),
    )
    archive.finish(target, manifest)
    return manifest


def _require_apart(layout: Layout, target: Path) -> None:
    """An empty directory of its own. Below the data directory, the sweep would take its files for orphans."""
    if target.resolve().is_relative_to(layout.root.resolve()):
        raise BackupRefused(f"{target} is inside of the data directory")
    target.mkdir(mode=archive.DIRECTORY_MODE, parents=True, exist_ok=True)
    if any(target.iterdir()):
        raise BackupRefused(f"{target} is not empty")
    target.chmod(archive.DIRECTORY_MODE)


def _look(layout: Layout, target: Path) -> _Moment:
    with list_unconverted(layout) as unconverted:
        dump.speak_plainly()
        live = dataset_sizes.live()
        migrations = dump.migrations()
        tables, dumped = [], []
        for shape in dump.shapes():
            rows, member = _dump(target, shape)
            tables.append(Table(shape.name, shape.columns, rows))
            dumped.append(member)
        counters = dump.counters()
    return _Moment(live, unconverted.segments, migrations, tables, counters, dumped)


def _dump(target: Path, shape: dump.Shape) -> tuple[int, Member]:
    rows = 0

    def produce(write: dump.Write) -> None:
        nonlocal rows
        rows = dump.dump(shape, write)

    member = archive.fill(target, Table(shape.name, shape.columns, 0).path, produce)
    return rows, member


def _copy(layout: Layout, target: Path, moment: _Moment, earlier: _Earlier) -> list[Member]:
    store = open_store(layout)

    def copy(entry: Entry) -> Member:
        known = earlier.link(target, entry)
        if known is not None:
            return known
        member = archive.write_member(target, f"{archive.FILES}/{entry.path}", store.read(entry.path))
        if member.bytes != entry.bytes:
            raise BackupRefused(f"{entry.path} is damaged: {member.bytes} bytes instead of {entry.bytes}")
        return member

    members = [_segment(target, each) for each in moment.segments]
    for name in OWN_FILES:
        if (layout.root / name).exists():
            members.append(archive.write_member(target, name, pieces(layout.root / name)))
    with ThreadPoolExecutor(COPIERS) as copiers:
        try:
            members += copiers.map(copy, moment.live)
        except FileNotFoundError as error:
            raise BackupRefused(f"{error.filename or error} is missing; `weirctl check` lists what else is") from error
        finally:
            copiers.shutdown(cancel_futures=True)
    return members


def _segment(target: Path, segment: SegmentRef) -> Member:
    path = f"{archive.SEGMENTS}/{segment.name}{SEGMENT_SUFFIX}"
    return archive.write_member(target, path, pieces(Path(segment.path), segment.size))


def main(arguments: Sequence[str] | None = None) -> int:
    """Back up the host whose settings are in the environment."""
    parser = argparse.ArgumentParser(prog="python -m storage.backup.create", description=main.__doc__)
    parser.add_argument("directory", type=Path, help="where to: a new or empty directory")
    parser.add_argument("--previous", type=Path, metavar="DIRECTORY", help="an earlier backup, to link what it has")
    options = parser.parse_args(arguments)
    target = options.directory
    try:
        settings = Settings.from_env()
        if settings.advertise_url is not None:
            raise BackupRefused("this is one of several hosts, whose segments belong into it: use `weirctl backup`")
        with open_data_dir(settings) as layout:
            manifest = backup(layout, target, options.previous)
    except (WeirError, InvalidSetting, OSError) as error:
        print(f"backup: {error}", file=sys.stderr)
        return 1
    print(f"{target}: {len(manifest.members)} files, {manifest.bytes} bytes")
    return 0


if __name__ == "__main__":
    sys.exit(main())
