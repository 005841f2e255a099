"""Conversion: a segment that will not grow any more becomes Parquet files, in one switch."""

import logging
from collections.abc import Sequence
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path

import polars as pl

from columns import POLARS_TYPES
from errors import InternalError, StorageUnavailable
from models import column, dataset, segment
from models.column import Schema
from models.dataset import Dataset
from models.deletion_hold import deletion
from models.file import File
from models.segment import Ingested
from storage.context import Layout
from storage.durable_files import sync_directory
from storage.exactly import exactly
from storage.files import parquet
from storage.files.parquet import Origin
from storage.files.store import open_store
from storage.names import SEGMENT_SUFFIX, partition, require_segment
from storage.wal.records import Record, beyond, decode, join_streams, to_few
from storage.wal.segments import SegmentRef, list_segments, owned
from storage.write.idempotency import decode_records

logger = logging.getLogger(__name__)


def convert_all(layout: Layout) -> int:
    """Convert every segment that has no living owner; return how many.

    One that cannot be converted is logged and does not keep the others from it; then InternalError is raised in the
    end. Raises StorageUnavailable at once.
    """
    staged = list_segments(layout.staging)
    done = segment.converted([each.name for each in staged])
    converted, failed = 0, []
    for each in staged:
        try:
            converted += each.name not in done and _convert_if_free(layout, each)
        except StorageUnavailable:
            raise
        except Exception:
            logger.exception("segment %s cannot be converted; its events stay where they are", each.name)
            failed.append(each.name)
    if failed:
        raise InternalError(f"{len(failed)} segments cannot be converted, the first is {failed[0]}")
    return converted


def _convert_if_free(layout: Layout, staged: SegmentRef) -> bool:
    with owned(staged) as is_ours:
        if not is_ours:
            return False
        return convert(layout, staged)


def convert(layout: Layout, staged: SegmentRef) -> bool:
    """Convert one segment, whose lock the caller holds. False: somebody else had done so already.

    What a crash has torn was never acknowledged and is left out. Whole frames behind it are taken: what is before
    them was damaged afterwards, or nobody was told what became of them.
    """
    data = Path(staged.path).read_bytes()
    frames = list(decode(data, staged.name))
    frames += _behind_damage(data, sum(frame.size for frame in frames), staged)
    ids = sorted({frame.dataset_id for frame in frames})
    targets = dataset.find_many(ids)
    written: list[File] = []
    try:
        for target in targets:
            written += _write(layout, target, [frame for frame in frames if frame.dataset_id == target.id])
        dead = segment.switch(
            staged.name, layout.node, written, [_ingested(each, frames) for each in ids], _receipts(frames)
        )
    except BaseException:
        # Not in the manifest as far as we know. If the commit did succeed, the files have to stay, so the sweep
        # decides later, when the database can be asked again.
        logger.info("conversion of %s stopped; %d files are left to the sweep", staged.name, len(written))
        raise
    open_store(layout).remove([each.path for each in written] if dead is None else dead)
    return dead is not None


def _behind_damage(data: bytes, good: int, staged: SegmentRef) -> list[Record]:
    found = list(beyond(data, good, staged.name))
    if found:
        events = sum(frame.rows for frame in found)
        lost = len(data) - good - sum(frame.size for frame in found)
        logger.error(
            "segment %s: %d bytes from %d on are damaged; %d events after them are saved",
            staged.name,
            lost,
            good,
            events,
        )
    return found


def _write(layout: Layout, target: Dataset, frames: Sequence[Record]) -> list[File]:
    schema = column.schema(target.id)
    if not schema.columns:
        # Deleted since it was found.
        return []
    rows = unify(to_few(frame.payload for frame in frames), schema)
    divider = schema.stored(target.custom_partition)
    parts = [
        (partition(target.tenant, target.name, hour, key), part)
        for hour, rows_of_hour in parquet.by_hour(rows, target.time_column)
        for key, part in parquet.by_value(rows_of_hour, divider)
    ]
    shares = share(sum(frame.body_bytes for frame in frames), [part.height for _, part in parts])
    return [
        parquet.write(layout, directory, part, Origin(target.id, target.time_column, body_bytes))
        for (directory, part), body_bytes in zip(parts, shares, strict=True)
    ]


def share(amount: int, weights: Sequence[int]) -> list[int]:
    """The amount in whole parts proportional to the weights, which add up to it exactly.

    >>> share(10, [1, 1, 1])
    [3, 3, 4]
    """
    total, done, given = sum(weights), 0, 0
    parts = []
    for weight in weights:
        done += weight
        parts.append(amount * done // total - given)
        given += parts[-1]
    return parts


def unify(parts: Sequence[pl.DataFrame], schema: Schema) -> pl.DataFrame:
    """All rows in one frame: the columns that occur, in the schema's order and types."""
    joined = join_streams(parts)
    occurring = {name for part in joined for name in part.columns}
    wanted = {each.stored: POLARS_TYPES[each.type] for each in schema.columns if each.stored in occurring}
    conformed = [
        pl.DataFrame([part.get_column(name).cast(dtype) for name, dtype in wanted.items() if name in part.columns])
        for part in joined
    ]
    return pl.concat(conformed, how="diagonal").select(exactly(name) for name in wanted)


def _receipts(frames: Sequence[Record]) -> dict[bytes, int]:
    return {receipt: events for frame in frames for receipt, events in decode_records(frame.notes).items()}


def _ingested(dataset_id: int, frames: Sequence[Record]) -> Ingested:
    own = [frame for frame in frames if frame.dataset_id == dataset_id]
    return Ingested(dataset_id, sum(frame.rows for frame in own), sum(frame.body_bytes for frame in own))


def remove_converted(layout: Layout, grace_seconds: float, *, now: datetime | None = None) -> int:
    """Delete the segments that were converted longer ago than the grace; return how many.

    A query that listed one before it was converted may still be reading it; the grace outlives such queries. The
    rows go last, and only when the files are gone for good: a segment that came back without its row would be
    converted a second time. None while a backup is being made.
    """
    before = (now or datetime.now(UTC)) - timedelta(seconds=grace_seconds)
    names = segment.converted_before(layout.node, before)
    if not names:
        return 0
    with deletion() as is_free:
        if not is_free:
            return 0
        for name in names:
            with suppress(FileNotFoundError):
                (layout.staging / (require_segment(name) + SEGMENT_SUFFIX)).unlink()
        sync_directory(layout.staging)
        segment.forget(names)
    return len(names)
