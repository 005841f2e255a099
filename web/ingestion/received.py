"""A request between its headers and its rows. Knows neither how it came nor how it is stored."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

from auth.identity import Identity
from ingest.decoded import Decoded
from storage.write.arrival import Arrival
from storage.write.idempotency import receipt_of
from web.ingestion.headers import IngestHeaders
from web.ingestion.protocol import Endpoint, Protocol
from web.ingestion.writer import Declared

DEFAULT_TELEMETRY_TYPE: Final = "logs"


@dataclass(slots=True)
class IngestRequest:
    """The body of an authorized request on its way to its dataset, decoded when somebody first asks what is in it.

    `dataset` is "" where the events name theirs. `decode` raises what the protocol's decoder raises.
    """

    protocol: Protocol
    endpoint: Endpoint[Any]
    tenant: str
    dataset: str
    declared: Declared
    media_type: str
    body: bytes
    arrival: Arrival
    decode: Callable[[], Decoded]
    _decoded: Decoded | None = None

    def decoded(self) -> Decoded:
        """What the body holds. Raises as `decode`."""
        if self._decoded is None:
            self._decoded = self.decode()
        return self._decoded


def declared_by(endpoint: Endpoint[Any], sent: IngestHeaders) -> Declared:
    """What the request says of its dataset by its headers and by its protocol."""
    return Declared(
        endpoint.telemetry_type or sent.telemetry_type or DEFAULT_TELEMETRY_TYPE,
        sent.time_partition,
        endpoint.time_field,
        sent.is_lookup,
    )


def arrival_of(
    src_ip: str, user_agent: str, identity: Identity, sent: IngestHeaders, body_bytes: int, receipt: bytes
) -> Arrival:
    """When and whence a request came: one instant for all its events (api.md section 4)."""
    return Arrival(
        timestamp=datetime.now(UTC),
        src_ip=src_ip,
        user_agent=user_agent,
        extra=sent.extra,
        body_bytes=body_bytes,
        receipt=receipt,
        sender=f"{identity.kind}:{identity.id}",
    )


def request_digest(identity: Identity, dataset: str, key: str | None) -> bytes:
    """What a repetition of this request has too: nothing without an Idempotency-Key."""
    return b"" if key is None else receipt_of(identity.tenant, dataset, f"{identity.kind}:{identity.id}", key)
