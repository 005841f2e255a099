"""What a request sends to prove who it is: X-API-Key, or Basic and Bearer by Flask-HTTPAuth's schemes.

Each validator tells a missing credential (try the next) from a wrong one (stop), as the two are different.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

from flask import request
from flask_httpauth import HTTPBasicAuth, HTTPTokenAuth

from auth.identity import Identity
from auth.verify import Claim, Verifier
from errors import ConflictingCredentials, Unauthenticated

# The base64 decoder behind get_auth() skips characters that are not base64, and so would read the first of two
# credentials that a proxy joined by a comma.
BASIC: Final = re.compile(r"[Bb][Aa][Ss][Ii][Cc] +[A-Za-z0-9+/]+={0,2}")
REALM: Final = "weir"
KEY_HEADER: Final = "X-API-Key"
# One text for no, wrong, expired and deleted credentials: nothing tells them apart (api.md section 1).
REFUSAL: Final = "this needs valid credentials: an X-API-Key header, Basic or Bearer authorization, or a session"

BearerVerifier = Callable[[str, str], Identity | None]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a validator found: nothing of its kind (`missing`), a proven identity, or (None) a wrong credential."""

    identity: Identity | None = None
    missing: bool = False


MISSING: Final = Outcome(missing=True)


class Credentials:
    """The validators of one worker. `bearer` verifies an OIDC token for a tenant; None: OIDC is not configured.

    `on_wrong_password` is told of every one, before it is refused.
    """

    def __init__(
        self, verifier: Verifier, bearer: BearerVerifier | None, on_wrong_password: Callable[[Claim], None]
    ) -> None:
        self._verifier = verifier
        self._on_wrong_password = on_wrong_password
        self._verify_bearer = bearer
        self._basic = HTTPBasicAuth(realm=REALM)
        self._bearer = HTTPTokenAuth("Bearer", realm=REALM)

    def identify(self, tenant: str, key: str | None, authorization: str | None) -> Identity | None:
        """The identity that the current request's headers (X-API-Key, Authorization) prove; None without any.

        Raises ConflictingCredentials when both are sent (spec 5.2), and Unauthenticated when what is sent is wrong.
        """
        if key is not None and authorization is not None:
            raise ConflictingCredentials(f"send either {KEY_HEADER} or Authorization, not both")
        for outcome in self._outcomes(tenant, key, authorization or ""):
            if not outcome.missing:
                return _proven(outcome)
        if authorization is not None:
            raise Unauthenticated(REFUSAL)
        return None

    def _outcomes(self, tenant: str, key: str | None, authorization: str) -> Iterator[Outcome]:
        # Scheme names have no case (RFC 9110 section 11.1).
        scheme = authorization.partition(" ")[0].lower()
        yield MISSING if key is None else Outcome(self._verifier.api_key(tenant, key))
        yield self._basic_outcome(tenant, authorization) if scheme == "basic" else MISSING
        yield self._bearer_outcome(tenant) if scheme == "bearer" else MISSING

    def _basic_outcome(self, tenant: str, authorization: str) -> Outcome:
        sent = self._basic.get_auth() if BASIC.fullmatch(authorization) else None
        if sent is None:
            return Outcome()
        claim = Claim(tenant, sent.username, sent.password, request.remote_addr or "")
        found = self._verifier.basic(claim)
        if found is None:
            self._on_wrong_password(claim)
        return Outcome(found)

    def _bearer_outcome(self, tenant: str) -> Outcome:
        sent = self._bearer.get_auth()
        if sent is None or not sent.token or self._verify_bearer is None:
            return Outcome()
        return Outcome(self._verify_bearer(tenant, sent.token))


def _proven(outcome: Outcome) -> Identity:
    if outcome.identity is None:
        raise Unauthenticated(REFUSAL)
    return outcome.identity
