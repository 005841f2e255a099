"""The audit: every change of rights, and every secret shown, is an event in the tenant's dataset `p_audit`.

One row per request of a watched blueprint that changes something or shows a secret, whatever came of it: who, what,
when, from where, result. One also for each session that begins or ends, refused login and wrong password.
Administrators read it by SQL; nobody writes or deletes it (auth/privileges.py).
"""

from typing import Final

from flask import Blueprint, Response

from auth.identity import Identity
from auth.verify import Claim
from serving.flask_app.current import this_request
from web.audit_record import NOBODY, WRONG_PASSWORD, Actor, Asked, Deed, target_of_guess, write
from web.services import services

SAFE_METHODS: Final = frozenset({"GET", "HEAD", "OPTIONS"})


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
    asked = Asked(
        request.method, request.path, request.id, request.remote_addr or "", request.headers.get("User-Agent", "")
    )
    write(services().audit, tenant, Deed(actor, action, target, status), asked)


def record_wrong_password(claim: Claim) -> None:
    """Always one record, in this or another dataset: its time tells nobody whether user or tenant exist."""
    found = target_of_guess(claim)
    if found is not None:
        record(found.tenant, NOBODY, WRONG_PASSWORD, found.target, 401)
