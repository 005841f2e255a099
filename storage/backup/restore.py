"""Restore: a backup becomes a data directory again. `python -m storage.backup.restore DIRECTORY`.

Only where nothing is: an empty data directory, an empty database, an empty prefix of the bucket. A mark stands in the
data directory from the first step to the last, and a service does not start beside it. The database is filled last,
in one transaction. A restore that was interrupted is run again and goes on where it was.
"""

import argparse
import hashlib
import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Final

from config import InvalidSetting, Settings, close_to_others
from errors import WeirError
from models import dump
from models.base import MIGRATIONS, connection
from processes.locks import try_lock
from storage.backup import archive
from storage.backup.archive import BackupRefused, Manifest, Member, Table
from storage.backup.create import COPIERS, OWN_FILES
from storage.backup.data_dir import SERVER_LOCK, UNFINISHED_RESTORE, database
from storage.cluster.host import NAME_FILE
from storage.context import Layout
from storage.durable_files import make_directory, sync_directory
from storage.files.store import open_store
from storage.names import SEGMENT_SUFFIX, UNFINISHED_SUFFIX

# What a fresh file system has of its own.
IGNORED: Final = frozenset({"lost+found", UNFINISHED_RESTORE, SERVER_LOCK})
# As the service makes them.
PARQUET_MODE: Final = 0o640
SEGMENT_MODE: Final = 0o640


def restore(source: Path, settings: Settings) -> Manifest:
    """Make the settings' data directory, database and bucket what was backed up; returns what that is.

    Raises BackupRefused, StorageUnavailable, OSError; then the restore is not complete, and can be run again.
    """
    manifest = archive.read(source)
    _require_known(manifest)
    layout = Layout(settings.data_dir, manifest.node, settings.storage_url)
    with _marked(layout.root, manifest), database(settings, is_ours=True):
        is_loaded = _is_loaded(manifest)
        _put_files(source, manifest, layout)
        _put_segments(source, manifest, layout)
        _put_own_files(source, manifest, layout)
        if not is_loaded:
            _load(source, manifest)
            if not _is_loaded(manifest):
                raise BackupRefused("what the database was given is not what it has now; is somebody else using it?")
    return manifest


def _require_known(manifest: Manifest) -> None:
    ours = {path.stem for path in MIGRATIONS.glob("*.sql")}
    unknown = sorted(set(manifest.migrations) - ours)
    if unknown:
        raise BackupRefused(
            f"the backup was made by Weir {manifest.version}, whose database has a migration that this one does not "
            f"know: {unknown[0]}; restore it with that version or a newer one"
        )


@contextmanager
def _marked(root: Path, manifest: Manifest) -> Iterator[None]:
    """The directory is ours alone, and visibly unfinished until the block has succeeded."""
    digest = hashlib.sha256(repr(manifest.members).encode()).hexdigest()
    mark = root / UNFINISHED_RESTORE
    make_directory(root, root.parent)
    begun = mark.read_text("ascii") if mark.exists() else ""
    if begun and begun != digest:
        raise BackupRefused(f"{root} has an unfinished restore of another backup; empty it first")
    # Without the whole mark, nothing else was written yet.
    if not begun and set(os.listdir(root)) - IGNORED:
        raise BackupRefused(f"{root} is not empty")
    with (root / SERVER_LOCK).open("a") as lock:
        if not try_lock(lock):
            raise BackupRefused(f"a server uses {root}; stop it first")
        if not begun:
            _write(mark, [digest.encode()])
            sync_directory(root)
        yield
        mark.unlink()
        sync_directory(root)


def _is_loaded(manifest: Manifest) -> bool:
    """Whether the database has what was backed up. Raises BackupRefused if it has anything else."""
    with connection(), dump.moment():
        if not dump.shapes():
            return False
        for table in manifest.tables:
            member = _member(manifest, table)
            if _digest(table) != member.sha256:
                raise BackupRefused(f"the database is not empty: its table {table.name} is not the backup's")
    return True


def _digest(table: Table) -> str:
    digest = hashlib.sha256()
    dump.dump(table.shape, digest.update)
    return digest.hexdigest()


