"""Storing requests once, over HTTP and gRPC: whole, or in parts where the events name their datasets.

Of a divided request every dataset is authorized before any part is stored; a whole one has been before.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from auth.identity import Identity
from auth.privileges import Action, require
from errors import WeirError
from ingest.dataset_naming import require_few
from ingest.decoded import Decoded, Divided, Part, RefusedPart, Stored
from metrics.meters import Meters
from models import sender_count
from storage.write.idempotency import StoredAnswer
from web.errors import status_of
from web.ingestion.headers import checked_dataset_name
from web.ingestion.received import IngestRequest
from web.ingestion.senders import SenderCounter
from web.ingestion.writer import Writer


@dataclass(frozen=True, slots=True)
class RequestStore:
    """Claims, stores and counts requests."""

    writer: Writer
    meters: Meters
    senders: SenderCounter = field(default_factory=lambda: SenderCounter(sender_count.add))

    def store_once(
        self, received: IngestRequest, dataset: str, body_bytes: int, store: Callable[[bytes], int]
    ) -> StoredAnswer:
        """What became of the request's events for the dataset, which `store` stores unless an earlier request did.

        `store` gets the id of the claim and gives the number of events, and `body_bytes` are counted as theirs. Where
        it decodes, a duplicate costs none of that.
        """
        receipt = received.receipt_for(dataset, self.writer.find(received.tenant, dataset))
        answer = self.writer.storage.once.store(receipt, store)
        if not answer.is_duplicate:
            self._count(received, dataset, answer.events, body_bytes)
        return answer

    def store_decoded(self, received: IngestRequest, claim_id: bytes) -> int:
        """Decode the request and store its events in its dataset; their number."""
        decoded = received.decoded()
        arrival = received.arrival_of_claim(claim_id)
        self.writer.store(received.tenant, received.dataset, decoded.batch, arrival, received.declared)
        self.writer.describe(received.tenant, received.dataset, decoded.metadata)
        self.meters.rejected(received.protocol.name, decoded.reasons)
        return decoded.batch.height

    def close(self) -> None:
        """Write what is on its way besides events."""
        self.senders.close()
        self.writer.metadata.close()

    def _count(self, received: IngestRequest, dataset: str, events: int, body_bytes: int) -> None:
        self.meters.ingested(received.tenant, dataset, events, body_bytes)
        found = self.writer.find(received.tenant, dataset)
        arrival = received.arrival
        if found is not None and arrival.sender is not None:
            self.senders.note(found.id, arrival.sender, arrival.timestamp, events, body_bytes)


class PartsStore:
    """Stores the parts of divided requests, each under a receipt of its own."""

    def __init__(self, requests: RequestStore) -> None:
        self._requests = requests
        self._writer = requests.writer
        self._meters = requests.meters

    def store(self, received: IngestRequest, identity: Identity) -> Stored[Decoded]:
        """Return when the events of all parts are durable, but for those that the endpoint may refuse by themselves.

        Raises Forbidden, InvalidName, InvalidRequest (too many datasets), and what decoding and storing raise.
        """
        decoded = _divided(received)
        require_few([part.dataset for part in decoded.parts])
        refused = _refusals(received, identity, decoded.parts)
        rows = sum(part.batch.height for part in decoded.parts)
        answers: list[StoredAnswer] = []
        for part in decoded.parts:
            if part.dataset in refused:
                continue
            try:
                body_bytes = _bytes_of_part(received, part, rows)
                store = partial(self._store, received, part, body_bytes)
                answers.append(self._requests.store_once(received, part.dataset, body_bytes, store))
            except WeirError as error:
                _require_told_by_part(received, error, stored_before=bool(answers))
                refused[part.dataset] = RefusedPart(status_of(error), error)
        self._count_refused(received, decoded, refused)
        is_duplicate = bool(answers) and all(answer.is_duplicate for answer in answers)
        events = sum(answer.events for answer in answers)
        return Stored(received.dataset, events, is_duplicate, received.media_type, received.decoded, refused)

    def _store(self, received: IngestRequest, part: Part, body_bytes: int, claim_id: bytes) -> int:
        arrival = replace(received.arrival, body_bytes=body_bytes, claim_id=claim_id)
        self._writer.store(received.tenant, part.dataset, part.batch, arrival, received.declared)
        self._writer.describe(received.tenant, part.dataset, part.metadata)
        return part.batch.height

    def _count_refused(self, received: IngestRequest, decoded: Divided, refused: Mapping[str, RefusedPart]) -> None:
        self._meters.rejected(received.protocol.name, decoded.reasons)
        for part in decoded.parts:
            if part.dataset in refused:
                code = refused[part.dataset].error.code
                self._meters.rejected(received.protocol.name, {code: part.batch.height})


def _divided(received: IngestRequest) -> Divided:
    decoded = received.decoded()
    assert isinstance(decoded, Divided), received.endpoint.name
    return decoded


def _refusals(received: IngestRequest, identity: Identity, parts: Sequence[Part]) -> dict[str, RefusedPart]:
    """The parts that may not be stored, where the endpoint tells of each; else raises what is wrong with the first."""
    refused: dict[str, RefusedPart] = {}
    for part in parts:
        try:
            require(identity, Action.INGEST, checked_dataset_name(part.dataset))
        except WeirError as error:
            _require_told_by_part(received, error, stored_before=False)
            refused[part.dataset] = RefusedPart(status_of(error), error)
    return refused


def _require_told_by_part(received: IngestRequest, error: WeirError, *, stored_before: bool) -> None:
    """Raises the error itself where it is the whole request's: a sender then repeats all of it."""
    is_passing = status_of(error) >= 500 and not stored_before
    if is_passing or not received.endpoint.refuses_parts:
        raise error


def _bytes_of_part(received: IngestRequest, part: Part, rows: int) -> int:
    """The part's share of the body's bytes."""
    return received.arrival.body_bytes * part.batch.height // max(rows, 1)
