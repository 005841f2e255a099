"""Users and roles: their changes, each effective before it is answered, and none that leaves nobody in charge."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from datetime import datetime
from typing import Final

from auth import names, passwords
from auth.passwords import Passwords
from auth.privileges import is_administrator, parse_entries
from auth.scram import ScramVerifiers
from auth.verify import entries_of
from errors import InvalidRole, LastAdministrator
from models import generation, role, session, user
from models import tenant as tenants
from models.role import RawEntries
from models.shared_generation import Generation
from models.tenant import DEFAULT
from models.user import Method, NewUser

ADMIN_ROLE: Final = "admin"
ADMIN_ENTRIES: Final[RawEntries] = ({"privilege": "admin"},)


class Accounts:
    def __init__(
        self,
        passwords: Passwords,
        generation: Generation,
        clock: Callable[[], datetime],
        scram: ScramVerifiers | None = None,
    ) -> None:
        """Without `scram`, users log in over HTTP once before they can over the PostgreSQL protocol."""
        self._passwords = passwords
        self._generation = generation
        self._clock = clock
        self._scram = scram

    def create_user(self, tenant: str, name: str, roles: Iterable[str]) -> str:
        """The generated password, which is stored nowhere. Raises InvalidName, UserExists, UnknownRole."""
        password = passwords.generate()
        scram = self._sealed(tenant, names.check_user(name), password)
        new = NewUser(name, self._passwords.hash(password), self._clock(), scram=scram)
        with self._generation.changing():
            user.create(tenant, new, roles)
        return password

    def delete_user(self, tenant: str, name: str) -> None:
        """Raises UserNotFound, LastAdministrator."""
        with self._reducing(tenant):
            if user.get(tenant, name).method is Method.OAUTH:
                session.revoke_tokens(tenant, name, self._clock())
            user.delete(tenant, name)

    def renew_password(self, tenant: str, name: str) -> str:
        """A new generated password; the old one and the user's sessions end with it. Raises UserNotFound."""
        password = passwords.generate()
        password_hash = self._passwords.hash(password)
        with self._generation.changing(), generation.changing():
            user.set_password_hash(tenant, name, password_hash, self._sealed(tenant, name, password))
            session.delete_of_user(tenant, name)
        return password

    def set_roles(self, tenant: str, name: str, roles: Iterable[str]) -> None:
        """Raises UserNotFound, UnknownRole, LastAdministrator."""
        with self._reducing(tenant):
            user.get(tenant, name)
            user.set_roles(tenant, name, roles)

    def add_roles(self, tenant: str, name: str, roles: Iterable[str]) -> None:
        """Raises UserNotFound, UnknownRole."""
        with self._reducing(tenant):
            held = _held(tenant, name)
            user.set_roles(tenant, name, [*held, *roles])

    def remove_roles(self, tenant: str, name: str, roles: Iterable[str]) -> None:
        """Raises UserNotFound, LastAdministrator, and InvalidRole for a role that the user does not hold."""
        unwanted = set(roles)
        with self._reducing(tenant):
            held = _held(tenant, name)
            absent = sorted(unwanted.difference(held))
            if absent:
                raise InvalidRole(f"user {name} does not hold: {', '.join(absent)}", field="roles")
            user.set_roles(tenant, name, [each for each in held if each not in unwanted])

    def put_role(self, tenant: str, name: str, entries: RawEntries) -> None:
        """Raises InvalidName, InvalidRole, LastAdministrator."""
        names.check_role(name)
        parse_entries(entries)
        with self._reducing(tenant):
            role.put(tenant, name, entries)

    def delete_role(self, tenant: str, name: str) -> None:
        """Raises RoleNotFound, RoleInUse."""
        with self._generation.changing():
            role.delete(tenant, name)

    def set_default_role(self, tenant: str, name: str | None) -> None:
        """The role of OIDC users whose groups name none. Raises UnknownRole."""
        with self._generation.changing():
            tenants.set_default_role(tenant, name)

    def _sealed(self, tenant: str, name: str, password: str) -> bytes | None:
        return None if self._scram is None else self._scram.seal(tenant, name, password)

    @contextmanager
    def _reducing(self, tenant: str) -> Iterator[None]:
        """A change that may take rights away. Raises LastAdministrator, undoing it, if it takes away the last one.

        Changes are serial (models/generation.py), so two of them cannot each leave the other's administrator.
        """
        with self._generation.changing(), generation.changing():
            before = administrators(tenant)
            yield
            if before and not administrators(tenant):
                raise LastAdministrator("this would leave no native user with the privilege admin")


def bootstrap_administrator(
    passwords_: Passwords, username: str, password: str | None, now: datetime, scram: ScramVerifiers | None = None
) -> str | None:
    """Make the first administrator when there is no user yet; the password, if it was generated, to be shown once.

    Safe when several processes start at once: one of them makes it. Raises InvalidName.
    """
    if user.list_all(DEFAULT):
        return None
    password_in_use = passwords.generate() if password is None else password
    sealed = None if scram is None else scram.seal(DEFAULT, names.check_user(username), password_in_use)
    administrator = NewUser(names.check_user(username), passwords_.hash(password_in_use), now, scram=sealed)
    with generation.changing():
        if user.list_all(DEFAULT):
            return None
        role.put(DEFAULT, ADMIN_ROLE, ADMIN_ENTRIES)
        user.create(DEFAULT, administrator, [ADMIN_ROLE])
    return password_in_use if password is None else None


def has_other_password(passwords_: Passwords, username: str, password: str) -> bool:
    """Whether there are users already and this is not the name and password of one."""
    if not user.list_all(DEFAULT):
        return False
    found = user.find(DEFAULT, username)
    stored = None if found is None else found.password_hash
    return stored is None or not passwords_.verify(stored, password)


def administrators(tenant: str) -> list[str]:
    """The native users who are administrators. OIDC users do not count: their provider may be away."""
    native = (each for each in user.list_all(tenant) if each.method is Method.NATIVE)
    return [each.name for each in native if is_administrator(entries_of(each.roles))]


def _held(tenant: str, name: str) -> list[str]:
    return [each.name for each in user.get(tenant, name).roles]
