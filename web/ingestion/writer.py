"""The end of the way in: events become durable under their dataset, which is created if it is missing."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Final

import polars as pl

from columns import POLARS_TYPES, Batch, ColumnType, Field
from errors import DatasetExists, DatasetNotFound, InvalidHeader
from metric_columns import MetricMetadata
from models import dataset, metric_metadata
from models.column import TIMESTAMP
from models.dataset import DEFAULT_TENANT, Dataset
from storage.times import to_us
from storage.write.arrival import Arrival
from storage.write.engine import Storage
from version import VERSION
from web.ingestion.metadata import MetadataRecorder

OWN_TELEMETRY_TYPE: Final = "events"


@dataclass(frozen=True, slots=True)
class Declared:
    """What a request says of its dataset, which counts if the request creates it and must not contradict it else.

    `time_column` of None: nothing is said. `time_field` is the protocol's own: a dataset that is created gets it as its
    time column, and records without that time get the time of their arrival.
    """

    telemetry_type: str
    time_column: str | None = None
    time_field: str | None = None
    is_lookup: bool = False
    fields: Sequence[Field] = ()

    @property
    def new_time_column(self) -> str:
        """The time column of a dataset that the request creates."""
        own = None if self.is_lookup else self.time_field
        return self.time_column or own or TIMESTAMP

    def check(self, target: Dataset) -> None:
        """Raises InvalidHeader when the dataset is another than the request says."""
        if self.time_column not in (None, target.time_column):
            raise InvalidHeader(
                f"the dataset {target.name} has the time field {target.time_column!r}, not {self.time_column[:100]!r}",
                field="X-P-Time-Partition",
            )
        if self.is_lookup and not target.is_lookup:
            raise InvalidHeader(f"the dataset {target.name} is no lookup dataset", field="X-P-Dataset-Kind")


@dataclass(frozen=True, slots=True)
class Writer:
    """Stores for the pipeline, the audit and Weir's own log. It authorizes nobody and counts nothing."""

    storage: Storage
    metadata: MetadataRecorder = field(default_factory=lambda: MetadataRecorder(metric_metadata.record))

    def store(self, tenant: str, name: str, batch: Batch, arrival: Arrival, declared: Declared) -> None:
        """Return when the events are on stable storage. A dataset that does not exist yet is created.

        An empty batch is stored too, as nothing: its dataset exists afterwards. Raises InvalidHeader when the dataset
        is another than `declared`, and what `Storage.append` raises.
        """
        target = self._find_or_create(tenant, name, declared)
        declared.check(target)
        if declared.time_field == target.time_column:
            batch = with_times(batch, target.time_column, arrival.timestamp)
        self.storage.append(target, batch, arrival)

    def describe(self, tenant: str, name: str, said: Mapping[str, MetricMetadata]) -> None:
        """Keep what a request said of metrics of the dataset, which exists. It is in the database a second later."""
        target = self.find(tenant, name) if said else None
        if target is not None:
            self.metadata.note(target.id, said)

    def record(self, tenant: str, name: str, batch: Batch, arrival: Arrival, telemetry_type: str) -> None:
        """The same for the audit, which declares nothing else of its dataset."""
        self.store(tenant, name, batch, arrival, Declared(telemetry_type))

    def store_own(self, name: str, fields: Sequence[Field], batch: Batch) -> None:
        """Weir's own events, as `store` does it, into the default tenant.

        A new dataset has all the `fields` from the start, so that they can be asked for before they have a value.
        """
        target = self._find_or_create(DEFAULT_TENANT, name, Declared(OWN_TELEMETRY_TYPE, fields=fields))
        self.storage.append(target, batch, Arrival(datetime.now(UTC), user_agent=f"weir/{VERSION}"))

    def find(self, tenant: str, name: str) -> Dataset | None:
        """The dataset, if it exists."""
        try:
            return self.storage.find(tenant, name)
        except DatasetNotFound:
            return None

    def _find_or_create(self, tenant: str, name: str, declared: Declared) -> Dataset:
        """Of rivals that create one dataset at once, all get the same."""
        try:
            return self.storage.find(tenant, name)
        except DatasetNotFound:
            with suppress(DatasetExists):
                dataset.create(
                    tenant,
                    name,
                    time_column=declared.new_time_column,
                    telemetry_type=declared.telemetry_type,
                    is_lookup=declared.is_lookup,
                    fields=declared.fields,
                )
            return self.storage.find(tenant, name)


def with_times(batch: Batch, time_column: str, arrived: datetime) -> Batch:
    """The batch with the time of arrival where a record has none of its own (nanoseconds)."""
    field = Field(time_column, ColumnType.TIMESTAMP_NS)
    dtype = POLARS_TYPES[field.type]
    now = pl.lit(to_us(arrived) * 1000).cast(dtype)
    if field not in batch.fields:
        times = pl.select(now.repeat_by(batch.height).explode()).to_series().alias(time_column)
        return Batch((*batch.fields, field), (*batch.columns, times), batch.height)
    place = batch.fields.index(field)
    times = batch.columns[place]
    if not times.null_count():
        return batch
    filled = times.to_frame().select(pl.col(times.name).fill_null(now)).to_series()
    return Batch(batch.fields, (*batch.columns[:place], filled, *batch.columns[place + 1 :]), batch.height)
