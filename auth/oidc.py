"""OIDC identities: which user, tenant and roles the claims of a verified token stand for."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

from auth.cache import IdentityCache, Resolved
from auth.identity import Identity, Kind
from auth.names import is_text
from auth.openid import LAST_SECOND, Claims, ProviderOptions
from auth.verify import identity_of
from errors import LoginFailed
from models import role, session, tenant, user
from models.role import RoleRecord

if TYPE_CHECKING:
    from auth.provider import Provider

# No native user's name holds a colon, so no subject can be taken for one.
PREFIX: Final = "oidc:"
MOST_GROUPS: Final = 1000


@dataclass(frozen=True, slots=True)
class Subject:
    """Whom a token speaks of. `name` is our user name, from the subject alone: addresses and nicknames change hands."""

    name: str
    email: str | None
    groups: tuple[str, ...]
    issued_at: datetime


class BearerTokens:
    """Verifies `Authorization: Bearer` for API calls: tokens that the provider issued for this client."""

    def __init__(self, provider: "Provider", cache: IdentityCache) -> None:
        self._provider = provider
        self._cache = cache

    def identify(self, tenant_id: str, token: str) -> Identity | None:
        """None when the token is refused. The signature is checked on every request, the roles are cached.

        Raises ProviderUnavailable.
        """
        try:
            claims = self._provider.verify(token)
            require_tenant(claims, tenant_id, self._provider.options)
            subject = read_subject(claims, self._provider.options)
        except LoginFailed:
            return None
        groups = "\0".join(subject.groups)
        scoped = f"bearer\0{tenant_id}\0{subject.name}\0{groups}"
        resolved = self._cache.resolve(scoped, lambda: load_identity(tenant_id, subject.name, subject.groups))
        if resolved is None or is_revoked(resolved, subject.issued_at):
            return None
        return resolved.identity


def load_identity(tenant_id: str, name: str, groups: Sequence[str]) -> Resolved:
    """The roles given to the user here, those that its groups name, or else the default role."""
    known = user.find(tenant_id, name)
    given = () if known is None else known.roles
    held = {each.name: each for each in (*given, *role.named(tenant_id, groups))} or _default(tenant_id)
    identity = identity_of(tenant_id, Kind.OAUTH, name, name.removeprefix(PREFIX), held.values())
    return Resolved(identity, revoked_at=session.tokens_revoked_at(tenant_id, name))


def is_revoked(resolved: Resolved, issued_at: datetime) -> bool:
    """Whether the user was deleted here after the token was issued."""
    return resolved.revoked_at is not None and issued_at <= resolved.revoked_at


def read_subject(claims: Claims, options: ProviderOptions) -> Subject:
    """Raises LoginFailed for a subject that cannot be a name."""
    name = f"{PREFIX}{claims['sub']}"
    if not is_text(name):
        raise LoginFailed("the token's subject is empty, too long or not printable")
    email = claims.get("email")
    return Subject(
        name=name,
        email=email if is_text(email) else None,
        groups=_groups(claims.get(options.groups_claim)),
        issued_at=_moment(claims.get("iat")),
    )


def _moment(seconds: object) -> datetime:
    """The start of 1970 for what is no time, as in the provider's answers that are no tokens."""
    is_time = isinstance(seconds, int | float) and 0 <= seconds <= LAST_SECOND
    return datetime.fromtimestamp(seconds if is_time else 0, UTC)  # type: ignore[arg-type]  # just checked


def require_tenant(claims: Claims, tenant_id: str, options: ProviderOptions) -> None:
    """On a server of several tenants a token is good for those that its tenant claim names. Raises LoginFailed."""
    if options.tenant_claim is None:
        return
    named = claims.get(options.tenant_claim)
    if tenant_id not in (named if isinstance(named, list) else [named]):
        raise LoginFailed(f"the token's claim `{options.tenant_claim}` does not name this tenant")


def _groups(claim: object) -> tuple[str, ...]:
    """Sorted, so that their order does not matter. A single string is one group."""
    named = [claim] if isinstance(claim, str) else claim
    return tuple(sorted({each for each in named[:MOST_GROUPS] if is_text(each)})) if isinstance(named, list) else ()


def _default(tenant_id: str) -> dict[str, RoleRecord]:
    name = tenant.default_role(tenant_id)
    return {} if name is None else {name: role.get(tenant_id, name)}
