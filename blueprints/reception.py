"""The one way in for the events of every protocol: admitted, then stored durably under their dataset."""

from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime

from flask import Request

from auth.identity import Identity
from auth.privileges import Action, require
from blueprints.scope import Scope
from columns import Batch
from errors import DatasetExists, DatasetNotFound
from models import dataset
from models.dataset import Dataset
from storage.arrival import Arrival
from storage.engine import Storage


@dataclass(frozen=True, slots=True)
class Reception:
    """What ingestion routes share. Checks come before the body is read, creation after it was understood."""

    storage: Storage

    def admit(self, identity: Identity, name: str, *, must_exist: bool) -> None:
        """Raises Forbidden when the identity may not send to the dataset, DatasetNotFound when it must exist."""
        require(identity, Action.INGEST, name)
        if must_exist:
            self.storage.find(identity.tenant, name)

    def store(self, identity: Identity, name: str, batch: Batch, arrival: Arrival, telemetry_type: str) -> None:
        """Return when the events are on stable storage. An admitted dataset that does not exist yet is created.

        An empty batch is stored too, as nothing: its dataset exists afterwards.
        """
        self.storage.append(self._find_or_create(identity.tenant, name, telemetry_type), batch, arrival)

    def find(self, identity: Identity, name: str) -> Dataset | None:
        """The dataset, if it exists."""
        try:
            return self.storage.find(identity.tenant, name)
        except DatasetNotFound:
            return None

    def _find_or_create(self, tenant: str, name: str, telemetry_type: str) -> Dataset:
        """Of rivals that create one dataset at once, all get the same."""
        try:
            return self.storage.find(tenant, name)
        except DatasetNotFound:
            with suppress(DatasetExists):
                dataset.create(tenant, name, telemetry_type=telemetry_type)
            return self.storage.find(tenant, name)


def arrival_of(request: Request, scope: Scope, body_bytes: int) -> Arrival:
    """When and whence a request came: one instant for all its events (api.md section 4)."""
    return Arrival(
        timestamp=datetime.now(UTC),
        src_ip=request.remote_addr or "",
        user_agent=request.headers.get("User-Agent", ""),
        extra=scope.extra,
        body_bytes=body_bytes,
    )
