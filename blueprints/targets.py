"""Targets: where alerts are delivered to. What is secret of them goes in and never out (docs/alerts.md)."""

from collections.abc import Mapping
from typing import Any, cast

from flask import Blueprint, Response
from ulid import ULID

from alerting import notices, registry, sealing
from alerting.dispatch import Dispatcher
from errors import TargetNotFound
from models import target
from models.authored import Origin
from models.delivery import Delivery
from models.target import Content, Target
from runtime import offload
from schemas.reading import load
from web.audit import watch
from web.authentication import access, protect
from web.authoring import Kind, now
from web.caller import caller
from web.json_bodies import json_body, json_response
from web.services import services

# Whoever sets a target says where events may leave the service to.
blueprint = watch(protect(Blueprint("targets", __name__, url_prefix="/api/v1/targets")), "target")


@blueprint.get("")
def list_all() -> Response:
    """The tenant's targets by name, masked; whoever may read alerts may see what they can be delivered to."""
    return json_response([_as_object(each) for each in kind.all_visible()])


@blueprint.post("/<target_id>/test")
def test(target_id: str) -> Response:
    """Send a notice that says it is a test, once, and tell what the receiver answered."""
    stored_target, at = kind.changeable(target_id), now()
    notice = notices.trial(caller().tenant, caller().name, at)
    delivery = Delivery(str(ULID()), "test", target_id, "test", notice, at, 0, None, None, None, None, None)
    parts = services()
    dispatcher = Dispatcher(parts.target_policy, access().secrets, None)
    attempt = offload(dispatcher.attempt, delivery, stored_target, at)
    return json_response({"status": attempt.status, "error": attempt.error})


def _content(body: object, origin: Origin) -> Content:
    """What a body asks for, sealed. A change says everything anew: old secrets must not go to a new address."""
    asked_kind = registry.asked(body)
    asked = cast(Mapping[str, Any], load(asked_kind.schema(), body))
    destination = asked_kind.read(asked, services().target_policy)
    return Content(asked["name"], asked_kind.name, sealing.seal(access().secrets, origin.id, destination))


def _as_object(stored_target: Target) -> dict[str, object]:
    """Flat, and once more as `target`: existing clients read either."""
    target_kind, destination = sealing.unseal(access().secrets, stored_target)
    shown: dict[str, object] = {
        "id": stored_target.origin.id,
        "name": stored_target.content.name,
        "type": stored_target.content.kind,
        "author": stored_target.origin.author.name,
        **target_kind.show(destination),
    }
    return {**shown, "enabled": True, "target": shown}


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
