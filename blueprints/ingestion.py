"""JSON events in: the two endpoints of spec 4.2 that take them."""

from functools import partial
from typing import Final

import orjson
from flask import Blueprint, Response

from errors import InvalidHeader
from ingest.json import decoding
from runtime import offload
from serving.flask_app.application import json_answer
from serving.flask_app.current import Request, this_request
from storage.write.arrival import Arrival
from web import ingest_headers as scopes
from web.authentication import caller, protect
from web.batcher import Small
from web.bodies import require_json_type
from web.reception import arrival_of
from web.services import Services, services

blueprint = protect(Blueprint("ingestion", __name__))

# Below this, requests are gathered: 100-event bodies of 40 kB then cost 0.7 of the processor time they cost alone.
SMALL_BYTES: Final = 64 * 1024
# Decoding holds the interpreter wherever it runs: up to this size, a few milliseconds, a thread only costs.
INLINE_BYTES: Final = 512 * 1024


@blueprint.post("/api/v1/ingest")
def ingest() -> Response:
    """Events for the dataset that `X-P-Stream` names; created if missing (spec 4.2 rule 1)."""
    request = this_request()
    scope = scopes.read(request.environ)
    return _receive(request, scopes.require_stream(scope), scope, must_exist=False)


@blueprint.post("/api/v1/logstream/<name>")
def ingest_into(name: str) -> Response:
    """Events for an existing dataset named by the path, and only by it (spec 4.2 rule 2)."""
    request = this_request()
    return _receive(request, name, scopes.read(request.environ), must_exist=True)


def _receive(request: Request, name: str, scope: scopes.IngestHeaders, *, must_exist: bool) -> Response:
    _refuse_otel(scope)
    require_json_type(request)
    served, sender = services(), caller()
    reception = served.reception
    reception.admit(sender, name, must_exist=must_exist)
    with served.bodies.receive(request) as body:
        arrival = arrival_of(request, scope, len(body), reception.receipt(sender, name, scope))
        store = partial(_store, served, sender.tenant, name, body, arrival, scope.telemetry_type or "logs")
        stored = reception.once(sender, name, arrival, body, store)
    answer = {"dataset": name, "events": stored.events}
    return json_answer(orjson.dumps({**answer, "duplicate": True} if stored.is_duplicate else answer))


def _store(served: Services, tenant: str, name: str, body: bytes, arrival: Arrival, telemetry_type: str) -> int:
    """Store the events of a body, a small one together with others that wait; their number."""
    target = served.reception.find(tenant, name)
    if target is not None and len(body) < SMALL_BYTES:
        return served.gathering.store(Small(target, body, arrival))
    decode = partial(decoding.decode, body, max_columns=served.settings.max_columns)
    batch = decode() if len(body) < INLINE_BYTES else offload(decode)
    served.reception.store(tenant, name, batch, arrival, telemetry_type)
    return batch.height


def _refuse_otel(scope: scopes.IngestHeaders) -> None:
    """An OTLP payload stored as plain JSON would look accepted and be useless."""
    if scope.log_source is not None and scope.log_source.startswith("otel-"):
        raise InvalidHeader(
            f"X-P-Log-Source {scope.log_source!r} belongs to /v1/logs, /v1/metrics and /v1/traces",
            field="X-P-Log-Source",
        )
