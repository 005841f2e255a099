"""From a credential to the identity it proves: API keys and native users, cached under the exact generation."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import datetime

from auth.backoff import Backoff
from auth.cache import IdentityCache, Resolved
from auth.identity import Entry, Identity, Kind
from auth.last_use import LastUse
from auth.names import is_text
from auth.passwords import Passwords
from auth.privileges import parse_entries
from auth.scram import ScramVerifiers
from auth.secrets import Secrets
from models import api_key, user
from models.api_key import ApiKeyRecord
from models.role import RoleRecord
from models.user import UserRecord

Clock = Callable[[], datetime]


@dataclass(frozen=True, slots=True)
class Claim:
    """A name and a password, the tenant they are said to be of, and the network address that says so."""

    tenant: str
    name: str
    password: str
    address: str


class Verifier:
    """Verifies credentials. One per worker; every method answers None for a wrong credential, never why."""

    def __init__(
        self,
        secrets: Secrets,
        passwords: Passwords,
        backoff: Backoff,
        cache: IdentityCache,
        last_use: LastUse,
        clock: Clock,
        scram: ScramVerifiers,
    ) -> None:
        self._secrets = secrets
        self._passwords = passwords
        self._backoff = backoff
        self._cache = cache
        self._last_use = last_use
        self._clock = clock
        self._scram = scram

    def api_key(self, tenant: str, secret: str) -> Identity | None:
        """The identity of a key of this tenant. The secret is compared exactly, by a digest under our own key."""
        scoped = f"api key\0{tenant}\0{secret}"
        resolved = self._cache.resolve(scoped, lambda: _load_key(tenant, self._secrets.digest(secret)))
        now = self._clock()
        if resolved is None or (resolved.expires_at is not None and resolved.expires_at <= now):
            return None
        self._last_use.note(resolved.identity.id, now)
        return resolved.identity

    def basic(self, claim: Claim) -> Identity | None:
        """The identity of a native user. An unknown user costs as much as a wrong password. Raises TooManyAttempts."""
        if not is_text(claim.name):
            return None
        scoped = f"basic\0{claim.tenant}\0{claim.name}\0{claim.password}"
        resolved = self._cache.resolve(scoped, lambda: self._check(claim))
        return None if resolved is None else resolved.identity

    def _check(self, claim: Claim) -> Resolved | None:
        record = user.find(claim.tenant, claim.name)
        account = f"{claim.tenant}/{claim.name}"
        password_hash = None if record is None else record.password_hash
        if not self._passwords.verify(
            password_hash, claim.password, lambda: self._backoff.admit(claim.address, account)
        ):
            return None
        self._backoff.forgive(claim.address, account)
        if record is None:
            return None
        self._keep_scram(claim, record)
        return Resolved(native(claim.tenant, record))

    def _keep_scram(self, claim: Claim, record: UserRecord) -> None:
        """Of users that an earlier version made, nothing is there yet to log in with over the PostgreSQL protocol."""
        if record.scram is None and record.password_hash is not None:
            sealed = self._scram.seal(claim.tenant, claim.name, claim.password)
            user.add_scram(claim.tenant, claim.name, record.password_hash, sealed)


def native(tenant: str, found: UserRecord) -> Identity:
    """The identity of a native user."""
    return identity_of(tenant, Kind.NATIVE, found.name, found.name, found.roles)


def _load_key(tenant: str, digest: bytes) -> Resolved | None:
    record = api_key.find(tenant, digest)
    if record is None:
        return None
    return Resolved(of_key(tenant, record), record.expires_at)


def of_key(tenant: str, record: ApiKeyRecord) -> Identity:
    """The identity of an API key."""
    return identity_of(tenant, Kind.API_KEY, record.key_id, record.name, record.roles)


def identity_of(tenant: str, kind: Kind, identifier: str, name: str, roles: Iterable[RoleRecord]) -> Identity:
    """The identity that holds these roles."""
    role_records = tuple(roles)
    return Identity(tenant, kind, identifier, name, tuple(role.name for role in role_records), entries_of(role_records))


def entries_of(roles: Iterable[RoleRecord]) -> tuple[Entry, ...]:
    return tuple(entry for role in roles for entry in parse_entries(role.entries))
