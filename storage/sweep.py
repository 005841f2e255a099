"""The sweep: what a crash left on disk without anybody knowing of it is removed."""

import logging
import os
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final

from models import file
from storage.names import OWNER_SUFFIX, PARQUET_SUFFIX, RESERVED, UNFINISHED_SUFFIX, Layout
from storage.segments import is_locked

logger = logging.getLogger(__name__)

# A file is on disk before the manifest has it. Nothing takes nearly so long between the two.
ORPHAN_SECONDS: Final = 3600.0


def sweep(layout: Layout, older_than_seconds: float = ORPHAN_SECONDS) -> int:
    """Remove unfinished files, and Parquet files that the manifest does not have; return how many.

    Raises StorageUnavailable, and then nothing was removed that the manifest may have.
    """
    before = time.time() - older_than_seconds
    removed = _sweep_staging(layout, before)
    for directory, names in _directories(layout):
        removed += _sweep_directory(layout, directory, names, before)
    return removed


def _directories(layout: Layout) -> Iterator[tuple[Path, list[str]]]:
    """The directories of Parquet files, deepest first, each with the names of its files."""
    for tenant in sorted(layout.root.iterdir()):
        if tenant.is_dir() and tenant.name not in RESERVED:
            for directory, _, names in os.walk(tenant, topdown=False):
                if "=" in directory.rpartition("/")[2]:
                    yield Path(directory), names


def _sweep_directory(layout: Layout, directory: Path, names: list[str], before: float) -> int:
    paths = {
        str((directory / name).relative_to(layout.root)): directory / name
        for name in names
        if name.endswith((PARQUET_SUFFIX, UNFINISHED_SUFFIX)) and _is_older(directory / name, before)
    }
    orphans = set(paths) - file.known(list(paths)) if paths else set()
    for path in sorted(orphans):
        logger.info("removing %s, which is not in the manifest", path)
        paths[path].unlink(missing_ok=True)
    with suppress(OSError):
        # Only succeeds when nothing is left in it.
        directory.rmdir()
    return len(orphans)


def _sweep_staging(layout: Layout, before: float) -> int:
    """Remove segments that were never finished, unless somebody is about to, and what dead processes locked."""
    removed = 0
    unfinished, owners = (layout.staging.glob(f"*{suffix}") for suffix in (UNFINISHED_SUFFIX, OWNER_SUFFIX))
    for path in (*unfinished, *owners):
        if _is_older(path, before) and not is_locked(path):
            path.unlink(missing_ok=True)
            removed += 1
    return removed


def _is_older(path: Path, before: float) -> bool:
    try:
        return path.stat().st_mtime < before
    except FileNotFoundError:
        return False
