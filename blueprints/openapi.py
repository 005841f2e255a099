"""The description of the HTTP contract, for programs: OpenAPI 3.1."""

from typing import Final

from flask import Blueprint, Response, current_app, jsonify

from openapi.document import describe
from web.authentication import require_identity

blueprint = Blueprint("openapi", __name__, url_prefix="/api/v1")

EXTENSION: Final = "weir.openapi"


@blueprint.get("/openapi.json")
def show() -> Response:
    """Open to all: it is the same for everybody, and public with the source."""
    app = current_app
    if EXTENSION not in app.extensions:
        app.extensions[EXTENSION] = jsonify(describe(app, is_protected)).get_data()
    return Response(app.extensions[EXTENSION], content_type="application/json")


def is_protected(endpoint: str) -> bool:
    """Whether the endpoint's blueprint needs an identity."""
    return require_identity in current_app.before_request_funcs.get(endpoint.rpartition(".")[0], [])
