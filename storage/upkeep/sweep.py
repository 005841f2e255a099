"""The sweep: it removes files that a crash left behind and that the manifest does not have."""

import logging
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import Final

from models import file
from storage.context import Layout
from storage.durable_files import is_locked
from storage.files.object_cache import Cache
from storage.files.store import open_store
from storage.names import GATHERED_SUFFIX, OWNER_SUFFIX, SEGMENT_SUFFIX, UNFINISHED_SUFFIX

logger = logging.getLogger(__name__)

# A file is stored before the manifest has it. The time between the two is always far shorter than this.
ORPHAN_SECONDS: Final = 3600.0


def sweep(layout: Layout, older_than_seconds: float = ORPHAN_SECONDS) -> int:
    """Remove unfinished files, and Parquet files that the manifest does not have; return how many.

    Raises StorageUnavailable, and then nothing was removed that the manifest may have.
    """
    swept = sweep_staging(layout, older_than_seconds) + sweep_store(layout, older_than_seconds)
    sweep_cache(layout)
    return swept


def sweep_store(layout: Layout, older_than_seconds: float = ORPHAN_SECONDS) -> int:
    """Remove Parquet files that the manifest does not have; return how many. Raises StorageUnavailable."""
    before = datetime.now(UTC) - timedelta(seconds=older_than_seconds)
    store = open_store(layout)
    removed = 0
    for paths in store.older(before):
        orphans = sorted(set(paths) - file.known(paths)) if paths else []
        for path in orphans:
            logger.info("removing %s, which is not in the manifest", path)
        store.remove(orphans)
        removed += len(orphans)
    store.tidy()
    return removed


def sweep_cache(layout: Layout) -> None:
    """Remove this host's copies of objects that are deleted: another host may have done that."""
    cache = Cache.of(layout)
    if cache is not None:
        cache.tidy(file.known)


def sweep_staging(layout: Layout, older_than_seconds: float = ORPHAN_SECONDS) -> int:
    """Remove this host's unfinished files, lock files of dead owners and what was gathered of segments that are gone;
    return how many.

    A file that a living process is writing stays.
    """
    before = datetime.now(UTC) - timedelta(seconds=older_than_seconds)
    removed = 0
    unfinished, owners = (layout.staging.glob(f"*{suffix}") for suffix in (UNFINISHED_SUFFIX, OWNER_SUFFIX))
    for path in (*unfinished, *owners):
        with suppress(FileNotFoundError):
            # The writer may rename the file at any moment.
            if path.stat().st_mtime < before.timestamp() and not is_locked(path):
                path.unlink()
                removed += 1
    for path in layout.staging.glob(f"*{GATHERED_SUFFIX}"):
        if not path.with_suffix(SEGMENT_SUFFIX).exists():
            path.unlink(missing_ok=True)
            removed += 1
    return removed
