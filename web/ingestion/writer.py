"""The end of the way in: events become durable under their dataset, which is created if it is missing."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

from columns import Batch, Field
from errors import DatasetExists, DatasetNotFound
from models import dataset
from models.column import TIMESTAMP
from models.dataset import DEFAULT_TENANT, Dataset
from storage.write.arrival import Arrival
from storage.write.engine import Storage
from version import VERSION

OWN_TELEMETRY_TYPE: Final = "events"


@dataclass(frozen=True, slots=True)
class Writer:
    """Stores for the pipeline, the audit and Weir's own log. It authorizes nobody and counts nothing."""

    storage: Storage

    def store(
        self,
        tenant: str,
        name: str,
        batch: Batch,
        arrival: Arrival,
        telemetry_type: str,
        time_column: str = TIMESTAMP,
    ) -> None:
        """Return when the events are on stable storage. A dataset that does not exist yet is created, with that time.

        An empty batch is stored too, as nothing: its dataset exists afterwards.
        """
        target = self._find_or_create(tenant, name, telemetry_type, time_column=time_column)
        self.storage.append(target, batch, arrival)

    def store_own(self, name: str, fields: Sequence[Field], batch: Batch) -> None:
        """Weir's own events, as `store` does it, into the default tenant.

        A new dataset has all the `fields` from the start, so that they can be asked for before they have a value.
        """
        target = self._find_or_create(DEFAULT_TENANT, name, OWN_TELEMETRY_TYPE, fields)
        self.storage.append(target, batch, Arrival(datetime.now(UTC), user_agent=f"weir/{VERSION}"))

    def find(self, tenant: str, name: str) -> Dataset | None:
        """The dataset, if it exists."""
        try:
            return self.storage.find(tenant, name)
        except DatasetNotFound:
            return None

    def _find_or_create(
        self,
        tenant: str,
        name: str,
        telemetry_type: str,
        fields: Sequence[Field] = (),
        time_column: str = TIMESTAMP,
    ) -> Dataset:
        """Of rivals that create one dataset at once, all get the same."""
        try:
            return self.storage.find(tenant, name)
        except DatasetNotFound:
            with suppress(DatasetExists):
                dataset.create(tenant, name, telemetry_type=telemetry_type, fields=fields, time_column=time_column)
            return self.storage.find(tenant, name)
