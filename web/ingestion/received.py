"""A request between its headers and its rows. Knows neither how it came nor how it is stored."""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any, Final

from auth.identity import Identity
from ingest.decoded import Decoded
from models.dataset import Dataset
from storage.write.arrival import Arrival
from storage.write.idempotency import RequestReceipt, receipt_of
from web.ingestion.headers import IngestHeaders
from web.ingestion.protocol import Endpoint, Protocol
from web.ingestion.writer import Declared

DEFAULT_TELEMETRY_TYPE: Final = "logs"


@dataclass(slots=True)
class IngestRequest:
    """The body of an authorized request on its way to its dataset, decoded when somebody first asks what is in it.

    `dataset` is "" where the events name theirs. `target`: where it was sent to, path and query, which may say
    something of the events. `idempotency_key`: None, unless the sender gave one. `decode` raises what the decoder
    of the protocol raises.
    """

    protocol: Protocol
    endpoint: Endpoint[Any]
    tenant: str
    dataset: str
    declared: Declared
    media_type: str
    body: bytes
    arrival: Arrival
    target: str
    idempotency_key: str | None
    decode: Callable[[], Decoded]
    _decoded: Decoded | None = None
    _digest: bytes = b""

    def decoded(self) -> Decoded:
        """What the body holds. Raises as `decode`."""
        if self._decoded is None:
            self._decoded = self.decode()
        return self._decoded

    def receipt_for(self, dataset: str, found: Dataset | None) -> RequestReceipt | None:
        """What a repetition of this request, as far as it is for the dataset, is recognised by; None: none is.

        A sender's key counts before what the dataset says. `found` is None for a dataset that does not exist yet.
        """
        if self.idempotency_key is not None:
            return RequestReceipt(self._key_digest(dataset, self.idempotency_key), self._body_digest())
        if found is None or found.deduplication_seconds is None:
            return None
        return RequestReceipt(self._repetition_digest(found), self._body_digest(), found.deduplication_seconds)

    def arrival_of_claim(self, claim_id: bytes) -> Arrival:
        """The arrival as it is stored: with the request's claim, if it has one."""
        return replace(self.arrival, claim_id=claim_id) if claim_id else self.arrival

    def _key_digest(self, dataset: str, key: str) -> bytes:
        return receipt_of(self.tenant, dataset, self.arrival.sender or "", key)

    def _repetition_digest(self, found: Dataset) -> bytes:
        """Of the dataset, by its number, of the sender, and of all that the events are made of."""
        arrival = self.arrival
        said = [text for pair in sorted(arrival.extra.items()) for text in pair]
        sender = (arrival.sender or "", arrival.src_ip or "")
        return receipt_of(str(found.id), *sender, self.target, self.media_type, self._body_digest().hex(), *said)

    def _body_digest(self) -> bytes:
        if not self._digest:
            self._digest = hashlib.sha256(self.body).digest()
        return self._digest


def declared_by(endpoint: Endpoint[Any], sent: IngestHeaders) -> Declared:
    """What the request says of its dataset by its headers and by its protocol."""
    return Declared(
        endpoint.telemetry_type or sent.telemetry_type or DEFAULT_TELEMETRY_TYPE,
        sent.time_partition,
        endpoint.time_field,
        sent.is_lookup,
    )


def arrival_of(src_ip: str, user_agent: str, identity: Identity, sent: IngestHeaders, body_bytes: int) -> Arrival:
    """When and whence a request came: one instant for all its events (api.md section 4)."""
    return Arrival(
        timestamp=datetime.now(UTC),
        src_ip=src_ip,
        user_agent=user_agent,
        extra=sent.extra,
        body_bytes=body_bytes,
        sender=f"{identity.kind}:{identity.id}",
    )
