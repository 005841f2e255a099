"""Prometheus remote write (spec 4.2; remote-write 1.0 and 2.0)."""

from collections.abc import Callable
from functools import partial
from typing import Final, TypeVar

from flask import Blueprint, Response, current_app
from flask.blueprints import BlueprintSetupState

from blueprints.ingestion import SMALL_BYTES
from errors import InternalError, WeirError
from ingest.remote_write.catalogue import Catalogue
from ingest.remote_write.costs import estimate, estimate_encoded
from ingest.remote_write.decoding import Version, decode_known, decode_plainly, version_of
from ingest.remote_write.rows import Decoded
from runtime import offload
from serving.flask_app.current import this_request
from web import ingest_headers as scopes
from web.authentication import caller, protect
from web.bodies import INLINE_COST_BYTES
from web.client_connection import require_present
from web.errors import headers_of, log_error, status_of
from web.reception import arrival_of
from web.services import services

blueprint = protect(Blueprint("remote_write", __name__))

R = TypeVar("R")

EXTENSION: Final = "weir.remote_write.catalogue"
LOG_SOURCE: Final = "otel-metrics"


@blueprint.record_once
def _add_catalogue(state: BlueprintSetupState) -> None:
    """One catalogue of known series per application, that is, per worker."""
    state.app.extensions[EXTENSION] = Catalogue()


@blueprint.post("/v1/prometheus/write")
def write() -> Response:
    """Samples, native histograms and exemplars. 204 when all are stored; 400 with the reason when some are not."""
    request, served, sender = this_request(), services(), caller()
    scope = scopes.read(request.environ)
    name = scopes.require_stream(scope)
    reception = served.reception
    reception.admit(sender, name, must_exist=False)
    scopes.require_log_source(scope, LOG_SOURCE)
    media_type = request.content_type or ""
    version = version_of(media_type)
    with served.bodies.receive(request) as body:
        decoded = _decode(body, version, served.settings.max_columns)
        arrival = arrival_of(request, scope, len(body), reception.receipt(sender, name, scope))
        reception.store_once(sender, name, body, decoded.batch, arrival, "metrics")
    reception.meters.rejected("remote_write", decoded.reasons)
    return _answer(decoded)


def _decode(body: bytes, version: Version, max_columns: int) -> Decoded:
    """The short way needs less memory than the plain one, which is accounted for only where it is gone."""
    if version is Version.ONE:
        catalogue: Catalogue = current_app.extensions[EXTENSION]
        known = partial(decode_known, body, catalogue, max_columns)
        decoded = _account(body, partial(estimate_encoded, body), known)
        if decoded is not None:
            return decoded
    exactly = partial(estimate, body, version, services().bodies.inflight.limit_bytes)
    return _account(body, exactly, partial(decode_plainly, body, version, max_columns))


def _account(body: bytes, estimate_cost: Callable[[], int], decode: Callable[[], R]) -> R:
    """The result of `decode` once there is room for its objects; off the hub if they are many."""
    is_small = len(body) < SMALL_BYTES
    cost = estimate_cost() if is_small else offload(estimate_cost)
    with services().bodies.inflight.decoding(body, cost):
        if is_small and cost < INLINE_COST_BYTES:
            return decode()
        require_present(this_request())
        return offload(decode)


def _answer(decoded: Decoded) -> Response:
    """A 2.0 sender takes a success without these headers for a receiver that knows only 1.0."""
    response = Response(status=204)
    if decoded.rejected:
        # Never a success when something was left out; what is valid has been stored ("Partial writes").
        response = _text(f"{decoded.rejected} not stored, the rest is: {decoded.message}", 400)
    for kind in ("samples", "histograms", "exemplars"):
        count = getattr(decoded, kind)
        response.headers[f"X-Prometheus-Remote-Write-{kind.capitalize()}-Written"] = str(count)
    return response


def _text(message: str, status: int) -> Response:
    return Response(message + "\n", status, content_type="text/plain; charset=utf-8")


@blueprint.errorhandler(WeirError)
def _refuse(error: WeirError) -> Response:
    """Senders log the text and look at the status alone."""
    status = status_of(error)
    log_error(error, status)
    response = _text(error.message, status)
    response.headers.extend(headers_of(error))
    return response


@blueprint.errorhandler(Exception)
def _unforeseen(error: Exception) -> Response:
    fault = InternalError("an error on our side; nothing was stored")
    fault.__cause__ = error
    return _refuse(fault)
