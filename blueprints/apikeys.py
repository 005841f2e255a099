"""API keys: create, list, fetch, delete (spec 4.1), for administrators whatever their kind of credential."""

from datetime import UTC, datetime
from typing import Final, cast

from flask import Blueprint, Flask, Response

from auth.keys import RevealedKey, WantedKey
from auth.privileges import Action, require
from errors import InvalidRequest
from schemas.api_keys import NewApiKeySchema
from schemas.reading import load
from web.audit import name_target, watch
from web.authentication import access, protect
from web.caller import caller
from web.json_bodies import json_body, json_response
from web.services import Services
from web.times import rfc3339

# Spec 4.1 names the first and mentions the second; existing clients use the third.
PREFIXES: Final = {
    "apikeys_console": "/api/console/v1/apikeys",
    "apikeys": "/api/v1/apikeys",
    "apikeys_prism": "/api/prism/v1/apikeys",
}

blueprint = watch(protect(Blueprint("apikeys", __name__)), "api_key", reveals=frozenset({"get"}))


def register(app: Flask, services: Services) -> None:
    """Under all three prefixes."""
    for name, prefix in PREFIXES.items():
        app.register_blueprint(blueprint, name=name, url_prefix=prefix)


@blueprint.before_request
def require_administrator() -> None:
    """Before any body is read: a refused caller learns nothing of names and roles."""
    require(caller(), Action.ADMINISTER)


@blueprint.post("")
def create() -> Response:
    body = load(NewApiKeySchema(), json_body())
    properties = WantedKey(
        name=cast(str, body["name"]),
        roles=tuple(cast(list[str], body["roles"])),
        expires_at=_future(cast(datetime | None, body["expires_at"])),
    )
    revealed = access().api_keys.create(caller(), properties)
    name_target(revealed.record.key_id)
    return json_response(_in_full(revealed))


@blueprint.get("")
def list_all() -> Response:
    return json_response([_masked(key) for key in access().api_keys.list_all(caller().tenant)])


@blueprint.get("/<key_id>")
def get(key_id: str) -> Response:
    return json_response(_in_full(access().api_keys.get(caller().tenant, key_id)))


@blueprint.delete("/<key_id>")
def delete(key_id: str) -> Response:
    deleted = access().api_keys.delete(caller().tenant, key_id)
    message = "API key deleted successfully"
    return json_response({"keyId": deleted.key_id, "keyName": deleted.name, "message": message})


def _in_full(key: RevealedKey) -> dict[str, object]:
    """The members of spec 2.1."""
    return {
        "keyId": key.record.key_id,
        "keyName": key.record.name,
        "apiKey": key.secret,
        "roles": [role.name for role in key.record.roles],
        "createdBy": key.record.created_by,
        "createdAt": rfc3339(key.record.created_at),
        "modifiedAt": rfc3339(key.record.modified_at),
        "expiresAt": rfc3339(key.record.expires_at),
        "lastUsedAt": rfc3339(key.record.last_used_at),
    }


def _masked(key: RevealedKey) -> dict[str, object]:
    """Spec 2.1: `****` and the last four characters."""
    return _in_full(key) | {"apiKey": f"****{key.secret[-4:]}"}


def _future(at: datetime | None) -> datetime | None:
    if at is not None and at <= datetime.now(UTC):
        raise InvalidRequest("`expiresAt` is in the past", field="expiresAt")
    return at
