"""Targets: where alerts are delivered to. What is secret of them goes in and never out (docs/alerts.md)."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final, cast

from flask import Blueprint, Flask, Response, current_app

from alerting import sealing
from alerting.addresses import Policy, check
from alerting.sealing import Destination
from auth.privileges import Action, require
from auth.secrets import Secrets, master_key
from blueprints.audit import watch
from blueprints.authentication import caller, protect
from blueprints.authoring import new_origin, now, require_authoring, require_change, revised
from blueprints.management import answer, json_body
from config import Settings
from errors import InvalidRequest
from models import target
from models.authored import Origin
from models.target import Content, Kind, Target
from schemas.reading import load
from schemas.targets import MASK, TargetSchema

EXTENSION: Final = "weir.delivery"

# Whoever sets a target says where events may leave the service to.
blueprint = watch(protect(Blueprint("targets", __name__, url_prefix="/api/v1/targets")), "target")


@dataclass(frozen=True, slots=True)
class Delivery:
    """What targets are judged and sealed by."""

    policy: Policy
    secrets: Secrets


def register(app: Flask, settings: Settings) -> None:
    """The routes, under the address policy and the master key of the settings."""
    secrets = Secrets(master_key(settings.secret_key, settings.data_dir))
    app.extensions[EXTENSION] = Delivery(Policy.of(settings.alert_allowed_hosts), secrets)
    app.register_blueprint(blueprint)


@blueprint.post("")
def create() -> Response:
    require_authoring()
    origin = new_origin()
    content, destination = _content(json_body(), origin)
    target.create(origin, content)
    return revised(_as_object(Target(origin, content), destination), origin)


@blueprint.get("")
def every() -> Response:
    """The tenant's targets by name, masked; whoever may read alerts may see what they can be delivered to."""
    require(caller(), Action.READ_AUTHORED)
    return answer([_as_object(each, _opened(each)) for each in target.every(caller().tenant)])


@blueprint.get("/<target_id>")
def get(target_id: str) -> Response:
    require(caller(), Action.READ_AUTHORED)
    found = target.get(caller().tenant, target_id)
    return revised(_as_object(found, _opened(found)), found.origin)


@blueprint.put("/<target_id>")
def change(target_id: str) -> Response:
    """The whole target anew, secrets included: old ones must not go to a new address."""
    found = _changeable(target_id)
    content, destination = _content(json_body(), found.origin)
    target.replace(found.origin, content, at := now())
    origin = replace(found.origin, modified_at=at, revision=found.origin.revision + 1)
    return revised(_as_object(Target(origin, content), destination), origin)


@blueprint.delete("/<target_id>")
def delete(target_id: str) -> Response:
    """409 while an alert names it. What is still on its way to it is not delivered any more."""
    found = _changeable(target_id)
    shown = _as_object(found, _opened(found))
    target.delete(found.origin)
    return answer(shown)


def _changeable(target_id: str) -> Target:
    require_authoring()
    found = target.get(caller().tenant, target_id)
    require_change(found.origin)
    return found


def _content(body: object, origin: Origin) -> tuple[Content, Destination]:
    asked = cast(Mapping[str, Any], load(TargetSchema(), body))
    kind = Kind(asked["kind"])
    _check(asked["endpoint"], kind, skips_tls_check=asked["skip_tls_check"])
    credentials = asked["auth"] or {}
    destination = Destination(
        endpoint=asked["endpoint"],
        headers=asked["headers"],
        username=credentials.get("username"),
        password=credentials.get("password"),
        skip_tls_check=asked["skip_tls_check"],
    )
    return Content(asked["name"], kind, sealing.seal(_delivery().secrets, origin.id, destination)), destination


def _check(url: str, kind: Kind, *, skips_tls_check: bool) -> None:
    policy = _delivery().policy
    endpoint = check(url, policy)
    if policy.names(endpoint.host):
        return
    if kind is Kind.SLACK and endpoint.scheme != "https":
        raise InvalidRequest("`endpoint` of a Slack target must start with https://", field="endpoint")
    if skips_tls_check:
        raise InvalidRequest(
            "`skipTlsCheck` is only for hosts that an administrator names in WEIR_ALERT_ALLOWED_HOSTS",
            field="skipTlsCheck",
        )


def _opened(found: Target) -> Destination:
    return sealing.unseal(_delivery().secrets, found)


def _delivery() -> Delivery:
    return current_app.extensions[EXTENSION]  # type: ignore[no-any-return]


def _as_object(found: Target, destination: Destination) -> dict[str, object]:
    """Flat, and once more as `target`: existing clients read either."""
    shown: dict[str, object] = {
        "id": found.origin.id,
        "name": found.content.name,
        "type": found.content.kind.value,
        "endpoint": sealing.mask(destination.endpoint),
        "author": found.origin.author.name,
    }
    if destination.headers:
        shown["headers"] = dict.fromkeys(destination.headers, MASK)
    if destination.username is not None:
        shown["auth"] = {"username": destination.username, "password": MASK}
    if found.content.kind is not Kind.SLACK:
        shown["skipTlsCheck"] = destination.skip_tls_check
    return {**shown, "enabled": True, "target": shown}
