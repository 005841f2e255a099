"""Who makes a call: the credentials in its metadata, judged as those of HTTP are."""

import base64
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from auth.access import Access
from auth.identity import Identity
from auth.verify import Claim
from errors import ConflictingCredentials, Unauthenticated
from otlp_grpc.call import Call
from web.tenant_header import refuse_needless_tenant, tenant_of

# One text for no, wrong, expired and deleted credentials: nothing tells them apart (api.md section 1).
REFUSAL: Final = "this needs valid credentials in the metadata: x-api-key, or authorization as Basic or Bearer"
BASIC: Final = re.compile(r"[A-Za-z0-9+/]+={0,2}")
# What the secret of an API key looks like. Exporters are often given a key where they ask for a bearer token.
API_KEY: Final = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")


@dataclass(frozen=True, slots=True)
class Callers:
    """Tells who makes a call. `on_wrong_password` is told of every one, before it is refused."""

    access: Access
    on_wrong_password: Callable[[Claim, Call], None]

    def identify(self, call: Call) -> Identity:
        """Raises Unauthenticated, ConflictingCredentials, MissingHeader, InvalidHeader, and TooManyAttempts."""
        tenant = tenant_of(call.environ, self.access.multi_tenant)
        key, authorization = (call.environ.get(name) for name in ("HTTP_X_API_KEY", "HTTP_AUTHORIZATION"))
        if key is not None and authorization is not None:
            raise ConflictingCredentials("send either x-api-key or authorization, not both")
        identity = self._authorized(tenant, authorization or "", call) if key is None else self._of_key(tenant, key)
        if identity is None:
            raise Unauthenticated(REFUSAL)
        refuse_needless_tenant(call.environ, self.access.multi_tenant)
        return identity

    def _authorized(self, tenant: str, authorization: str, call: Call) -> Identity | None:
        scheme, _, sent = authorization.partition(" ")
        if scheme.lower() == "basic":
            return self._of_password(tenant, sent.strip(), call)
        return self._of_token(tenant, sent.strip()) if scheme.lower() == "bearer" else None

    def _of_key(self, tenant: str, secret: str) -> Identity | None:
        return self.access.verifier.api_key(tenant, secret)

    def _of_token(self, tenant: str, token: str) -> Identity | None:
        if API_KEY.fullmatch(token):
            return self._of_key(tenant, token)
        tokens = self.access.bearer_tokens
        return None if tokens is None or not token else tokens.identify(tenant, token)

    def _of_password(self, tenant: str, sent: str, call: Call) -> Identity | None:
        pair = _decoded(sent)
        if pair is None:
            return None
        claim = Claim(tenant, *pair, call.src_ip)
        identity = self.access.verifier.basic(claim)
        if identity is None:
            self.on_wrong_password(claim, call)
        return identity


def _decoded(sent: str) -> tuple[str, str] | None:
    """Name and password (RFC 7617 section 2); None for what is neither.

    >>> _decoded("YWRtaW46YTpi")
    ('admin', 'a:b')
    """
    if not BASIC.fullmatch(sent):
        return None
    try:
        name, colon, password = base64.b64decode(sent).decode().partition(":")
    except ValueError:
        return None
    return (name, password) if colon else None
