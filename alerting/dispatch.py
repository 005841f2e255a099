"""One attempt to deliver a notice, and what follows from how it went."""

import logging
import random
from base64 import b64encode
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Final

from alerting import addresses, notices, outbound, sealing
from alerting.addresses import Endpoint, Policy
from alerting.outbound import Reply, Undelivered
from alerting.sealing import Destination
from auth.secrets import Secrets
from errors import InternalError, InvalidRequest
from models.delivery import Attempt, Delivery
from models.target import Target

logger = logging.getLogger(__name__)

FIRST_DELAY_SECONDS: Final = 5.0
LONGEST_DELAY_SECONDS: Final = 900.0
# Drawn at random, so that what failed together is not tried again together.
JITTER: Final = 0.2
PATIENCE: Final = timedelta(hours=24)
# Answers that mean "later", as 5xx do; every other 4xx means that this will never be taken.
LATER: Final = frozenset({408, 425, 429})
NOT_PERMITTED: Final = "the host is, or has, an address that notices may not be sent to"


@dataclass(frozen=True, slots=True)
class Dispatcher:
    """Delivers. `public_url`: where people find this service, for links."""

    policy: Policy
    secrets: Secrets
    public_url: str | None

    def attempt(self, delivery: Delivery, target: Target, now: datetime) -> Attempt:
        """How one attempt went. Raises nothing that the receiver or the network does."""
        try:
            destination = sealing.unseal(self.secrets, target)
            endpoint = addresses.check(destination.endpoint, self.policy)
            reply = self._send(delivery, target, destination, endpoint, now)
        except (InvalidRequest, InternalError) as error:
            return Attempt(now, None, error.message, None)
        except Undelivered as error:
            return Attempt(now, None, str(error), next_attempt(delivery, now))
        return delivery_outcome(delivery, reply, now)

    def _send(
        self, delivery: Delivery, target: Target, destination: Destination, endpoint: Endpoint, now: datetime
    ) -> Reply:
        address = addresses.choose(endpoint, outbound.resolve(endpoint), self.policy)
        if address is None:
            raise InvalidRequest(NOT_PERMITTED)
        message = notices.render(target.content.kind, delivery, self._link(delivery), now)
        if endpoint.target == "/":
            endpoint = replace(endpoint, target=message.default_path)
        headers = {**destination.headers, **_authorization(destination), "X-Weir-Delivery": delivery.id}
        checks_tls = not (destination.skip_tls_check and self.policy.names(endpoint.host))
        return outbound.post(endpoint, address, message.body, headers, checks_tls=checks_tls)

    def _link(self, delivery: Delivery) -> str | None:
        return None if self.public_url is None else f"{self.public_url.rstrip('/')}/#/alerts/{delivery.alert_id}"


def delivery_outcome(delivery: Delivery, reply: Reply, now: datetime) -> Attempt:
    """What an answer means: taken, try again, or never."""
    if 200 <= reply.status < 300:
        return Attempt(now, reply.status, None, None)
    if reply.status >= 500 or reply.status in LATER:
        again = next_attempt(delivery, now, reply.retry_after)
        return Attempt(now, reply.status, f"the receiver answered {reply.status}", again)
    redirects = 300 <= reply.status < 400
    reason = "a redirect, which is not followed" if redirects else "which is final"
    return Attempt(now, reply.status, f"the receiver answered {reply.status}, {reason}", None)


def next_attempt(delivery: Delivery, now: datetime, retry_after: str | None = None) -> datetime | None:
    """When to try again: twice as long each time. None when patience is at its end."""
    if now - delivery.created_at >= PATIENCE:
        return None
    delay = min(FIRST_DELAY_SECONDS * 2.0 ** min(delivery.attempts, 20), LONGEST_DELAY_SECONDS)
    if retry_after is not None and retry_after.isascii() and retry_after.isdigit():
        delay = max(delay, min(float(retry_after[:6]), LONGEST_DELAY_SECONDS))
    return now + timedelta(seconds=delay * random.uniform(1 - JITTER, 1 + JITTER))


def _authorization(destination: Destination) -> dict[str, str]:
    if destination.username is None:
        return {}
    credentials = f"{destination.username}:{destination.password}".encode()
    return {"Authorization": f"Basic {b64encode(credentials).decode()}"}
