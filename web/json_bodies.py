"""JSON in and out of the management routes: small bodies, read whole."""

from typing import Final

import orjson
from flask import Response, jsonify, request

from errors import InvalidJSON
from web.bodies import read_plain

# A role of thousands of entries fits. Event bodies have their own, larger limits.
LARGEST_BODY_BYTES: Final = 1024 * 1024


def json_body() -> object:
    """The request's body as JSON, whatever media type it claims. Raises InvalidJSON, and what reading a body raises."""
    body = read_plain(request, LARGEST_BODY_BYTES)
    try:
        return orjson.loads(body)
    except orjson.JSONDecodeError as error:
        raise InvalidJSON(f"the body is not JSON: {error.msg} at line {error.lineno} column {error.colno}") from error


def json_body_or(default: object) -> object:
    """The same, or the default when there is no body."""
    has_body = request.content_length or "chunked" in request.headers.get("Transfer-Encoding", "")
    return json_body() if has_body else default


def json_response(value: object) -> Response:
    """A response with the value as JSON. No cache may store it, because it may show credentials and rights."""
    response = jsonify(value)
    response.headers["Cache-Control"] = "no-store"
    return response
