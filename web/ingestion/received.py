"""A request between its headers and its rows. Knows how it is decoded, not how it is stored."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from auth.identity import Identity
from ingest.decoded import Decoded
from storage.write.arrival import Arrival
from storage.write.idempotency import receipt_of
from web.ingestion.decoding import Decoder
from web.ingestion.protocol import Endpoint, Protocol
from web.ingestion.writer import Declared


@dataclass(slots=True)
class IngestRequest:
    """The body of an authorized request on its way to its dataset, decoded when somebody first asks what is in it.

    `dataset` is "" where the events name theirs.
    """

    protocol: Protocol
    endpoint: Endpoint[Any]
    tenant: str
    dataset: str
    declared: Declared
    media_type: str
    body: bytes
    arrival: Arrival
    decoder: Decoder
    require_present: Callable[[], None]
    _decoded: Decoded | None = None

    def decoded(self) -> Decoded:
        """What the body holds. Raises what the protocol's decoder raises."""
        if self._decoded is None:
            self._decoded = self.decoder.decode(self.endpoint, self.body, self.media_type, self.require_present)
        return self._decoded


def request_digest(identity: Identity, dataset: str, key: str | None) -> bytes:
    """What a repetition of this request has too: nothing without an Idempotency-Key."""
    return b"" if key is None else receipt_of(identity.tenant, dataset, f"{identity.kind}:{identity.id}", key)