def _member(manifest: Manifest, table: Table) -> Member:
    found = manifest.member(table.path)
    if found is None:
        raise BackupRefused(f"the backup is damaged: {table.path} is not listed")
    return found


def _load(source: Path, manifest: Manifest) -> None:
    content = [(table.shape, partial(archive.table_content, source, manifest, table)) for table in manifest.tables]
    try:
        dump.load(manifest.migrations, content, manifest.counters)
    except ValueError as error:
        raise BackupRefused(f"the backup does not fit this version of Weir: {error}") from error


def _put_files(source: Path, manifest: Manifest, layout: Layout) -> None:
    """Publish the Parquet files, those that an interrupted restore has published left as they are."""
    store = open_store(layout)
    members = {each.path.removeprefix(archive.FILES + "/"): each for each in manifest.below(archive.FILES)}
    there = dict(store.sizes())
    foreign = sorted(path for path, size in there.items() if path not in members or members[path].bytes != size)
    if foreign:
        raise BackupRefused(f"the place for the Parquet files is not empty: it has {foreign[0]}")

    def put(path: str) -> None:
        unfinished = store.begin(path)
        try:
            _write(unfinished, archive.content(source, members[path]), PARQUET_MODE)
            store.publish(unfinished, path)
        finally:
            unfinished.unlink(missing_ok=True)

    make_directory(layout.staging, layout.root)
    with ThreadPoolExecutor(COPIERS) as copiers:
        try:
            for _ in copiers.map(put, [path for path in members if path not in there]):
                pass
        finally:
            copiers.shutdown(cancel_futures=True)


def _put_segments(source: Path, manifest: Manifest, layout: Layout) -> None:
    for member in manifest.below(archive.SEGMENTS):
        # The name stays: every frame's checksum is seeded with it.
        name = Path(member.path).name.removesuffix(SEGMENT_SUFFIX)
        unfinished = layout.staging / (name + UNFINISHED_SUFFIX)
        _write(unfinished, archive.content(source, member), SEGMENT_MODE)
        unfinished.rename(layout.staging / (name + SEGMENT_SUFFIX))
    sync_directory(layout.staging)


def _put_own_files(source: Path, manifest: Manifest, layout: Layout) -> None:
    """The host keeps its name: its segments, claims and rows are those of that name.

    Two living hosts of one name would forget each other's work, but those share a database, and this one is new.
    """
    own = {NAME_FILE: [manifest.node.encode()]}
    for name in OWN_FILES:
        member = manifest.member(name)
        if member is not None:
            own[name] = list(archive.content(source, member))
    for name, content in own.items():
        unfinished = layout.root / (name + UNFINISHED_SUFFIX)
        _write(unfinished, content)
        unfinished.rename(layout.root / name)
    sync_directory(layout.root)


def _write(path: Path, content: Iterable[bytes], mode: int = archive.FILE_MODE) -> None:
    """Durable on return but for its name; what an earlier attempt left under it is replaced."""
    path.unlink(missing_ok=True)
    with open(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, mode), "wb") as file:
        for piece in content:
            file.write(piece)
        file.flush()
        os.fsync(file.fileno())


def main(arguments: Sequence[str] | None = None) -> int:
    """Restore a backup into the empty data directory, database and bucket that the environment's settings name."""
    parser = argparse.ArgumentParser(prog="python -m storage.backup.restore", description=main.__doc__)
    parser.add_argument("directory", type=Path, help="the backup")
    parser.add_argument("--verify", action="store_true", help="only read the backup and compare its checksums")
    options = parser.parse_args(arguments)
    close_to_others()
    try:
        if options.verify:
            manifest = archive.read(options.directory)
            archive.verify(options.directory, manifest)
        else:
            manifest = restore(options.directory, Settings.from_env())
    except (WeirError, InvalidSetting, OSError) as error:
        print(f"restore: {error}", file=sys.stderr)
        return 1
    print(f"{options.directory}: {len(manifest.members)} files, {manifest.bytes} bytes, of {manifest.created_at}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
