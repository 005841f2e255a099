"""The one way in for the events of every protocol: admitted, then stored durably under their dataset."""

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

from auth.identity import Identity
from auth.privileges import Action, require
from columns import Batch, Field
from errors import DatasetExists, DatasetNotFound
from metrics.meters import Meters
from models import dataset
from models.dataset import DEFAULT_TENANT, Dataset
from serving.flask_app.current import Request
from storage.write.arrival import Arrival
from storage.write.engine import Storage
from storage.write.idempotency import StoredAnswer, receipt_of
from version import VERSION
from web.ingest_headers import IngestHeaders

OWN_TELEMETRY_TYPE: Final = "events"


@dataclass(frozen=True, slots=True)
class Reception:
    """What ingestion routes share. Checks come before the body is read, creation after it was understood."""

    storage: Storage
    meters: Meters

    def admit(self, identity: Identity, name: str, *, must_exist: bool) -> None:
        """Raises Forbidden when the identity may not send to the dataset, DatasetNotFound when it must exist."""
        require(identity, Action.INGEST, name)
        if must_exist:
            self.storage.find(identity.tenant, name)

    def store(self, tenant: str, name: str, batch: Batch, arrival: Arrival, telemetry_type: str) -> None:
        """Return when the events are on stable storage. An admitted dataset that does not exist yet is created.

        An empty batch is stored too, as nothing: its dataset exists afterwards.
        """
        self.storage.append(self._find_or_create(tenant, name, telemetry_type), batch, arrival)

    def store_own(self, name: str, fields: Sequence[Field], batch: Batch) -> None:
        """Weir's own events, as `store` does it, into the default tenant: nobody is asked, and nothing is counted.

        A new dataset has all the `fields` from the start, so that they can be asked for before they have a value.
        """
        target = self._find_or_create(DEFAULT_TENANT, name, OWN_TELEMETRY_TYPE, fields)
        self.storage.append(target, batch, Arrival(datetime.now(UTC), user_agent=f"weir/{VERSION}"))

    def store_once(
        self, identity: Identity, name: str, body: bytes, batch: Batch, arrival: Arrival, telemetry_type: str
    ) -> None:
        """Store a decoded batch, unless a request with its receipt stored it before."""

        def store() -> int:
            self.store(identity.tenant, name, batch, arrival, telemetry_type)
            return batch.height

        self.once(identity, name, arrival, body, store)

    def receipt(self, identity: Identity, name: str, scope: IngestHeaders) -> bytes:
        """What a repetition of this request has too: nothing without an Idempotency-Key."""
        if scope.idempotency_key is None:
            return b""
        return receipt_of(identity.tenant, name, f"{identity.kind}:{identity.id}", scope.idempotency_key)

    def once(
        self, identity: Identity, name: str, arrival: Arrival, body: bytes, store: Callable[[], int]
    ) -> StoredAnswer:
        """The answer of `store`, which gives the number of events; or of the request that had this receipt before.

        Raises IdempotencyKeyReused and what `store` raises.
        """
        if arrival.receipt:
            answer = self.storage.once.store(arrival.receipt, body, store)
        else:
            answer = StoredAnswer(store(), is_duplicate=False)
        if not answer.is_duplicate:
            self.meters.ingested(identity.tenant, name, answer.events, len(body))
        return answer

    def find(self, tenant: str, name: str) -> Dataset | None:
        """The dataset, if it exists."""
        try:
            return self.storage.find(tenant, name)
        except DatasetNotFound:
            return None

    def _find_or_create(self, tenant: str, name: str, telemetry_type: str, fields: Sequence[Field] = ()) -> Dataset:
        """Of rivals that create one dataset at once, all get the same."""
        try:
            return self.storage.find(tenant, name)
        except DatasetNotFound:
            with suppress(DatasetExists):
                dataset.create(tenant, name, telemetry_type=telemetry_type, fields=fields)
            return self.storage.find(tenant, name)


def arrival_of(request: Request, scope: IngestHeaders, body_bytes: int, receipt: bytes) -> Arrival:
    """When and whence a request came: one instant for all its events (api.md section 4)."""
    return Arrival(
        timestamp=datetime.now(UTC),
        src_ip=request.remote_addr or "",
        user_agent=request.environ.get("HTTP_USER_AGENT", ""),
        extra=scope.extra,
        body_bytes=body_bytes,
        receipt=receipt,
    )
