"""The one way in for the events of every protocol: the same stages, in the same order, for all of them.

Headers, authorization, log source, media type; then the body is received; then idempotency, decoding, storing; then
the answer. A protocol adds functions to some stages (protocol.py) and can leave out none.
"""

from functools import partial
from typing import Any, Final

from auth.identity import Identity
from auth.privileges import Action, require, require_anywhere
from ingest.decoded import Answer, Stored
from metrics.meters import Meters
from runtime import offload
from serving.flask_app.current import Request
from web.bodies import Bodies
from web.client_connection import require_present
from web.ingestion import headers
from web.ingestion.batcher import Batcher, PendingRequest
from web.ingestion.decoding import Decoder
from web.ingestion.headers import IngestHeaders
from web.ingestion.parts import PartsStore, RequestStore
from web.ingestion.protocol import DecodeTogether, Endpoint, Protocol
from web.ingestion.received import IngestRequest, arrival_of, declared_by
from web.ingestion.writer import Writer

# Below this, requests are batched: 100-event bodies of 40 kB then cost 0.7 of the processor time they cost alone.
SMALL_BYTES: Final = 64 * 1024


class Pipeline:
    """Takes the requests of one worker. Checks come before the body is read, creation after it was understood."""

    def __init__(
        self, protocols: tuple[Protocol, ...], bodies: Bodies, writer: Writer, meters: Meters, max_columns: int
    ) -> None:
        self.protocols = protocols
        self._bodies = bodies
        self._writer = writer
        self._requests = RequestStore(writer, meters)
        self._max_columns = max_columns
        self._decoder = Decoder(bodies.inflight, max_columns, offload)
        self._parts = PartsStore(self._requests)
        self._batchers: dict[DecodeTogether, Batcher] = {}
        for endpoint in (endpoint for protocol in protocols for endpoint in protocol.endpoints):
            self._add_batcher(endpoint)

    def receive(
        self, protocol: Protocol, endpoint: Endpoint[Any], request: Request, identity: Identity, name: str | None
    ) -> Answer:
        """The answer when the request's events are durable. `name` is that of the dataset, if the path has one.

        Raises Forbidden, DatasetNotFound, what the headers, the body and its decoder raise, IdempotencyKeyReused, and
        what `Storage.append` raises.
        """
        sent = headers.read(request.environ)
        dataset = self._authorized(identity, sent, endpoint, name)
        headers.check_log_source(sent, endpoint.log_source)
        media_type = endpoint.media_type(request)
        coding = "" if endpoint.coding is None else endpoint.coding(request)
        if endpoint.bound is not None:
            endpoint = endpoint.bound(request, dataset or None, name)
        with self._bodies.receive(request, coding) as body:
            received = IngestRequest(
                protocol,
                endpoint,
                identity.tenant,
                dataset,
                declared_by(endpoint, sent),
                media_type,
                body,
                arrival_of(
                    request.remote_addr or "",
                    request.environ.get("HTTP_USER_AGENT", ""),
                    identity,
                    sent,
                    len(body),
                ),
                f"{request.environ['PATH_INFO']}?{request.environ.get('QUERY_STRING', '')}",
                sent.idempotency_key,
                partial(self._decoder.decode, endpoint, body, media_type, partial(require_present, request)),
            )
            if endpoint.names_datasets:
                return endpoint.success(self._parts.store(received, identity))
            stored = self._requests.store_once(received, dataset, len(body), partial(self._store, received))
            return endpoint.success(Stored(dataset, stored.events, stored.is_duplicate, media_type, received.decoded))

    def close(self) -> None:
        """Write what is on its way besides events."""
        self._requests.close()

    def _authorized(self, identity: Identity, sent: IngestHeaders, endpoint: Endpoint[Any], name: str | None) -> str:
        """The dataset, into which the identity may ingest; "" where the body is to name it, and it may somewhere."""
        if endpoint.names_datasets and sent.stream is None:
            require_anywhere(identity, Action.INGEST)
            return ""
        dataset = headers.require_stream(sent) if name is None or endpoint.names_datasets else name
        require(identity, Action.INGEST, dataset)
        if endpoint.must_exist:
            self._writer.storage.find(identity.tenant, dataset)
        return dataset

    def _store(self, received: IngestRequest, claim_id: bytes) -> int:
        """Store the events of a body, a small one together with others that wait; their number."""
        together = received.endpoint.decode_together
        if together is not None and len(received.body) < SMALL_BYTES:
            target = self._writer.find(received.tenant, received.dataset)
            if target is not None:
                received.declared.check(target)
                arrival = received.arrival_of_claim(claim_id)
                return self._batchers[together].store(PendingRequest(target, received.body, arrival))
        return self._requests.store_decoded(received, claim_id)

    def _add_batcher(self, endpoint: Endpoint[Any]) -> None:
        together = endpoint.decode_together
        if together is not None and together not in self._batchers:
            self._batchers[together] = Batcher(
                self._writer.storage,
                decode_together=lambda bodies: together(bodies, self._max_columns),
                decode_alone=lambda body: endpoint.decode(body, "", self._max_columns).batch,
            )
