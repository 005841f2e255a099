"""What is said between an OIDC provider and the rest of identity.

Apart from the provider's client, whose libraries (requests, joserfc) take a quarter of a worker's start and are loaded
only where there is a provider.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, TypeAlias

# The end of the year 9999: the last that a clock here can show.
LAST_SECOND: Final = 253_402_300_799

Claims: TypeAlias = Mapping[str, object]


@dataclass(frozen=True, slots=True)
class ProviderOptions:
    """`tenant_claim` names the claim that says which tenants a token is good for; None: there is one tenant."""

    issuer: str
    client_id: str
    client_secret: str | None
    groups_claim: str
    tenant_claim: str | None = None


@dataclass(frozen=True, slots=True)
class Tokens:
    """What the token endpoint gave: the verified claims of the ID token, and the tokens themselves."""

    claims: Claims
    id_token: str | None
    refresh_token: str | None
    expires_in_seconds: int


@dataclass(frozen=True, slots=True)
class AuthorizationRequest:
    """What the browser takes to the provider (OpenID Connect Core 1.0 section 3.1.2.1, RFC 7636)."""

    redirect_uri: str
    state: str
    nonce: str
    code_challenge: str
