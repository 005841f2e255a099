"""What one record of the audit says, and where it goes. Knows no HTTP library."""

import logging
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final, NamedTuple

from auth.names import is_text
from auth.privileges import AUDIT_DATASET
from auth.verify import Claim
from columns import Batch, one_row
from errors import TenantNotFound, WeirError
from models import tenant, user
from models.tenant import DEFAULT
from storage.write.arrival import Arrival

logger = logging.getLogger(__name__)

TELEMETRY_TYPE: Final = "events"
WRONG_PASSWORD: Final = "password.refuse"

# Stores an event durably: tenant, dataset, batch, arrival, telemetry type.
Store = Callable[[str, str, Batch, Arrival, str], None]


@dataclass(frozen=True, slots=True)
class Actor:
    """Who did it, as far as that is known: nobody is proven to be who a refused login says."""

    kind: str | None = None
    id: str | None = None
    name: str | None = None


NOBODY: Final = Actor()


class Deed(NamedTuple):
    """What was done, or tried: by whom, to what, and what the answer was."""

    actor: Actor
    action: str
    target: str | None
    status: int


class Asked(NamedTuple):
    """The request that asked for it."""

    method: str
    path: str
    request_id: str
    src_ip: str
    user_agent: str


class Guessed(NamedTuple):
    """The tenant whose audit tells of a wrong password, and the user, if there is one of that name."""

    tenant: str
    target: str | None


def write(store: Store, tenant_id: str, deed: Deed, asked: Asked) -> None:
    """Before the answer goes out. A record that cannot be written is logged, as the change is done already."""
    members: dict[str, str | int | None] = {
        "action": deed.action,
        "target": deed.target,
        "status": deed.status,
        "actor_kind": deed.actor.kind,
        "actor_id": deed.actor.id,
        "actor_name": deed.actor.name,
        "method": asked.method,
        "path": asked.path,
        "request_id": asked.request_id,
    }
    arrival = Arrival(datetime.now(UTC), asked.src_ip, asked.user_agent)
    try:
        store(tenant_id, AUDIT_DATASET, one_row(members), arrival, TELEMETRY_TYPE)
    except WeirError as error:
        logger.error("audit: %s was not recorded: %s", members, error)


def target_of_guess(claim: Claim) -> Guessed | None:
    """Where a wrong password is recorded; None if what was sent as a name can be nobody's.

    The name is recorded if it is a user's. Another one may be anything, even a password typed into the wrong field.
    """
    if not is_text(claim.name):
        return None
    known = user.find(claim.tenant, claim.name)
    return Guessed(_existing(claim.tenant), claim.name if known else None)


def _existing(tenant_id: str) -> str:
    """The tenant, or the one whose administrators look after all."""
    try:
        return tenant.get(tenant_id).id
    except TenantNotFound:
        return DEFAULT
