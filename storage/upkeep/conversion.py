"""Conversion: a segment that will not grow any more becomes Parquet files, in one transaction."""

import logging
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
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
from storage.names import GATHERED_SUFFIX, SEGMENT_SUFFIX, partition, require_segment
from storage.wal.records import Record, decode, decode_after_damage, join_streams, read_streams
from storage.wal.segments import SegmentRef, list_segments, take_ownership
from storage.write.event_time import complete_times_of
from storage.write.idempotency import decode_records

logger = logging.getLogger(__name__)


def convert_all(layout: Layout) -> int:
    """Convert every segment that has no living owner; return how many.

    If one fails, the failure is logged, the others are still converted, and InternalError is raised in the end.
    StorageUnavailable is raised at once.
    """
    segments = list_segments(layout.staging)
    converted_names = segment.converted([each.name for each in segments])
    converted, failures = 0, []
    for ref in segments:
        try:
            converted += ref.name not in converted_names and _convert_if_free(layout, ref)
        except StorageUnavailable:
            raise
        except Exception:
            logger.exception("segment %s cannot be converted; its events stay where they are", ref.name)
            failures.append(ref.name)
    if failures:
        raise InternalError(f"{len(failures)} segments cannot be converted, the first is {failures[0]}")
    return converted


def _convert_if_free(layout: Layout, ref: SegmentRef) -> bool:
    with take_ownership(ref) as is_ours:
        if not is_ours:
            return False
        return convert(layout, ref)


def convert(layout: Layout, ref: SegmentRef, owner: str | None = None) -> bool:
    """Convert one segment, whose lock the caller holds. False: another process had converted it already.

    `owner`: the host whose segment it is; None: this one.

    A record that a crash left incomplete was never acknowledged and is left out. Whole records behind damage are
    converted: the bytes before them were damaged later, or their sender got no response.
    """
    data = Path(ref.path).read_bytes()
    records = list(decode(data, ref.name))
    records += _decode_after_damage(data, sum(record.size for record in records), ref)
    ids = sorted({record.dataset_id for record in records})
    targets = dataset.find_many(ids)
    files: list[File] = []
    try:
        for target in targets:
            files += _write(layout, target, [record for record in records if record.dataset_id == target.id])
        dead = segment.switch(
            ref.name, owner or layout.node, files, [_ingested(each, records) for each in ids], _claims(records)
        )
    except BaseException:
        # The manifest may have the files, if the commit succeeded after all, and then they have to stay. The sweep
        # decides later, when the database answers again.
        logger.info("conversion of %s stopped; %d files are left to the sweep", ref.name, len(files))
        raise
    open_store(layout).remove([each.path for each in files] if dead is None else dead)
    return dead is not None


def _decode_after_damage(data: bytes, good: int, ref: SegmentRef) -> list[Record]:
    records = list(decode_after_damage(data, good, ref.name))
    if records:
        events = sum(record.rows for record in records)
        damaged_bytes = len(data) - good - sum(record.size for record in records)
        logger.error(
            "segment %s: %d bytes from %d on are damaged; %d events after them are saved",
            ref.name,
            damaged_bytes,
            good,
            events,
        )
    return records


def _write(layout: Layout, target: Dataset, records: Sequence[Record]) -> list[File]:
    schema = column.schema(target.id)
    if not schema.columns:
        # Deleted since it was found.
        return []
    rows = complete_times_of(target, unify(read_streams(record.payload for record in records), schema))
    return write_parts(layout, rows, Origin(target, schema, sum(record.body_bytes for record in records)))


def write_parts(layout: Layout, rows: pl.DataFrame, origin: Origin) -> list[File]:
    """The rows as files of their hours and of the values of the partition field; all of them are of `origin`."""
    target, divider = origin.target, origin.schema.stored(origin.target.custom_partition)
    parts = [
        (partition(target.tenant, target.name, hour, key), part)
        for hour, rows_of_hour in parquet.by_hour(rows, target.time_stored)
        for key, part in parquet.by_value(rows_of_hour, divider)
    ]
    shares = share(origin.body_bytes, [part.height for _, part in parts])
    return [
        parquet.write(layout, directory, part, replace(origin, body_bytes=body_bytes))
        for (directory, part), body_bytes in zip(parts, shares, strict=True)
    ]


def share(amount: int, weights: Sequence[int]) -> list[int]:
    """The amount divided into whole parts that are proportional to the weights and add up to it exactly.

    >>> share(10, [1, 1, 1])
    [3, 3, 4]
    """
    total, weight_so_far, shared = sum(weights), 0, 0
    parts = []
    for weight in weights:
        weight_so_far += weight
        parts.append(amount * weight_so_far // total - shared)
        shared += parts[-1]
    return parts


def unify(parts: Sequence[pl.DataFrame], schema: Schema) -> pl.DataFrame:
    """All rows in one DataFrame: the columns that occur, in the schema's order and types."""
    joined = join_streams(parts)
    occurring = {name for part in joined for name in part.columns}
    dtypes = {each.stored: POLARS_TYPES[each.type] for each in schema.columns if each.stored in occurring}
    conformed = [
        pl.DataFrame([part.get_column(name).cast(dtype) for name, dtype in dtypes.items() if name in part.columns])
        for part in joined
    ]
    return pl.concat(conformed, how="diagonal").select(exactly(name) for name in dtypes)


def _claims(records: Sequence[Record]) -> dict[bytes, int]:
    return {claim_id: events for record in records for claim_id, events in decode_records(record.notes).items()}


def _ingested(dataset_id: int, records: Sequence[Record]) -> Ingested:
    own = [record for record in records if record.dataset_id == dataset_id]
    return Ingested(dataset_id, sum(record.rows for record in own), sum(record.body_bytes for record in own))


def remove_converted(layout: Layout, grace_seconds: float, *, now: datetime | None = None) -> int:
    """Delete the segments that were converted longer ago than the grace; return how many.

    A query that listed a segment before its conversion may still read it; the grace is longer than such queries. The
    rows go last, and only when the files are gone for good: a segment that came back without its row would be
    converted a second time. Deletes nothing while a backup runs.
    """
    before = (now or datetime.now(UTC)) - timedelta(seconds=grace_seconds)
    names = segment.converted_before(layout.node, before)
    if not names:
        return 0
    with deletion() as is_free:
        if not is_free:
            return 0
        # What was gathered goes first: without its segment nobody would look for it.
        for suffix in (GATHERED_SUFFIX, SEGMENT_SUFFIX):
            for name in names:
                with suppress(FileNotFoundError):
                    (layout.staging / (require_segment(name) + suffix)).unlink()
        sync_directory(layout.staging)
        segment.forget(names)
    return len(names)
