"""The authorization-code flow between its two requests: state, nonce and PKCE verifier, sealed into a cookie.

The server keeps nothing of a login that was begun, so nobody can fill it up with them.
"""

import base64
import hashlib
import hmac
import json
import secrets as random
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from typing import Final

from auth.openid import AuthorizationRequest
from auth.secrets import Secrets
from errors import InternalError, LoginFailed

LIFE: Final = timedelta(minutes=10)
BOUND_TO: Final = "login"


@dataclass(frozen=True, slots=True)
class Login:
    """One login under way. `redirect` is where the browser goes afterwards; `begun_at` in Unix seconds."""

    tenant: str
    redirect: str
    redirect_uri: str
    state: str
    nonce: str
    code_verifier: str
    begun_at: int

    def request(self) -> AuthorizationRequest:
        """RFC 7636 section 4.2: the provider sees the verifier's hash, later the verifier."""
        hashed = hashlib.sha256(self.code_verifier.encode()).digest()
        challenge = base64.urlsafe_b64encode(hashed).rstrip(b"=").decode()
        return AuthorizationRequest(self.redirect_uri, self.state, self.nonce, challenge)


def begin(tenant: str, redirect: str, redirect_uri: str, now: datetime) -> Login:
    state, nonce, code_verifier = (random.token_urlsafe(32) for _ in range(3))
    return Login(tenant, redirect, redirect_uri, state, nonce, code_verifier, int(now.timestamp()))


def seal(login: Login, secrets: Secrets) -> str:
    """The login as a cookie's value, which only this service can read or make."""
    return base64.urlsafe_b64encode(secrets.seal(json.dumps(asdict(login)), BOUND_TO)).decode()


def resume(cookie: str | None, state: str, secrets: Secrets, now: datetime) -> Login:
    """The login that this browser began. Raises LoginFailed when it began none, another one, or too long ago."""
    if cookie is None:
        raise LoginFailed("this browser began no login, or its cookies are off")
    try:
        login = Login(**json.loads(secrets.unseal(base64.urlsafe_b64decode(cookie), BOUND_TO)))
    except (InternalError, ValueError, TypeError) as error:
        raise LoginFailed("the login cookie is not ours") from error
    if not hmac.compare_digest(login.state.encode(), state.encode()):
        raise LoginFailed("the state is of another login")
    if now.timestamp() - login.begun_at > LIFE.total_seconds():
        raise LoginFailed("the login took longer than ten minutes")
    return login
