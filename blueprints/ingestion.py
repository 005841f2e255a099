"""Events in: a blueprint for each protocol of the table, whose routes all take the pipeline."""

import logging
from functools import partial
from typing import Any, Final

from flask import Blueprint, Flask, Response

from errors import Overloaded, WeirError
from ingest.decoded import Answer
from serving.flask_app.current import this_request
from serving.flask_app.json_answers import json_answer
from web.authentication import protect
from web.caller import caller
from web.errors import headers_of, log_error, status_of
from web.ingestion.protocol import Endpoint, Failure, Protocol
from web.services import Services, services

logger = logging.getLogger(__name__)

JSON: Final = "application/json"


def register(app: Flask, services: Services) -> None:
    """Serve every protocol. None without an identity: no row of the table can leave that out."""
    for protocol in services.pipeline.protocols:
        app.register_blueprint(_blueprint(protocol))


def _blueprint(protocol: Protocol) -> Blueprint:
    blueprint = protect(Blueprint(protocol.name, __name__))
    for endpoint in protocol.endpoints:
        view = partial(_receive, protocol, endpoint)
        blueprint.add_url_rule(endpoint.path, endpoint.name, view, methods=["POST"])
    if protocol.failure is not None:
        blueprint.register_error_handler(WeirError, partial(_refuse, protocol.failure))
        blueprint.register_error_handler(Exception, partial(_unforeseen, protocol.failure, protocol.fault))
    return blueprint


def _receive(protocol: Protocol, endpoint: Endpoint[Any], name: str | None = None) -> Response:
    return _response(services().pipeline.receive(protocol, endpoint, this_request(), caller(), name))


def _refuse(failure: Failure, error: WeirError) -> Response:
    """In the protocol's own words."""
    status = status_of(error)
    log_error(error, status)
    response = _response(failure(this_request().mimetype, status, error))
    response.headers.extend(headers_of(error))
    return response


def _unforeseen(failure: Failure, fault_class: type[WeirError], error: Exception) -> Response:
    fault = fault_class("an error on our side; nothing was stored")
    fault.__cause__ = error
    if isinstance(fault, Overloaded):
        # Which is no fault of ours by itself, and is logged without what caused it.
        request = this_request()
        logger.error("%s %s: unforeseen", request.method, request.path, exc_info=error)
    return _refuse(failure, fault)


def _response(answer: Answer) -> Response:
    if answer.status == 200 and answer.media_type == JSON and not answer.headers:
        return json_answer(answer.body)
    return Response(answer.body, answer.status, answer.headers, content_type=answer.media_type or None)
