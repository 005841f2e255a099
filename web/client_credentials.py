"""OAuth's client credentials (RFC 6749 section 4.4): the id or name of an API key, and its secret."""

from base64 import b64decode
from dataclasses import dataclass
from typing import Final
from urllib.parse import unquote_plus

from flask import request

from auth.verify import Verifier

GRANT: Final = "client_credentials"


@dataclass(frozen=True, slots=True)
class OAuthError(Exception):
    """An error as RFC 6749 section 5.2 has it."""

    code: str
    message: str
    status: int = 400


def client_credentials(verifier: Verifier, tenant: str) -> str:
    """The secret of the key that the request proves. Raises OAuthError, which does not tell what of it is wrong."""
    if request.form.get("grant_type") != GRANT:
        raise OAuthError("unsupported_grant_type", f"this catalog knows the grant {GRANT} alone")
    client_id, secret = _sent()
    identity = verifier.api_key(tenant, secret) if secret else None
    if identity is None or client_id not in ("", identity.id, identity.name):
        raise OAuthError("invalid_client", "no API key has this id or name and this secret", 401)
    return secret


def _sent() -> tuple[str, str]:
    """Id and secret, of the form or of Basic authorization, in which both are form-encoded (section 2.3.1)."""
    scheme, _, encoded = request.headers.get("Authorization", "").partition(" ")
    if scheme.lower() != "basic":
        return request.form.get("client_id", ""), request.form.get("client_secret", "")
    try:
        client_id, _, secret = b64decode(encoded, validate=True).decode().partition(":")
    except ValueError as error:
        raise OAuthError("invalid_client", "the Authorization header cannot be read", 401) from error
    return unquote_plus(client_id), unquote_plus(secret)
