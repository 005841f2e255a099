"""One attempt to deliver a notice, and what follows from how it went."""

import random
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from alerting import sealing
from alerting.addresses import Policy
from alerting.connections import Undelivered
from alerting.target_kind import Answer, Outgoing
from auth.secrets import Secrets
from errors import InternalError, InvalidRequest
from models.delivery import Attempt, Delivery
from models.target import Target

FIRST_DELAY_SECONDS: Final = 5.0
LONGEST_DELAY_SECONDS: Final = 900.0
# Drawn at random, so that what failed together is not tried again together.
JITTER: Final = 0.2
PATIENCE: Final = timedelta(hours=24)


@dataclass(frozen=True, slots=True)
class Dispatcher:
    """Delivers. `public_url`: where people find this service, for links."""

    policy: Policy
    secrets: Secrets
    public_url: str | None

    def attempt(self, delivery: Delivery, target: Target, now: datetime) -> Attempt:
        """How one attempt went. Raises nothing that the receiver or the network does."""
        outgoing = Outgoing(delivery, self._link(delivery), now, self.policy)
        try:
            kind, destination = sealing.unseal(self.secrets, target)
            answer = kind.send(destination, outgoing)
        except (InvalidRequest, InternalError) as error:
            return Attempt(now, None, error.message, None)
        except Undelivered as error:
            return Attempt(now, None, str(error), next_attempt(delivery, now))
        return delivery_outcome(delivery, answer, now)

    def _link(self, delivery: Delivery) -> str | None:
        return None if self.public_url is None else f"{self.public_url.rstrip('/')}/#/alerts/{delivery.alert_id}"


def delivery_outcome(delivery: Delivery, answer: Answer, now: datetime) -> Attempt:
    """What follows from an answer."""
    is_done = answer.error is None or answer.is_final
    again = None if is_done else next_attempt(delivery, now, answer.retry_after)
    return Attempt(now, answer.status, answer.error, again)


def next_attempt(delivery: Delivery, now: datetime, retry_after: str | None = None) -> datetime | None:
    """When to try again: twice as long each time. None when patience is at its end."""
    if now - delivery.created_at >= PATIENCE:
        return None
    delay = min(FIRST_DELAY_SECONDS * 2.0 ** min(delivery.attempts, 20), LONGEST_DELAY_SECONDS)
    if retry_after is not None and retry_after.isascii() and retry_after.isdigit():
        delay = max(delay, min(float(retry_after[:6]), LONGEST_DELAY_SECONDS))
    return now + timedelta(seconds=delay * random.uniform(1 - JITTER, 1 + JITTER))
