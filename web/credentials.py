"""What a request sends to prove who it is: X-API-Key, or Basic and Bearer by Flask-HTTPAuth's schemes."""

import re
from collections.abc import Callable
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

    def _authorized(self, tenant: str, authorization: str) -> Identity | None:
        # Scheme names have no case (RFC 9110 section 11.1).
        scheme = authorization.partition(" ")[0].lower()
        if scheme == "basic":
            return self._of_password(tenant, authorization)
        return self._of_token(tenant) if scheme == "bearer" else None

    def _of_password(self, tenant: str, authorization: str) -> Identity | None:
        credentials = self._basic.get_auth() if BASIC.fullmatch(authorization) else None
        if credentials is None:
            return None
        claim = Claim(tenant, credentials.username, credentials.password, this_request().remote_addr or "")
        identity = self._verifier.basic(claim)
        if identity is None:
            self._on_wrong_password(claim)
        return identity

    def _of_token(self, tenant: str) -> Identity | None:
        credentials = self._bearer.get_auth()
        if credentials is None or not credentials.token or self._verify_bearer is None:
            return None
        return self._verify_bearer(tenant, credentials.token)
