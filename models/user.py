"""Users: native ones with a password hash, OIDC ones without, and the roles they hold."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import TypeAlias, cast

from peewee import JOIN, BlobField, CompositeKey, IntegrityError, TextField
from playhouse.postgres_ext import DateTimeTZField

from errors import UserExists, UserNotFound
from models import saved_query
from models.base import Table, connection
from models.generation import changing
from models.role import RawEntries, Role, RoleRecord
from models.role import require as require_roles
from models.saved_query import Owner


class Method(StrEnum):
    NATIVE = "native"
    OAUTH = "oauth"


class User(Table):
    tenant_id = TextField()
    name = TextField()
    method = TextField()
    password_hash = TextField(null=True)
    scram = BlobField(null=True)
    email = TextField(null=True)
    created_at = DateTimeTZField()

    class Meta:
        primary_key = CompositeKey("tenant_id", "name")


class UserRole(Table):
    tenant_id = TextField()
    user_name = TextField()
    role_name = TextField()

    class Meta:
        primary_key = CompositeKey("tenant_id", "user_name", "role_name")


_Row: TypeAlias = tuple[str, str, str | None, str | None, bytes | None, str | None, RawEntries]


@dataclass(frozen=True, slots=True)
class UserRecord:
    """`scram` is the sealed verifier of the password, as far as it has been made (auth/scram.py)."""

    name: str
    method: Method
    email: str | None
    password_hash: str | None
    scram: bytes | None
    roles: tuple[RoleRecord, ...]


@dataclass(frozen=True, slots=True)
class NewUser:
    """`password_hash` is None exactly for OIDC users."""

    name: str
    password_hash: str | None
    created_at: datetime
    email: str | None = None
    scram: bytes | None = None


def create(tenant: str, user: NewUser, roles: Iterable[str]) -> None:
    """Raises UserExists, UnknownRole."""
    role_names = list(dict.fromkeys(roles))
    try:
        with changing():
            require_roles(tenant, role_names)
            User.insert(
                tenant_id=tenant,
                name=user.name,
                method=Method.OAUTH if user.password_hash is None else Method.NATIVE,
                password_hash=user.password_hash,
                scram=user.scram,
                email=user.email,
                created_at=user.created_at,
            ).execute()
            _link(tenant, user.name, role_names)
    except IntegrityError as error:
        raise UserExists(f"user {user.name} exists already") from error


def ensure_oauth(tenant: str, user: NewUser) -> None:
    """Make the OIDC user at the first login; bring the address up to date at later ones."""
    with changing():
        (
            User.insert(
                tenant_id=tenant,
                name=user.name,
                method=Method.OAUTH,
                email=user.email,
                created_at=user.created_at,
            )
            .on_conflict(conflict_target=[User.tenant_id, User.name], preserve=[User.email])
            .execute()
        )


@connection()
def find(tenant: str, name: str) -> UserRecord | None:
    """The user with its roles, in one round trip."""
    found = _records(tenant, User.name == name)
    return found[0] if found else None


def get(tenant: str, name: str) -> UserRecord:
    """Raises UserNotFound."""
    records = find(tenant, name)
    if records is None:
        raise UserNotFound(f"user {name} does not exist")
    return records


@connection()
def list_all(tenant: str) -> list[UserRecord]:
    """The tenant's users, by name. API keys are no users (spec 2.1)."""
    return _records(tenant)


def delete(tenant: str, name: str) -> None:
    """Raises UserNotFound."""
    with changing():
        if not User.delete().where(User.tenant_id == tenant, User.name == name).execute():
            raise UserNotFound(f"user {name} does not exist")
        # Or the next user of this name would read them.
        for kind in ("native", "oauth"):
            saved_query.forget_owner(Owner(tenant, kind, name))


def set_password_hash(tenant: str, name: str, password_hash: str, scram: bytes | None = None) -> None:
    """Raises UserNotFound, also for an OIDC user, who has no password."""
    with changing():
        native = (User.tenant_id == tenant) & (User.name == name) & (User.method == Method.NATIVE)
        if not User.update(password_hash=password_hash, scram=scram).where(native).execute():
            raise UserNotFound(f"no native user {name}")


@connection()
def add_scram(tenant: str, name: str, password_hash: str, scram: bytes) -> None:
    """Keep the verifier of the password with this hash, unless there is one. It changes no right, so no generation."""
    same = (User.tenant_id == tenant) & (User.name == name) & (User.password_hash == password_hash)
    User.update(scram=scram).where(same & User.scram.is_null()).execute()


def set_roles(tenant: str, name: str, roles: Iterable[str]) -> None:
    """Replace the roles of an existing user. Raises UnknownRole."""
    role_names = list(dict.fromkeys(roles))
    with changing():
        require_roles(tenant, role_names)
        UserRole.delete().where(UserRole.tenant_id == tenant, UserRole.user_name == name).execute()
        _link(tenant, name, role_names)


def _link(tenant: str, name: str, roles: list[str]) -> None:
    rows = [{"tenant_id": tenant, "user_name": name, "role_name": role} for role in roles]
    if rows:
        UserRole.insert_many(rows).execute()


def _records(tenant: str, *conditions: object) -> list[UserRecord]:
    same_user = (UserRole.tenant_id == User.tenant_id) & (UserRole.user_name == User.name)
    same_role = (Role.tenant_id == UserRole.tenant_id) & (Role.name == UserRole.role_name)
    selected = (
        User.select(User.name, User.method, User.email, User.password_hash, User.scram, Role.name, Role.entries)
        .join(UserRole, JOIN.LEFT_OUTER, on=same_user)
        .join(Role, JOIN.LEFT_OUTER, on=same_role)
        .where(User.tenant_id == tenant, *conditions)
        .order_by(User.name, Role.name)
    )
    rows = cast(Iterable[_Row], selected.tuples())
    records: dict[str, UserRecord] = {}
    for name, method, email, password_hash, scram, role, entries in rows:
        before = records[name].roles if name in records else ()
        held = () if role is None else (RoleRecord(role, entries),)
        sealed = None if scram is None else bytes(scram)
        records[name] = UserRecord(name, Method(method), email, password_hash, sealed, (*before, *held))
    return list(records.values())
