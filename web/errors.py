"""Every failing path ends here: exceptions become one JSON shape with a status, and ours a log line with its id."""

import logging
from collections.abc import Callable, Mapping
from http import HTTPStatus
from typing import Final

from flask import Blueprint, Flask, Response, current_app, jsonify, request
from werkzeug.exceptions import HTTPException, MethodNotAllowed
from werkzeug.routing import RequestRedirect

import errors
from errors import InternalError, Overloaded, Unauthenticated, WeirError
from serving.flask_app.current import this_request

logger = logging.getLogger(__name__)

# api.md section 1. Families; a leaf inherits the status of the first family it descends from.
STATUSES: Final[Mapping[type[WeirError], int]] = {
    errors.InvalidRequest: 400,
    errors.Unauthenticated: 401,
    errors.Forbidden: 403,
    errors.NotFound: 404,
    errors.Conflict: 409,
    errors.PreconditionFailed: 412,
    errors.TooLarge: 413,
    errors.UnsupportedMedia: 415,
    errors.Unprocessable: 422,
    errors.TooManyAttempts: 429,
    errors.TooManyTails: 429,
    errors.InternalError: 500,
    errors.ClusterFailed: 502,
    errors.Overloaded: 503,
    errors.TimedOut: 504,
}
# Two realms in one header, so that a browser, curl and an agent each find a scheme they know.
CHALLENGE: Final = 'Basic realm="weir", charset="UTF-8", Bearer realm="weir"'
# For the console's scripts: at `Basic` a browser would ask for a password in a window of its own.
SESSION_CHALLENGE: Final = 'Session realm="weir"'


def status_of(error: WeirError) -> int:
    """The HTTP status of a domain exception."""
    return next((STATUSES[family] for family in type(error).__mro__ if family in STATUSES), 500)


def headers_of(error: WeirError) -> dict[str, str]:
    """The headers an error's answer needs whatever its body looks like."""
    if isinstance(error, Overloaded):
        return {"Retry-After": str(error.retry_after_seconds)}
    if isinstance(error, Unauthenticated):
        by_script = this_request().headers.get("X-Requested-With") == "XMLHttpRequest"
        return {"WWW-Authenticate": SESSION_CHALLENGE if by_script else CHALLENGE}
    return {}


def install(app: Flask) -> None:
    """Register the handlers for domain errors, for Flask's own (404, 405, ...) and for everything unforeseen."""
    app.register_error_handler(WeirError, _domain_error)
    app.register_error_handler(HTTPException, _http_error)
    app.register_error_handler(Exception, _unforeseen)


def answer_errors(blueprint: Blueprint, failure: Callable[[int, WeirError], Response]) -> None:
    """Have the blueprint's errors answered as `failure` shapes them, with our headers and log lines."""

    def answer(error: WeirError) -> Response:
        status = status_of(error)
        log_error(error, status)
        response = failure(status, error)
        response.headers.extend(headers_of(error))
        return response

    def answer_unforeseen(error: Exception) -> Response:
        if isinstance(error, HTTPException):
            return failure(error.code or 500, errors.InvalidRequest(error.description or error.name))
        return answer(_fault(error))

    blueprint.register_error_handler(WeirError, answer)
    blueprint.register_error_handler(Exception, answer_unforeseen)


def error_body(error: WeirError) -> dict[str, str | int]:
    """The one error shape (api.md section 1)."""
    return {"code": error.code, "message": error.message, "requestId": this_request().id, **error.details}


def log_error(error: WeirError, status: int) -> None:
    """Our faults at error with their traceback, the client's at info without (a client can repeat them at will)."""
    this_request().error_code = error.code
    where = {"code": error.code, **_sender()}
    if status >= 500 and not isinstance(error, Overloaded):
        logger.error("%s %s: %s", request.method, request.path, error.message, exc_info=error, extra=where)
    else:
        logger.info(
            "%s %s: %s %s, from %s",
            request.method,
            request.path,
            status,
            error.code,
            " ".join(_sender().values()),
            extra=where,
        )


def _sender() -> dict[str, str]:
    """Whose request it is, so that of many senders the one can be found that is wrong: address, kind and name."""
    asked = this_request()
    sender = {"client": asked.remote_addr or "a local socket"}
    if asked.identity is not None:
        sender["identity"] = f"{asked.identity.kind.value}:{asked.identity.name}"
    return sender


def _domain_error(error: WeirError) -> Response:
    status = status_of(error)
    log_error(error, status)
    answer = jsonify(error_body(error))
    answer.status_code = status
    answer.headers.extend(headers_of(error))
    return answer


def _http_error(error: HTTPException) -> Response:
    if isinstance(error, RequestRedirect):
        return error.get_response()  # type: ignore[return-value]  # declared as its base, made as Flask's kind
    status = error.code or 500
    code = HTTPStatus(status).phrase.lower().replace(" ", "_").replace("-", "_")
    this_request().error_code = code
    answer = jsonify({"code": code, "message": _text(error), "requestId": this_request().id})
    answer.status_code = status
    if isinstance(error, MethodNotAllowed) and error.valid_methods:
        answer.headers["Allow"] = ", ".join(sorted(error.valid_methods))
    return answer


def _text(error: HTTPException) -> str:
    if error.code == 404:
        return f"no such path: {request.path}"
    return error.description or error.name


def _unforeseen(error: Exception) -> Response:
    current_app.logger.debug("unforeseen %s", type(error).__name__)
    return _domain_error(_fault(error))


def _fault(error: Exception) -> InternalError:
    """A fault of ours. The client gets the id; the log gets the rest."""
    fault = InternalError("an error on our side; the request id finds it in the log")
    fault.__cause__ = error
    return fault
