"""Compaction: many small files of one hour become few large ones, sorted, while queries go on."""

import logging
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Final

from models import column, dataset, file
from models.deletion_hold import deletion
from models.file import CompactionCandidate, File
from storage.context import Layout
from storage.files import parquet
from storage.files.parquet import Origin
from storage.files.store import open_store

logger = logging.getLogger(__name__)

MIB: Final = 1024 * 1024
# What a merged file may have grown to: it is sorted in memory, where it takes about ten times its size.
TARGET_BYTES: Final = 64 * MIB
# A file this large is left alone. Half, so that any two that are not make one that is within the target.
SMALL_BYTES: Final = TARGET_BYTES // 2
# Files of one level that make one of the next. Each event is rewritten once per level: with 8, four times
# on the way from 5-second files to an hour's.
FAN_IN: Final = 8
# Once nothing was added to a directory for so long, what is left of its small files is merged across levels.
SETTLED: Final = timedelta(minutes=10)
# Files deleted in one go, so that conversion does not wait until a deleted dataset's thousands are gone.
MOST_REMOVED: Final = 1000


def compact(layout: Layout, *, now: datetime | None = None) -> int:
    """Do the most useful merge, if any; return how many files it replaced. Raises StorageUnavailable, OSError."""
    now = now or datetime.now(UTC)
    for directory, level in plan(file.compaction_candidates(SMALL_BYTES), now):
        done = _merge(layout, directory, level, now)
        if done:
            return done
    return 0


def plan(piles: Sequence[CompactionCandidate], now: datetime) -> list[tuple[CompactionCandidate, int | None]]:
    """Which files to merge, most useful first: those of a pile's directory and level (None: of any level)."""
    full = [(pile, pile.level) for pile in piles if pile.count >= FAN_IN]
    settled = [(pile, None) for pile in piles if pile.count < FAN_IN and pile.newest <= now - SETTLED]
    return [*full, *settled]


def _merge(layout: Layout, pile: CompactionCandidate, level: int | None, now: datetime) -> int:
    found = file.candidate_files(pile, SMALL_BYTES)
    old = choose([each for each in found if level is None or each.level == level])
    targets = dataset.find_many([pile.dataset_id])
    if len(old) < 2 or not targets:
        return 0
    (target,) = targets
    rows = parquet.read(layout, old, column.schema(target.id)).sort(target.time_column, maintain_order=True)
    origin = Origin(
        target.id,
        target.time_column,
        body_bytes=sum(each.body_bytes for each in old),
        level=max(each.level for each in old) + 1,
    )
    new = parquet.write(layout, pile.directory, rows, origin)
    if file.replace(old, new, now):
        logger.debug("merged %d files of %s into %d bytes", len(old), pile.directory, new.bytes)
        return len(old)
    # Retention or deletion was faster.
    open_store(layout).remove([new.path])
    return 0


def choose(files: Sequence[File]) -> list[File]:
    """The first files, in order of time, that are within the target together."""
    chosen: list[File] = []
    size = 0
    for each in files:
        size += each.bytes
        if size > TARGET_BYTES:
            break
        chosen.append(each)
    return chosen


def remove_replaced(layout: Layout, grace_seconds: float, *, now: datetime | None = None) -> int:
    """Delete the files that were removed longer ago than the grace; return how many. Their rows go last.

    None while a backup is being made, which may still have to read them.
    """
    before = (now or datetime.now(UTC)) - timedelta(seconds=grace_seconds)
    paths = file.removed_before(before, MOST_REMOVED)
    if not paths:
        return 0
    with deletion() as is_free:
        if not is_free:
            return 0
        open_store(layout).remove(paths)
        file.forget(paths)
    return len(paths)
