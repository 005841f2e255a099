"""The description of the HTTP contract, for programs: OpenAPI 3.1."""

from flask import Blueprint, Response, current_app

from serving.flask_app.json_answers import json_answer
from web.authentication import require_identity
from web.services import services

blueprint = Blueprint("openapi", __name__, url_prefix="/api/v1")


@blueprint.get("/openapi.json")
def show() -> Response:
    """Open to all: it is the same for everybody, and public with the source."""
    return json_answer(services().description.json(current_app, is_protected))


def is_protected(endpoint: str) -> bool:
    """Whether the endpoint's blueprint needs an identity."""
    return require_identity in current_app.before_request_funcs.get(endpoint.rpartition(".")[0], [])
