"""JSON events in: the two endpoints of spec 4.2 that take them."""

from functools import partial

from flask import Blueprint, Response, jsonify, request

from blueprints import scope as scopes
from blueprints.authentication import caller, protect
from blueprints.bodies import require_json_type
from blueprints.parts import parts
from blueprints.reception import arrival_of
from columns import Batch
from errors import InvalidHeader
from ingest import json_events
from runtime import offload

blueprint = protect(Blueprint("ingestion", __name__))

# Below this, decoding costs less than handing it to the thread pool.
INLINE_BYTES = 16 * 1024


@blueprint.post("/api/v1/ingest")
def ingest() -> Response:
    """Events for the dataset that `X-P-Stream` names; created if missing (spec 4.2 rule 1)."""
    scope = scopes.read(request.headers)
    return _receive(scopes.require_stream(scope), scope, must_exist=False)


@blueprint.post("/api/v1/logstream/<name>")
def ingest_into(name: str) -> Response:
    """Events for an existing dataset named by the path, and only by it (spec 4.2 rule 2)."""
    return _receive(name, scopes.read(request.headers), must_exist=True)


def _receive(name: str, scope: scopes.Scope, *, must_exist: bool) -> Response:
    _refuse_otel(scope)
    reception = parts().reception
    reception.admit(caller(), name, must_exist=must_exist)
    require_json_type(request)
    with parts().bodies.receive(request) as body:
        batch = _decode(body)
        arrival = arrival_of(request, scope, batch, len(body))
        reception.store(caller(), name, batch, arrival, scope.telemetry_type or "logs")
    return jsonify({"dataset": name, "events": batch.height})


def _decode(body: bytes) -> Batch:
    decode = partial(json_events.decode, body, max_columns=parts().settings.max_columns)
    return decode() if len(body) < INLINE_BYTES else offload(decode)


def _refuse_otel(scope: scopes.Scope) -> None:
    """An OTLP payload stored as plain JSON would look accepted and be useless."""
    if scope.log_source is not None and scope.log_source.startswith("otel-"):
        raise InvalidHeader(
            f"X-P-Log-Source {scope.log_source!r} belongs to /v1/logs, /v1/metrics and /v1/traces",
            field="X-P-Log-Source",
        )
