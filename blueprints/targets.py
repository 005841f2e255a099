"""Targets: where alerts are delivered to. What is secret of them goes in and never out (docs/alerts.md)."""

from collections.abc import Mapping
from typing import Any, cast

from flask import Blueprint, Response

from alerting import sealing
from alerting.addresses import check
from alerting.sealing import Destination
from errors import InvalidRequest, TargetNotFound
from models import target
from models.authored import Origin
from models.target import Content, Target
from models.target import Kind as TargetKind
from schemas.reading import load
from schemas.targets import MASK, TargetSchema
from web.audit import watch
from web.authentication import access, protect
from web.authoring import Kind
from web.json_bodies import answer, json_body
from web.services import services

# Whoever sets a target says where events may leave the service to.
blueprint = watch(protect(Blueprint("targets", __name__, url_prefix="/api/v1/targets")), "target")


@blueprint.get("")
def list_all() -> Response:
    """The tenant's targets by name, masked; whoever may read alerts may see what they can be delivered to."""
    return answer([_as_object(each) for each in kind.all_visible()])


def _content(body: object, origin: Origin) -> Content:
    """What a body asks for, sealed. A change says everything anew: old secrets must not go to a new address."""
    asked = cast(Mapping[str, Any], load(TargetSchema(), body))
    target_kind = TargetKind(asked["kind"])
    _check(asked["endpoint"], target_kind, skips_tls_check=asked["skip_tls_check"])
    credentials = asked["auth"] or {}
    destination = Destination(
        endpoint=asked["endpoint"],
        headers=asked["headers"],
        username=credentials.get("username"),
        password=credentials.get("password"),
        skip_tls_check=asked["skip_tls_check"],
    )
    return Content(asked["name"], target_kind, sealing.seal(access().secrets, origin.id, destination))


def _check(url: str, kind: TargetKind, *, skips_tls_check: bool) -> None:
    policy = services().target_policy
    endpoint = check(url, policy)
    if policy.names(endpoint.host):
        return
    if kind is TargetKind.SLACK and endpoint.scheme != "https":
        raise InvalidRequest("`endpoint` of a Slack target must start with https://", field="endpoint")
    if skips_tls_check:
        raise InvalidRequest(
            "`skipTlsCheck` is only for hosts that an administrator names in WEIR_ALERT_ALLOWED_HOSTS",
            field="skipTlsCheck",
        )


def _as_object(found: Target) -> dict[str, object]:
    """Flat, and once more as `target`: existing clients read either."""
    destination = sealing.unseal(access().secrets, found)
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
    if found.content.kind is not TargetKind.SLACK:
        shown["skipTlsCheck"] = destination.skip_tls_check
    return {**shown, "enabled": True, "target": shown}


kind = Kind(
    noun="target",
    missing=TargetNotFound,
    read=lambda origin: _content(json_body(), origin),
    read_change=lambda found: _content(json_body(), found.origin),
    show=_as_object,
    farewell=_as_object,
    datasets=lambda _: (),
    create=target.create,
    get=target.get,
    list_all=target.list_all,
    replace=lambda found, content, at: target.replace(found.origin, content, at),
    # What is still on its way to it is not delivered any more.
    delete=target.delete,
)
kind.serve(blueprint)
