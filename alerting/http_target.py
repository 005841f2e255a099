"""What the kinds of targets that are told by HTTP share: what is sealed of them, the check of a URL, the POST."""

from base64 import b64encode
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final
from urllib.parse import urlsplit

from alerting import addresses, outbound
from alerting.addresses import Endpoint, Policy
from alerting.connections import permitted_address
from alerting.outbound import Reply
from alerting.target_kind import Answer, Outgoing
from errors import InvalidRequest
from schemas.targets import MASK

# Answers that mean "later", as 5xx do; every other 4xx means that this will never be taken.
LATER: Final = frozenset({408, 425, 429})


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpDestination:
    """Everything needed to deliver to a target. Secret: it goes into no log and no answer."""

    endpoint: str
    headers: Mapping[str, str] = field(default_factory=dict)
    username: str | None = None
    password: str | None = None
    skip_tls_check: bool = False

    def __repr__(self) -> str:
        return f"<destination {mask(self.endpoint)}>"


def read(asked: Mapping[str, Any], policy: Policy, *, needs_tls: bool = False) -> HttpDestination:
    """The destination that loaded members ask for. Raises InvalidRequest."""
    check(asked["endpoint"], policy, skips_tls_check=asked["skip_tls_check"], needs_tls=needs_tls)
    credentials = asked["auth"] or {}
    return HttpDestination(
        endpoint=asked["endpoint"],
        headers=asked["headers"],
        username=credentials.get("username"),
        password=credentials.get("password"),
        skip_tls_check=asked["skip_tls_check"],
    )


def check(url: str, policy: Policy, *, skips_tls_check: bool, needs_tls: bool) -> None:
    """Raises InvalidRequest when notices may not be sent there, or not in this way."""
    endpoint = addresses.check(url, policy)
    if policy.names(endpoint.host):
        return
    if needs_tls and endpoint.scheme != "https":
        raise InvalidRequest(
            "`endpoint` of this type must start with https://, unless an administrator names its host in"
            " WEIR_ALERT_ALLOWED_HOSTS",
            field="endpoint",
        )
    require_tls_check(skips_tls_check=skips_tls_check)


def require_tls_check(*, skips_tls_check: bool) -> None:
    """For hosts that no administrator has named. Raises InvalidRequest."""
    if skips_tls_check:
        raise InvalidRequest(
            "`skipTlsCheck` is only for hosts that an administrator names in WEIR_ALERT_ALLOWED_HOSTS",
            field="skipTlsCheck",
        )


def show(destination: HttpDestination) -> dict[str, object]:
    """Without what is secret, which of hooks the path is."""
    shown: dict[str, object] = {"endpoint": mask(destination.endpoint)}
    if destination.headers:
        shown["headers"] = dict.fromkeys(destination.headers, MASK)
    if destination.username is not None:
        shown["auth"] = {"username": destination.username, "password": MASK}
    return shown


def show_with_tls(destination: HttpDestination) -> dict[str, object]:
    """As show, and whether certificates are checked."""
    return {**show(destination), "skipTlsCheck": destination.skip_tls_check}


def mask(url: str) -> str:
    """All of a URL that may be shown: in hooks, the path is the password."""
    return f"{urlsplit(url).scheme}://{MASK}"


def post(destination: HttpDestination, outgoing: Outgoing, body: bytes, default_path: str = "/") -> Answer:
    """Make one attempt; `default_path`: for an endpoint without one. Raises InvalidRequest, Undelivered."""
    policy = outgoing.policy
    endpoint = addresses.check(destination.endpoint, policy)
    if endpoint.target == "/":
        endpoint = replace(endpoint, target=default_path)
    headers = {**destination.headers, **_authorization(destination), "X-Weir-Delivery": outgoing.delivery.id}
    return answer(_post(endpoint, policy, body, headers, skips=destination.skip_tls_check))


def answer(reply: Reply) -> Answer:
    """What an HTTP answer means: taken, try again, or never."""
    status = reply.status
    if 200 <= status < 300:
        return Answer(status)
    if status >= 500 or status in LATER:
        return Answer(status, f"the receiver answered {status}", retry_after=reply.retry_after)
    reason = "a redirect, which is not followed" if 300 <= status < 400 else "which is final"
    return Answer(status, f"the receiver answered {status}, {reason}", is_final=True)


def _post(endpoint: Endpoint, policy: Policy, body: bytes, headers: Mapping[str, str], *, skips: bool) -> Reply:
    address = permitted_address(endpoint, policy)
    checks_tls = not (skips and policy.names(endpoint.host))
    return outbound.post(endpoint, address, body, headers, checks_tls=checks_tls)


def _authorization(destination: HttpDestination) -> dict[str, str]:
    if destination.username is None:
        return {}
    credentials = f"{destination.username}:{destination.password}".encode()
    return {"Authorization": f"Basic {b64encode(credentials).decode()}"}
