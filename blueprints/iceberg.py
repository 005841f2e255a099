"""A read-only Iceberg REST catalog of the datasets: a table for each, in the namespace `weir` or the tenant's.

Apache Iceberg REST catalog spec. The tables are made by storage/lake; here is only who may see them.
"""

from collections.abc import Mapping
from datetime import UTC, datetime
from types import MappingProxyType
from typing import Any, Final
from uuid import UUID

import orjson
from flask import Blueprint, Response, request

from auth.identity import Identity
from auth.privileges import Action, may, sees_all_rows
from errors import DatasetNotFound, Forbidden, NamespaceNotFound, NotFound, TableNotPublished, WeirError
from models import dataset
from models.dataset import Dataset
from models.tenant import DEFAULT
from storage.lake.catalog import load
from web.authentication import AUTHORIZATION_VARIABLE, KEY_VARIABLE, access, asked_tenant, protect_by_scheme
from web.caller import caller
from web.client_credentials import OAuthError, client_credentials
from web.errors import answer_errors
from web.services import services

PREFIX: Final = "/iceberg/v1"
NAMESPACE: Final = "weir"
WRITES: Final = ("POST", "PUT", "PATCH", "DELETE")
# What PyIceberg sends beside X-API-Key when it has been given no token.
NO_TOKEN: Final = "Bearer None"
ENDPOINTS: Final = [
    "GET /v1/{prefix}/namespaces",
    "GET /v1/{prefix}/namespaces/{namespace}",
    "HEAD /v1/{prefix}/namespaces/{namespace}",
    "GET /v1/{prefix}/namespaces/{namespace}/tables",
    "GET /v1/{prefix}/namespaces/{namespace}/tables/{table}",
    "HEAD /v1/{prefix}/namespaces/{namespace}/tables/{table}",
    "GET /v1/{prefix}/namespaces/{namespace}/tables/{table}/credentials",
]
_KINDS: Final[Mapping[type[WeirError], str]] = MappingProxyType(
    {DatasetNotFound: "NoSuchTableException", NamespaceNotFound: "NoSuchNamespaceException"}
)
_TYPES: Final = {
    400: "BadRequestException",
    401: "NotAuthorizedException",
    403: "ForbiddenException",
    404: "NotFoundException",
    405: "UnsupportedOperationException",
    503: "ServiceUnavailableException",
}


def _key_of(authorization: str) -> str | None:
    """The secret of an API key that is sent as a bearer token, which is what `oauth/tokens` gives for it."""
    scheme, _, token = authorization.partition(" ")
    try:
        return str(UUID(token)) if scheme.lower() == "bearer" and len(token) == len(str(UUID(int=0))) else None
    except ValueError:
        return None


def _forget_no_token() -> None:
    sent = request.environ
    if KEY_VARIABLE in sent and sent.get(AUTHORIZATION_VARIABLE) == NO_TOKEN:
        del sent[AUTHORIZATION_VARIABLE]


tokens = Blueprint("iceberg_tokens", __name__, url_prefix=PREFIX)
_bare = Blueprint("iceberg", __name__, url_prefix=PREFIX)
_bare.before_request(_forget_no_token)
blueprint = protect_by_scheme(_bare, _key_of)


@blueprint.before_request
def require_publication() -> None:
    """Raises NotFound where nothing is published."""
    if not services().settings.iceberg_seconds:
        raise NotFound("this server publishes no tables: WEIR_ICEBERG_SECONDS is 0")


@tokens.post("/oauth/tokens")
def issue() -> Response:
    """A bearer token for the id or name and the secret of an API key. It is good as long as the key is."""
    try:
        secret = client_credentials(access().verifier, asked_tenant())
    except OAuthError as error:
        return _json({"error": error.code, "error_description": error.message}, error.status)
    token_type = "urn:ietf:params:oauth:token-type:access_token"
    return _json({"access_token": secret, "token_type": "bearer", "issued_token_type": token_type})


@blueprint.get("/config")
def config() -> Response:
    """What a client may ask of this catalog."""
    return _json({"defaults": {}, "overrides": {}, "endpoints": ENDPOINTS})


