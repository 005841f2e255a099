"""OTLP/HTTP: logs, metrics and traces, answered in the encoding they came in (spec 4.2, OTLP/HTTP)."""

import logging
from collections.abc import Callable
from functools import partial
from typing import Final, NamedTuple

from flask import Blueprint, Response, request

from blueprints.ingestion import SMALL_BYTES
from errors import StorageUnavailable, WeirError
from ingest.otlp import answers, costs, logs, metrics, traces
from ingest.otlp.reading import PROTOBUF
from ingest.otlp.table import Decoded
from ingest.wire_cost import Shape
from runtime import offload
from serving.flask_app.current import this_request
from web import ingest_headers as scopes
from web.authentication import caller, protect
from web.bodies import INLINE_COST_BYTES
from web.client_connection import require_present
from web.errors import headers_of, log_error, status_of
from web.reception import arrival_of
from web.services import services

logger = logging.getLogger(__name__)

blueprint = protect(Blueprint("otlp", __name__))


class Signal(NamedTuple):
    """One of OTLP's three: how it is decoded and what it is called."""

    decode: Callable[..., Decoded]
    cost: Shape
    telemetry_type: str
    rejected_name: str


LOGS: Final = Signal(logs.decode, costs.LOGS, "logs", "rejected_log_records")
METRICS: Final = Signal(metrics.decode, costs.METRICS, "metrics", "rejected_data_points")
TRACES: Final = Signal(traces.decode, costs.TRACES, "traces", "rejected_spans")


@blueprint.post("/v1/logs")
def export_logs() -> Response:
    return _receive(LOGS)


@blueprint.post("/v1/metrics")
def export_metrics() -> Response:
    return _receive(METRICS)


@blueprint.post("/v1/traces")
def export_traces() -> Response:
    return _receive(TRACES)


def _receive(signal: Signal) -> Response:
    request, served, sender = this_request(), services(), caller()
    scope = scopes.read(request.environ)
    name = scopes.require_stream(scope)
    reception = served.reception
    reception.admit(sender, name, must_exist=False)
    scopes.require_log_source(scope, f"otel-{signal.telemetry_type}")
    with served.bodies.receive(request) as body:
        decoded = _decode(signal, body, request.mimetype, served.settings.max_columns)
        arrival = arrival_of(request, scope, len(body), reception.receipt(sender, name, scope))
        reception.store_once(sender, name, body, decoded.batch, arrival, signal.telemetry_type)
    reception.meters.rejected("otlp", decoded.reasons)
    return _response(
        answers.success(
            answers.answer_type(request.mimetype),
            rejected=decoded.rejected,
            rejected_name=signal.rejected_name,
            message=decoded.message,
        )
    )


def _decode(signal: Signal, body: bytes, media_type: str, max_columns: int) -> Decoded:
    is_small = len(body) < SMALL_BYTES
    decode = partial(signal.decode, body, media_type, max_columns=max_columns)
    if media_type != PROTOBUF:
        return decode() if is_small else offload(decode)
    inflight = services().bodies.inflight
    estimate = partial(signal.cost.estimate, body, inflight.limit_bytes)
    cost = estimate() if is_small else offload(estimate)
    with inflight.decoding(body, cost):
        if is_small and cost < INLINE_COST_BYTES:
            return decode()
        require_present(this_request())
        return offload(decode)


def _response(answer: answers.Answer, status: int = 200) -> Response:
    return Response(answer.body, status, content_type=answer.media_type)


@blueprint.errorhandler(WeirError)
def _refuse(error: WeirError) -> Response:
    """A google.rpc.Status (OTLP/HTTP, "Failures")."""
    status = status_of(error)
    log_error(error, status)
    media_type = answers.answer_type(request.mimetype)
    response = _response(answers.failure(media_type, status=status, message=error.message), status)
    response.headers.extend(headers_of(error))
    return response


@blueprint.errorhandler(Exception)
def _unforeseen(error: Exception) -> Response:
    """Asks for another attempt: exporters drop their data at a 500, and this may have been a passing trouble."""
    logger.error("%s %s: unforeseen", request.method, request.path, exc_info=error)
    return _refuse(StorageUnavailable("an error on our side; nothing was stored"))
