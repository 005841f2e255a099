"""The stages of one call, as those of the pipeline (web/ingestion/pipeline.py) but for HTTP. In real threads."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, NamedTuple

from auth.identity import Identity
from auth.privileges import Action, require, require_anywhere
from errors import ClientGone, InvalidBody
from ingest.decoded import Stored
from ingest.otlp.reading import PROTOBUF
from metrics.meters import Meters
from otlp_grpc.call import Call
from otlp_grpc.caller import Callers
from web import content_codings
from web.inflight import Inflight
from web.ingestion import headers, otlp
from web.ingestion.decoding import Decoder
from web.ingestion.headers import IngestHeaders
from web.ingestion.parts import PartsStore, RequestStore
from web.ingestion.protocol import Endpoint, Protocol
from web.ingestion.received import IngestRequest, arrival_of, declared_by
from web.ingestion.writer import Writer

GZIP: Final = b"\x1f\x8b"


class Admitted(NamedTuple):
    """A call whose sender may store what it is going to send. `dataset`: "" where its resources name theirs."""

    call: Call
    identity: Identity
    sent: IngestHeaders
    endpoint: Endpoint[Any]
    dataset: str


@dataclass(frozen=True, slots=True)
class Limits:
    """`decoded_bytes`: of a message after decompression; `columns`: of one dataset."""

    decoded_bytes: int
    columns: int


class Receiver:
    """Takes the calls of the process. Checks come before the message is read, creation after it was understood."""

    def __init__(self, callers: Callers, writer: Writer, meters: Meters, inflight: Inflight, limits: Limits) -> None:
        self._callers = callers
        self._writer = writer
        self._inflight = inflight
        self._limits = limits
        self._requests = RequestStore(writer, meters)
        self._parts = PartsStore(self._requests)
        self._protocol: Protocol = otlp.grpc()
        self._decoder = Decoder(inflight, limits.columns, lambda function: function())

    def admit(self, call: Call) -> Admitted:
        """What is known before the message is read. Raises what `identify`, the headers and authorization raise."""
        identity = self._callers.identify(call)
        sent = headers.read(call.environ)
        export = otlp.EXPORTS[call.path]
        if sent.log_source is not None:
            headers.check_log_source(sent, export.named.log_source)
        if sent.stream is None:
            require_anywhere(identity, Action.INGEST)
            return Admitted(call, identity, sent, export.by_service, "")
        dataset = headers.require_stream(sent)
        require(identity, Action.INGEST, dataset)
        return Admitted(call, identity, sent, export.named, dataset)

    def store(self, admitted: Admitted, message: bytes, is_gone: Callable[[], bool]) -> bytes:
        """The response when the message's records are durable. Raises what its decoder and `Storage.append` raise."""
        held = len(message)
        self._inflight.hold(held)
        try:
            body = inflated(message, self._limits.decoded_bytes)
            self._inflight.hold(grown := max(0, len(body) - held))
            held += grown
            received = self._received(admitted, body, partial(_require_present, is_gone))
            return admitted.endpoint.success(self._stored(received, admitted)).body
        finally:
            self._inflight.let_go(held)

    def close(self) -> None:
        """Write what is on its way besides events."""
        self._requests.close()

    def _received(self, admitted: Admitted, body: bytes, require_present: Callable[[], None]) -> IngestRequest:
        call, identity, sent, endpoint, dataset = admitted
        return IngestRequest(
            self._protocol,
            endpoint,
            identity.tenant,
            dataset,
            declared_by(endpoint, sent),
            PROTOBUF,
            body,
            arrival_of(call.src_ip, call.user_agent, identity, sent, len(body)),
            call.path,
            sent.idempotency_key,
            partial(self._decoder.decode, endpoint, body, PROTOBUF, require_present),
        )

    def _stored(self, received: IngestRequest, admitted: Admitted) -> Stored[Any]:
        if received.endpoint.names_datasets:
            return self._parts.store(received, admitted.identity)
        store = partial(self._requests.store_decoded, received)
        answer = self._requests.store_once(received, received.dataset, len(received.body), store)
        return Stored(received.dataset, answer.events, answer.is_duplicate, PROTOBUF, received.decoded)


def inflated(message: bytes, limit: int) -> bytes:
    """The message without its compression, which gRPC is told to leave on: it would not bound what comes of it.

    gRPC does not say whether a message is compressed. No message of OTLP begins as gzip does (field 3 of the wire type
    7, which there is not), nor as zlib does (field 15). Raises TooLarge, InvalidBody.
    """
    if message.startswith(GZIP):
        return content_codings.gunzip(message, limit)
    if content_codings.has_zlib_header(message):
        return content_codings.inflate(message, limit)
    return content_codings.decode(message, (), limit)


def require_message(message: object) -> bytes:
    """Raises InvalidBody where the call ended without one."""
    if not isinstance(message, bytes):
        raise InvalidBody("the call has no message, or one that is too large")
    return message


def _require_present(is_gone: Callable[[], bool]) -> None:
    if is_gone():
        raise ClientGone("the client gave its call up before its records were decoded; nothing was stored")
