"""Browser sessions: made by a login, proven by an opaque cookie, renewed with the provider, ended by a logout."""

import logging
import secrets as random
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Final

from auth.cache import IdentityCache, Resolved
from auth.identity import Identity, Kind
from auth.oidc import PREFIX, load_identity, read_subject, require_tenant
from auth.openid import Tokens
from auth.secrets import Secrets
from auth.verify import identity_of
from errors import LoginFailed
from models import session, user
from models.session import Grant, SessionRecord
from models.shared_generation import Generation
from models.user import NewUser

if TYPE_CHECKING:
    from auth.provider import Provider

logger = logging.getLogger(__name__)

NATIVE_LIFE: Final = timedelta(hours=12)
OIDC_LIFE: Final = timedelta(days=7)
# While one worker asks the provider, the others let the session be valid for this long.
RENEWAL: Final = timedelta(seconds=30)


@dataclass(frozen=True, slots=True)
class NewSession:
    """`token` is the cookie's value and stored nowhere. `user_name` is whose session it is."""

    token: str
    life: timedelta
    user_name: str


@dataclass(frozen=True, slots=True)
class EndedSession:
    """`id_token` is what the provider's logout asks for; None for a native user's session."""

    user_name: str
    id_token: str | None


class Sessions:
    def __init__(
        self,
        secrets: Secrets,
        cache: IdentityCache,
        generation: Generation,
        clock: Callable[[], datetime],
        provider: "Provider | None",
    ) -> None:
        self._secrets = secrets
        self._cache = cache
        self._generation = generation
        self._clock = clock
        self._provider = provider

    def open_native(self, identity: Identity) -> NewSession:
        """A session of a native user who has just proven a password."""
        return self._open(identity.tenant, identity.id, Grant((), self._clock() + NATIVE_LIFE), NATIVE_LIFE)

    def open_oidc(self, tenant: str, tokens: Tokens, provider: "Provider") -> NewSession:
        """A session of the user that the ID token speaks of, who is made at the first login. Raises LoginFailed."""
        require_tenant(tokens.claims, tenant, provider.options)
        subject = read_subject(tokens.claims, provider.options)
        with self._generation.changing():
            user.ensure_oauth(tenant, NewUser(subject.name, None, self._clock(), subject.email))
        return self._open(tenant, subject.name, self._grant(tokens, subject.groups), OIDC_LIFE)

    def identify(self, tenant: str, token: str) -> Identity | None:
        """Whose session the cookie proves. None: of nobody, of another tenant, or over."""
        digest = self._digest(token)
        resolved = self._cache.resolve(f"session of\0{tenant}\0{token}", lambda: _load(tenant, digest))
        if resolved is None:
            return None
        if resolved.expires_at is not None and resolved.expires_at > self._clock():
            return resolved.identity
        return resolved.identity if self._renew(tenant, digest) else None

    def close(self, tenant: str, token: str) -> EndedSession | None:
        """End the session, if there is one."""
        digest = self._digest(token)
        record = session.find(tenant, digest)
        if record is None:
            return None
        with self._generation.changing():
            session.delete(digest)
        return EndedSession(record.user_name, self._unseal(record.grant.sealed_id_token))

    def _open(self, tenant: str, name: str, grant: Grant, life: timedelta) -> NewSession:
        token = random.token_urlsafe(32)
        now = self._clock()
        session.forget_ended(now)
        session.create(tenant, self._digest(token), SessionRecord(name, now + life, grant))
        return NewSession(token, life, name)

    def _renew(self, tenant: str, digest: bytes) -> bool:
        """Whether the session may go on: the provider vouches for it again, or another worker is asking just now."""
        now = self._clock()
        record = session.find(tenant, digest)
        if record is None or record.expires_at <= now:
            return False
        if record.grant.valid_until > now:
            return True
        if not session.claim(digest, now, now + RENEWAL):
            return True
        grant = self._ask_provider(record)
        with self._generation.changing():
            if grant is None:
                session.delete(digest)
            else:
                session.renew(digest, grant)
        return grant is not None

    def _ask_provider(self, record: SessionRecord) -> Grant | None:
        refresh_token = self._unseal(record.grant.sealed_refresh_token)
        if refresh_token is None or self._provider is None:
            return None
        try:
            tokens = self._provider.refresh(refresh_token, record.user_name.removeprefix(PREFIX))
            renewed = self._grant(tokens, read_subject(tokens.claims, self._provider.options).groups)
        except LoginFailed as error:
            logger.info("session of %s ends: %s", record.user_name, error.message)
            return None
        return Grant(
            renewed.groups,
            renewed.valid_until,
            renewed.sealed_refresh_token or record.grant.sealed_refresh_token,
            renewed.sealed_id_token or record.grant.sealed_id_token,
        )

    def _grant(self, tokens: Tokens, groups: tuple[str, ...]) -> Grant:
        life = min(timedelta(seconds=tokens.expires_in_seconds), OIDC_LIFE)
        return Grant(groups, self._clock() + life, self._seal(tokens.refresh_token), self._seal(tokens.id_token))

    def _digest(self, token: str) -> bytes:
        return self._secrets.digest(f"session\0{token}")

    def _seal(self, token: str | None) -> bytes | None:
        return None if token is None else self._secrets.seal(token, "session")

    def _unseal(self, sealed: bytes | None) -> str | None:
        return None if sealed is None else self._secrets.unseal(sealed, "session")


def _load(tenant: str, digest: bytes) -> Resolved | None:
    record = session.find(tenant, digest)
    if record is None:
        return None
    until = min(record.expires_at, record.grant.valid_until)
    if record.user_name.startswith(PREFIX):
        return Resolved(load_identity(tenant, record.user_name, record.grant.groups).identity, until)
    owner = user.find(tenant, record.user_name)
    if owner is None:
        return None
    return Resolved(identity_of(tenant, Kind.NATIVE, owner.name, owner.name, owner.roles), until)
