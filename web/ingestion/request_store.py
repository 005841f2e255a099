"""Storing a request whose rows are known, once: HTTP's pipeline and OTLP/gRPC end in it. It authorizes nobody."""

from collections.abc import Callable
from dataclasses import dataclass

from metrics.meters import Meters
from storage.write.idempotency import StoredAnswer
from web.ingestion.received import IngestRequest
from web.ingestion.writer import Writer


@dataclass(frozen=True, slots=True)
class RequestStore:
    """Claims, stores and counts requests."""

    writer: Writer
    meters: Meters

    def store_once(
        self, received: IngestRequest, dataset: str, body_bytes: int, store: Callable[[bytes], int]
    ) -> StoredAnswer:
        """What became of the request's events for the dataset, which `store` stores unless an earlier request did.

        `store` gets the id of the claim and gives the number of events; `body_bytes` are counted as theirs. It comes
        before decoding: a duplicate costs none of it, and what became of the first request is told in any case.
        """
        receipt = received.receipt_for(dataset, self.writer.find(received.tenant, dataset))
        answer = self.writer.storage.once.store(receipt, store)
        if not answer.is_duplicate:
            self.meters.ingested(received.tenant, dataset, answer.events, body_bytes)
        return answer

    def store_decoded(self, received: IngestRequest, claim_id: bytes) -> int:
        """Decode the request and store its events in its dataset; their number."""
        decoded = received.decoded()
        arrival = received.arrival_of_claim(claim_id)
        self.writer.store(received.tenant, received.dataset, decoded.batch, arrival, received.declared)
        self.writer.describe(received.tenant, received.dataset, decoded.metadata)
        self.meters.rejected(received.protocol.name, decoded.reasons)
        return decoded.batch.height
