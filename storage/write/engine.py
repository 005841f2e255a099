"""The write side of the storage: datasets looked up, batches resolved against their schema and made durable.

One `Storage` per process. It asks the database only for datasets, schemas and columns that it does not know yet.
"""

import os
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from typing import Final, TypeVar

from columns import Batch, Field
from errors import InvalidEvent, StorageUnavailable, TooManyColumns
from models import column, dataset
from models.base import check_reachable
from models.event_time import set_event_time
from models.shared_generation import Generation, SharedGeneration
from models.values.column import TIMESTAMP, Column, Limits, Schema
from models.values.dataset import ARRIVAL_COLUMNS, Dataset
from storage.context import Layout
from storage.durable_files import make_directory
from storage.files.disk_watermark import DiskWatermark, used_percent
from storage.times import span
from storage.write.arrival import Arrival, Share, stamp
from storage.write.column_mapping import Plan, adopt, apply, large, plan, stored
from storage.write.committer import MIB, Committer, Copier, Offload, OnCommit, Rows, ignore, inline
from storage.write.declared_schema import conform
from storage.write.idempotency import IdempotencyStore, encode_record

# Plans kept per schema. Clients send few shapes; the bound is for those that send endless ones.
MOST_PLANS: Final = 1000
# A new column costs one more round. Other processes can force further rounds, but not forever: schemas only grow.
MOST_ROUNDS: Final = 20
# Fewer values than this are resolved in place, since that takes less time than a switch of threads.
SMALL_BATCH: Final = 100_000

R = TypeVar("R")

Shape = tuple[tuple[Field, ...], frozenset[int]]


@dataclass(frozen=True, slots=True)
class _Known:
    """A schema and the plans made for it. Replaced whole when the schema changes, and read again once the dataset
    has had more columns dropped than `dropped`."""

    schema: Schema
    dropped: int
    plans: dict[Shape, Plan] = field(default_factory=dict)