@blueprint.get("/namespaces")
def namespaces() -> Response:
    """The one namespace; it has none below it."""
    return _json({"namespaces": [] if request.args.get("parent") else [[_namespace()]]})


@blueprint.get("/namespaces/<namespace>")
def describe_namespace(namespace: str) -> Response:
    """The namespace, or whether there is one."""
    _require_namespace(namespace)
    return _found({"namespace": [namespace], "properties": {}})


@blueprint.get("/namespaces/<namespace>/tables")
def tables(namespace: str) -> Response:
    """The tables that the caller may read, by name."""
    _require_namespace(namespace)
    identity = caller()
    readable = [each.name for each in dataset.find_all(identity.tenant) if _may_load(identity, each.name)]
    return _json({"identifiers": [{"namespace": [namespace], "name": name} for name in readable]})


@blueprint.get("/namespaces/<namespace>/tables/<name>")
def table(namespace: str, name: str) -> Response:
    """The table's metadata as of its last publication, or whether there is such a table."""
    target = _require_table(namespace, name)
    if request.method == "HEAD":
        return Response(status=204)
    loaded = load(services().storage.layout, target, datetime.now(UTC))
    if loaded is None:
        raise TableNotPublished(f"the table {name} is not published yet", retry_after_seconds=5)
    if request.args.get("snapshots") == "refs":
        loaded.keep_current_snapshot()
    location = {} if loaded.location is None else {"metadata-location": loaded.location}
    return _json({**location, "metadata": loaded.metadata, "config": {}})


@blueprint.get("/namespaces/<namespace>/tables/<name>/credentials")
def credentials(namespace: str, name: str) -> Response:
    """None: readers come with their own credentials for the bucket, and for a directory there are none."""
    _require_table(namespace, name)
    return _json({"storage-credentials": []})


@blueprint.get("/<path:path>")
def unknown(path: str) -> Response:
    """Whatever else a catalog may have, as views."""
    return _error(404, f"this catalog has no {path[:100]}", "NotFoundException")


@blueprint.route("/<path:path>", methods=WRITES)
def refuse(path: str) -> Response:
    """What would change something: events come by the ways that are for them."""
    answer = _error(405, "this catalog is read-only", "UnsupportedOperationException")
    answer.headers["Allow"] = "GET, HEAD"
    return answer


def _namespace() -> str:
    tenant = caller().tenant
    return NAMESPACE if tenant == DEFAULT else tenant


def _require_namespace(namespace: str) -> None:
    """Raises NamespaceNotFound."""
    if namespace != _namespace():
        raise NamespaceNotFound(f"there is no namespace {namespace[:100]!r}")


def _may_load(identity: Identity, name: str) -> bool:
    return may(identity, Action.QUERY, name) and sees_all_rows(identity, name)


def _require_table(namespace: str, name: str) -> Dataset:
    """The dataset. One that the caller may not read does not exist.

    Raises NamespaceNotFound, DatasetNotFound, and Forbidden for a reader of some rows, since files hold all of them.
    """
    _require_namespace(namespace)
    identity = caller()
    if not may(identity, Action.QUERY, name):
        raise DatasetNotFound(f"there is no dataset {name!r}")
    target = services().storage.find(identity.tenant, name)
    if not sees_all_rows(identity, name):
        raise Forbidden(f"files hold all rows of {name}, of which you may read some; ask for them by SQL", dataset=name)
    return target


def _found(answer: dict[str, Any]) -> Response:
    """204 says it without a body."""
    return Response(status=204) if request.method == "HEAD" else _json(answer)


def _json(answer: dict[str, Any], status: int = 200) -> Response:
    return Response(orjson.dumps(answer), status, content_type="application/json")


def _error(status: int, message: str, kind: str) -> Response:
    return _json({"error": {"message": message, "type": kind, "code": status}}, status)


def _failure(status: int, error: WeirError) -> Response:
    """An error in the catalog's shape."""
    return _error(status, error.message, _KINDS.get(type(error)) or _TYPES.get(status, "InternalServerError"))


for _each in (blueprint, tokens):
    answer_errors(_each, _failure)
