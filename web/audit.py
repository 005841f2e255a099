"""The audit: every change of rights, and every secret shown, is an event in the tenant's dataset `p_audit`.

One row per request of a watched blueprint that changes something or shows a secret, whatever came of it: who, what,
when, from where, result. One also for each session that begins or ends, refused login and wrong password.
Administrators read it by SQL; nobody writes or deletes it (auth/privileges.py).
"""

import logging
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

import polars as pl
from flask import Blueprint, Response

from auth.identity import Identity
from auth.names import is_text
from auth.privileges import AUDIT_DATASET
from auth.verify import Claim
from columns import POLARS_TYPES, Batch, ColumnType, Field
from errors import TenantNotFound, WeirError
from models import tenant, user
from models.tenant import DEFAULT
from serving.flask_app.current import this_request
from storage.write.arrival import Arrival
from web.services import services

logger = logging.getLogger(__name__)

TELEMETRY_TYPE: Final = "events"
SAFE_METHODS: Final = frozenset({"GET", "HEAD", "OPTIONS"})


@dataclass(frozen=True, slots=True)
class Actor:
    """Who did it, as far as that is known: nobody is proven to be who a refused login says."""

    kind: str | None = None
    id: str | None = None
    name: str | None = None


NOBODY: Final = Actor()


def watch(blueprint: Blueprint, noun: str, reveals: frozenset[str] = frozenset()) -> Blueprint:
    """The blueprint, whose changes, and whose views named in `reveals`, are recorded from now on as `noun.view`."""

    def record_request(answer: Response) -> Response:
        request = this_request()
        view, caller = (request.endpoint or "").rpartition(".")[2], request.identity
        if caller is not None and (request.method not in SAFE_METHODS or view in reveals):
            record(caller.tenant, actor_of(caller), f"{noun}.{view}", _target(), answer.status_code)
        return answer

    blueprint.after_request(record_request)
    return blueprint


def name_target(target: str) -> None:
    """What the request is about, when its address does not say."""
    this_request().audit_target = target


def actor_of(identity: Identity) -> Actor:
    return Actor(identity.kind.value, identity.id, identity.name)


def _target() -> str | None:
    request = this_request()
    return request.audit_target or ", ".join(str(value) for value in (request.view_args or {}).values()) or None


def record(tenant: str, actor: Actor, action: str, target: str | None, status: int) -> None:
    """Before the answer goes out. A record that cannot be written is logged, as the change is done already."""
    request = this_request()
    members: dict[str, str | int | None] = {
        "action": action,
        "target": target,
        "status": status,
        "actor_kind": actor.kind,
        "actor_id": actor.id,
        "actor_name": actor.name,
        "method": request.method,
        "path": request.path,
        "request_id": request.id,
    }
    arrival = Arrival(datetime.now(UTC), request.remote_addr or "", request.headers.get("User-Agent", ""))
    try:
        services().audit(tenant, AUDIT_DATASET, _batch(members), arrival, TELEMETRY_TYPE)
    except WeirError as error:
        logger.error("audit: %s was not recorded: %s", members, error)


def record_wrong_password(claim: Claim) -> None:
    """Always one record, in this or another dataset, so that its time does not tell whether user or tenant exist.

    The name is recorded if it is a user's. Another one may be anything, even a password typed into the wrong field.
    """
    if not is_text(claim.name):
        return
    known = user.find(claim.tenant, claim.name)
    record(_existing(claim.tenant), NOBODY, "password.refuse", known.name if known else None, 401)


def _existing(tenant_id: str) -> str:
    """The tenant, or the one whose administrators look after all."""
    try:
        return tenant.get(tenant_id).id
    except TenantNotFound:
        return DEFAULT


def _batch(members: dict[str, str | int | None]) -> Batch:
    types = {name: ColumnType.INT64 if isinstance(value, int) else ColumnType.UTF8 for name, value in members.items()}
    fields = tuple(Field(name, kind) for name, kind in types.items())
    columns = tuple(pl.Series(name, [members[name]], POLARS_TYPES[kind]) for name, kind in types.items())
    return Batch(fields, columns, 1)