class Storage:
    """Appends events durably. Safe for any number of threads or greenlets."""

    def __init__(
        self,
        layout: Layout,
        *,
        generation: Generation | None = None,
        offload: Offload = inline,
        limits: Limits | None = None,
        flush_seconds: float = 5.0,
        max_queued_bytes: int = 256 * MIB,
        disk_high_water_percent: int = 100,
        disk_low_water_percent: int = 100,
        on_commit: OnCommit = ignore,
        copier: Copier | None = None,
    ) -> None:
        """`generation` tells when a dataset was deleted; None: the one that the processes of this host share.

        `copier`: what has another host keep a copy before anything is acknowledged.
        """
        make_directory(layout.staging, layout.root)
        self.layout = layout
        self._offload = offload
        self._limits = limits or Limits()
        self._committer = Committer(
            layout.staging,
            offload=offload,
            flush_seconds=flush_seconds,
            max_queued_bytes=max_queued_bytes,
            on_commit=on_commit,
            copier=copier,
        )
        self._water = DiskWatermark(
            lambda: used_percent(layout.staging), disk_high_water_percent, disk_low_water_percent
        )
        self._generation = generation or SharedGeneration(layout.root)
        self.once = IdempotencyStore(layout)
        self._datasets: dict[tuple[str, str], tuple[int | None, Dataset]] = {}
        self._known: dict[int, _Known] = {}

    def find(self, tenant: str, name: str) -> Dataset:
        """The dataset, from this process's cache if it was not deleted since. Raises DatasetNotFound."""
        generation = self._generation.read()
        cached = self._datasets.get((tenant, name))
        if cached is not None and generation is not None and cached[0] == generation:
            return cached[1]
        target = dataset.find(tenant, name)
        self._datasets[tenant, name] = (generation, target)
        return target

    def delete(self, tenant: str, name: str) -> None:
        """Delete the dataset; on return no process of any host still takes events for it. Raises DatasetNotFound."""
        with self._generation.changing():
            target = dataset.delete(tenant, name)
        self._datasets.pop((tenant, name), None)
        self._known.pop(target.id, None)

    def drop_column(self, tenant: str, name: str, column_id: str) -> Column:
        """Drop the column; on return no process of any host still gives it values of requests that begin.

        Raises DatasetNotFound, ColumnNotFound, InvalidRequest.
        """
        target = dataset.find(tenant, name)
        kept_names = {each.name for each in ARRIVAL_COLUMNS} | {target.time_column, target.custom_partition or ""}
        with self._generation.changing():
            return column.drop(target.id, column_id, kept_names)

    def set_event_time(self, tenant: str, name: str, field: str) -> None:
        """Let the dataset go by the field; on return every request that begins has its events read so.

        Raises DatasetNotFound, ColumnNotFound, InvalidRequest.
        """
        with self._generation.changing():
            set_event_time(dataset.find(tenant, name), field)

    def set_deduplication(self, tenant: str, name: str, seconds: int | None) -> None:
        """Recognise bodies that their senders repeat, for so long; on return every request that begins is judged so.

        Raises DatasetNotFound.
        """
        with self._generation.changing():
            dataset.set_deduplication(dataset.find(tenant, name).id, seconds)

    def append(self, target: Dataset, batch: Batch, arrival: Arrival) -> None:
        """Return when the batch's events, which arrived together, are on stable storage. Raises as append_shared."""
        self.append_shared(target, batch, (Share(arrival, batch.height),))

    def append_shared(self, target: Dataset, batch: Batch, shares: Sequence[Share]) -> None:
        """Return when the batch's events, in their order, are on stable storage.

        The first `shares[0].rows` events came with the first share's arrival, and so on. If it raises, no event is
        stored: InvalidEvent, SchemaMismatch, TooManyColumns, DatasetNotFound, DiskFull, Overloaded, StorageUnavailable.
        """
        if batch.height == 0:
            return
        self._water.check()
        schema = self._schema(target).schema
        senders = {each.arrival.sender for each in shares}
        batch = adopt(batch, schema)
        if target.static_schema or target.time_column != TIMESTAMP:
            batch = conform(batch, target, schema)
        stamped = stamp(batch, shares)
        facts = self._run(stamped, lambda: large(stamped))
        routes = self._plan(target, (stamped.fields, facts), senders).routes
        rows = self._run(stamped, lambda: apply(routes, stamped.columns))
        tmin, tmax = span(rows, target.time_stored)
        notes = b"".join(encode_record(each.arrival.claim_id, each.rows) for each in shares)
        body_bytes = sum(each.arrival.body_bytes for each in shares)
        self._committer.append(Rows(target.id, rows, tmin, tmax, body_bytes, notes))

    def check_disk(self) -> None:
        """Raise DiskFull above the high-water mark."""
        self._water.check()

    def check_ready(self) -> None:
        """Raise StorageUnavailable unless the database answers and segments can be created."""
        check_reachable()
        if not os.access(self.layout.staging, os.W_OK | os.X_OK):
            raise StorageUnavailable("the staging directory cannot be written to")

    def close(self) -> None:
        """Write what is queued and seal the segment."""
        self._committer.close()
        self.once.close()

    def _plan(self, target: Dataset, shape: Shape, senders: Collection[str | None]) -> Plan:
        """The plan for batches of this shape, after the schema has all that it needs; its targets are stored names."""
        cached = self._schema(target)
        for _ in range(MOST_ROUNDS):
            draft = cached.plans.get(shape)
            if draft is None:
                draft = plan(*shape, cached.schema)
                if draft.change:
                    if len(senders) > 1 and draft.change.add:
                        # Each sender gets the error of its own columns only: the caller then stores them one by one.
                        raise TooManyColumns("new columns of several senders at once")
                    evolved = column.evolve(target.id, draft.change, self._limits, next(iter(senders)))
                    cached = self._learn(target, evolved)
                    continue
                draft = stored(draft, cached.schema)
                if len(cached.plans) >= MOST_PLANS:
                    cached.plans.clear()
                cached.plans[shape] = draft
            return draft
        raise InvalidEvent(f"no columns found for these events in {MOST_ROUNDS} attempts")

    def _run(self, batch: Batch, function: Callable[[], R]) -> R:
        is_small = batch.height * len(batch.fields) <= SMALL_BATCH
        return function() if is_small else self._offload(function)

    def _schema(self, target: Dataset) -> _Known:
        cached = self._known.get(target.id)
        if cached is None or cached.dropped < target.columns_dropped:
            return self._learn(target, column.schema(target.id))
        return cached

    def _learn(self, target: Dataset, schema: Schema) -> _Known:
        cached = self._known[schema.dataset_id] = _Known(schema, target.columns_dropped)
        return cached
