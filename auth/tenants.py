"""Tenants, as the root administrator manages them: made with an administrator of their own, deleted whole."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from auth import names, passwords
from auth.accounts import ADMIN_ENTRIES, ADMIN_ROLE
from auth.identity import Identity
from auth.passwords import Passwords
from auth.privileges import Action, require
from auth.scram import ScramVerifiers
from errors import Conflict, Forbidden
from models import generation, role, tenant, user
from models.shared_generation import Generation
from models.tenant import DEFAULT
from models.user import NewUser


@dataclass(frozen=True, slots=True)
class NewTenant:
    """A tenant just made; its administrator's password is stored nowhere."""

    id: str
    created_at: datetime
    username: str
    password: str


class Tenants:
    def __init__(
        self, passwords: Passwords, generation: Generation, clock: Callable[[], datetime], scram: ScramVerifiers
    ) -> None:
        self._passwords = passwords
        self._scram = scram
        self._generation = generation
        self._clock = clock

    def create(self, tenant_id: str, username: str) -> NewTenant:
        """A tenant with one administrator. Raises InvalidName, TenantExists."""
        new_tenant = NewTenant(
            names.check_tenant(tenant_id), self._clock(), names.check_user(username), passwords.generate()
        )
        password_hash = self._passwords.hash(new_tenant.password)
        scram = self._scram.seal(new_tenant.id, username, new_tenant.password)
        administrator = NewUser(username, password_hash, new_tenant.created_at, scram=scram)
        with self._generation.changing(), generation.changing():
            tenant.create(new_tenant.id, new_tenant.created_at)
            role.put(new_tenant.id, ADMIN_ROLE, ADMIN_ENTRIES)
            user.create(new_tenant.id, administrator, [ADMIN_ROLE])
        return new_tenant

    def delete(self, tenant_id: str) -> None:
        """The tenant with its users, roles and keys. Raises TenantNotFound, and Conflict for the root's own."""
        if tenant_id == DEFAULT:
            raise Conflict(f"tenant {DEFAULT} is the root administrators' own and stays")
        with self._generation.changing():
            tenant.delete(tenant_id)


def require_root(identity: Identity) -> None:
    """Root administrators are those of the tenant `default`. Raises Forbidden."""
    require(identity, Action.ADMINISTER)
    if identity.tenant != DEFAULT:
        raise Forbidden(f"tenants are managed by the administrators of the tenant {DEFAULT}", privilege="admin")
