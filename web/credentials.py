"""What a request sends to prove who it is: X-API-Key, or Basic and Bearer by Flask-HTTPAuth's schemes."""

import re
from collections.abc import Callable
from functools import partial
from typing import Final

from flask_httpauth import HTTPBasicAuth, HTTPTokenAuth

from auth.identity import Identity
from auth.verify import Claim, Verifier
from errors import ConflictingCredentials, Unauthenticated
from serving.flask_app.current import this_request

# The base64 decoder behind get_auth() skips characters that are not base64, and so would read the first of two
# credentials that a proxy joined by a comma.
BASIC: Final = re.compile(r"[Bb][Aa][Ss][Ii][Cc] +[A-Za-z0-9+/]+={0,2}")
REALM: Final = "weir"
KEY_HEADER: Final = "X-API-Key"
# One text for no, wrong, expired and deleted credentials: nothing tells them apart (api.md section 1).
REFUSAL: Final = "this needs valid credentials: an X-API-Key header, Basic or Bearer authorization, or a session"

# Gives whom a credential proves now; None once it is worth nothing. Needs no request.
Proof = Callable[[], Identity | None]
BearerVerifier = Callable[[str, str], Identity | None]


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
        if key is None and authorization is None:
            return None
        identity = self._authorized(tenant, authorization or "") if key is None else self._verifier.api_key(tenant, key)
        if identity is None:
            raise Unauthenticated(REFUSAL)
        return identity

    def proof(self, tenant: str, key: str | None, authorization: str | None) -> Proof | None:
        """What the current request's headers prove, to be asked again after the request; None without any.

        `identify` has found them good.
        """
        if key is not None:
            return partial(self._verifier.api_key, tenant, key)
        if authorization is None:
            return None
        token = self._token(authorization)
        if token is not None and self._verify_bearer is not None:
            return partial(self._verify_bearer, tenant, token)
        claim = self._claim(tenant, authorization)
        return None if claim is None else partial(self._verifier.basic, claim)

    def _authorized(self, tenant: str, authorization: str) -> Identity | None:
        claim = self._claim(tenant, authorization)
        if claim is not None:
            return self._of_password(claim)
        token = self._token(authorization)
        return None if token is None or self._verify_bearer is None else self._verify_bearer(tenant, token)

    def _of_password(self, claim: Claim) -> Identity | None:
        identity = self._verifier.basic(claim)
        if identity is None:
            self._on_wrong_password(claim)
        return identity

    def _claim(self, tenant: str, authorization: str) -> Claim | None:
        """What Basic authorization claims, if it is that."""
        credentials = self._basic.get_auth() if BASIC.fullmatch(authorization) else None
        if credentials is None:
            return None
        return Claim(tenant, credentials.username, credentials.password, this_request().remote_addr or "")

    def _token(self, authorization: str) -> str | None:
        """What Bearer authorization brings, if it is that. Scheme names have no case (RFC 9110 section 11.1)."""
        if authorization.partition(" ")[0].lower() != "bearer":
            return None
        credentials = self._bearer.get_auth()
        return None if credentials is None else credentials.token or None
