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
from web.json_bodies import json_body, json_response
from web.services import services

# Whoever sets a target says where events may leave the service to.
blueprint = watch(protect(Blueprint("targets", __name__, url_prefix="/api/v1/targets")), "target")


@blueprint.get("")
def list_all() -> Response:
    """The tenant's targets by name, masked; whoever may read alerts may see what they can be delivered to."""
    return json_response([_as_object(each) for each in kind.all_visible()])


def _content(body: object, origin: Origin) -> Content:
    """What a body asks for, sealed. A change says everything anew: old secrets must not go to a new address."""
    members = cast(Mapping[str, Any], load(TargetSchema(), body))
    target_kind = TargetKind(members["kind"])
    _check(members["endpoint"], target_kind, skips_tls_check=members["skip_tls_check"])
    credentials = members["auth"] or {}
    destination = Destination(
        endpoint=members["endpoint"],
        headers=members["headers"],
        username=credentials.get("username"),
        password=credentials.get("password"),
        skip_tls_check=members["skip_tls_check"],
    )
    return Content(members["name"], target_kind, sealing.seal(access().secrets, origin.id, destination))


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


def _as_object(stored_target: Target) -> dict[str, object]:
    """Flat, and once more as `target`: existing clients read either."""
    destination = sealing.unseal(access().secrets, stored_target)
    members: dict[str, object] = {
        "id": stored_target.origin.id,
        "name": stored_target.content.name,
        "type": stored_target.content.kind.value,
        "endpoint": sealing.mask(destination.endpoint),
        "author": stored_target.origin.author.name,
    }
    if destination.headers:
        members["headers"] = dict.fromkeys(destination.headers, MASK)
    if destination.username is not None:
        members["auth"] = {"username": destination.username, "password": MASK}
    if stored_target.content.kind is not TargetKind.SLACK:
        members["skipTlsCheck"] = destination.skip_tls_check
    return {**members, "enabled": True, "target": members}


kind = Kind(
    noun="target",
    missing=TargetNotFound,
    read=lambda origin: _content(json_body(), origin),
    read_change=lambda found: _content(json_body(), found.origin),
    show=_as_object,
    deleted_response=_as_object,
    datasets=lambda _: (),
    create=target.create,
    get=target.get,
    list_all=target.list_all,
    replace=lambda found, content, at: target.replace(found.origin, content, at),
    # What is still on its way to it is not delivered any more.
    delete=target.delete,
)
kind.serve(blueprint)
