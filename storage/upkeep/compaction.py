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
# The largest merged file. It is sorted in memory, where it takes about ten times its size.
TARGET_BYTES: Final = 64 * MIB
# Compaction ignores files of this size and more. Half the target, so that any two smaller files fit into it.
SMALL_BYTES: Final = TARGET_BYTES // 2
# This many files of one level become one file of the next level. Each event is rewritten once per level: with 8, four
# times on the way from 5-second files to an hour's.
FAN_IN: Final = 8
# If a directory got no new file for this long, its remaining small files are merged across levels.
SETTLED: Final = timedelta(minutes=10)
# One call deletes at most this many files, so that conversion need not wait while a deleted dataset's thousands go.
MOST_REMOVED: Final = 1000


def compact(layout: Layout, *, now: datetime | None = None) -> int:
    """Do the most useful merge, if any; return how many files it replaced. Raises StorageUnavailable, OSError."""
    now = now or datetime.now(UTC)
    for directory, level in plan(file.compaction_candidates(SMALL_BYTES), now):
        merged_files = _merge(layout, directory, level, now)
        if merged_files:
            return merged_files
    return 0


def plan(candidates: Sequence[CompactionCandidate], now: datetime) -> list[tuple[CompactionCandidate, int | None]]:
    """The candidates to merge, most useful first, each with the level of the files to merge (None: any level)."""
    full = [(pile, pile.level) for pile in candidates if pile.count >= FAN_IN]
    settled = [(pile, None) for pile in candidates if pile.count < FAN_IN and pile.newest <= now - SETTLED]
    return [*full, *settled]


def _merge(layout: Layout, candidate: CompactionCandidate, level: int | None, now: datetime) -> int:
    files = file.candidate_files(candidate, SMALL_BYTES)
    inputs = choose([each for each in files if level is None or each.level == level])
    targets = dataset.find_many([candidate.dataset_id])
    if len(inputs) < 2 or not targets:
        return 0
    (target,) = targets
    if target.times_from and any(target.time_stored not in each.stats for each in inputs):
        # They are rewritten into other hours soon (storage/upkeep/event_times.py).
        return 0
    schema = column.schema(target.id)
    rows = parquet.read(layout, inputs, schema)
    origin = Origin(
        target,
        schema,
        body_bytes=sum(each.body_bytes for each in inputs),
        level=max(each.level for each in inputs) + 1,
    )
    output = parquet.write(layout, candidate.directory, rows, origin)
    if file.replace(inputs, [output], now):
        logger.debug("merged %d files of %s into %d bytes", len(inputs), candidate.directory, output.bytes)
        return len(inputs)
    # Retention or deletion was faster.
    open_store(layout).remove([output.path])
    return 0


def choose(files: Sequence[File]) -> list[File]:
    """The first files, in order of time, whose sizes together are within the target."""
    group: list[File] = []
    size = 0
    for member in files:
        size += member.bytes
        if size > TARGET_BYTES:
            break
        group.append(member)
    return group


def remove_replaced(layout: Layout, grace_seconds: float, *, now: datetime | None = None) -> int:
    """Delete the files that left the manifest longer ago than the grace; return how many. Their rows go last.

    Deletes nothing while a backup runs, because the backup may still read them.
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
