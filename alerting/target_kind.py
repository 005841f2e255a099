"""What a kind of target says of itself, and what sending a notice comes to; knows no kind by name."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Generic, TypeVar

from marshmallow import Schema

from alerting.addresses import Policy
from models.delivery import Delivery

D = TypeVar("D")


@dataclass(frozen=True, slots=True)
class Outgoing:
    """A notice on its way. `link`: where people find the alert; `policy`: where notices may go."""

    delivery: Delivery
    link: str | None
    now: datetime
    policy: Policy

    @property
    def notice(self) -> Mapping[str, Any]:
        """What is told, as alerting.notices made it."""
        return self.delivery.notice


@dataclass(frozen=True, slots=True)
class Answer:
    """What a receiver said. `error` None: it took the notice; `is_final`: it never will."""

    status: int
    error: str | None = None
    is_final: bool = False
    retry_after: str | None = None


@dataclass(frozen=True, slots=True)
class TargetKind(Generic[D]):
    """A kind of target.

    `name`: its `type` in the API. `schema`: the members of a body. `destination`: a dataclass of JSON values, all that
    a delivery needs, which is stored sealed.
    `read` makes it of loaded members and raises InvalidRequest when the policy is against it. `show` gives it back
    without secrets. `send` makes one attempt; it raises InvalidRequest (never again) and Undelivered (later).
    """

    name: str
    schema: type[Schema]
    destination: type[D]
    read: Callable[[Mapping[str, Any], Policy], D]
    show: Callable[[D], dict[str, object]]
    send: Callable[[D, Outgoing], Answer]
