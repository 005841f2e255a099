"""API keys (spec 2.1): a digest to find them by, a sealed copy to show again, and the roles they hold."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Final, TypeAlias, cast

from peewee import JOIN, BlobField, CompositeKey, IntegrityError, SmallIntegerField, TextField
from playhouse.postgres_ext import DateTimeTZField

from errors import KeyNameTaken, KeyNotFound
from models import saved_query
from models.base import Table, connection, database
from models.generation import changing
from models.role import RawEntries, Role, RoleRecord
from models.role import require as require_roles
from models.saved_query import Owner


class ApiKey(Table):
    key_id = TextField(primary_key=True)
    tenant_id = TextField()
    name = TextField()
    digest = BlobField()
    sealed = BlobField()
    created_by = TextField()
    created_at = DateTimeTZField()
    modified_at = DateTimeTZField()
    expires_at = DateTimeTZField(null=True)
    last_used_at = DateTimeTZField(null=True)


class ApiKeyRole(Table):
    key_id = TextField()
    position = SmallIntegerField()
    tenant_id = TextField()
    role_name = TextField()

    class Meta:
        primary_key = CompositeKey("key_id", "role_name")


SHOWN: Final = (
    ApiKey.key_id,
    ApiKey.name,
    ApiKey.sealed,
    ApiKey.created_by,
    ApiKey.created_at,
    ApiKey.modified_at,
    ApiKey.expires_at,
    ApiKey.last_used_at,
)
_Row: TypeAlias = tuple[
    str, str, bytes, str, datetime, datetime, datetime | None, datetime | None, str | None, RawEntries
]


@dataclass(frozen=True, slots=True)
class ApiKeyRecord:
    """A key as it is stored; `roles` in the order in which they were given."""

    key_id: str
    name: str
    sealed: bytes
    created_by: str
    created_at: datetime
    modified_at: datetime
    expires_at: datetime | None
    last_used_at: datetime | None
    roles: tuple[RoleRecord, ...]


@dataclass(frozen=True, slots=True)
class NewApiKey:
    key_id: str
    tenant: str
    name: str
    digest: bytes
    sealed: bytes
    created_by: str
    created_at: datetime
    expires_at: datetime | None


def create(key: NewApiKey, roles: Iterable[str]) -> None:
    """Raises UnknownRole, and KeyNameTaken when the tenant has a key of that name (spec 2.1)."""
    role_names = list(dict.fromkeys(roles))
    try:
        with changing():
            require_roles(key.tenant, role_names)
            ApiKey.insert(
                key_id=key.key_id,
                tenant_id=key.tenant,
                name=key.name,
                digest=key.digest,
                sealed=key.sealed,
                created_by=key.created_by,
                created_at=key.created_at,
                modified_at=key.created_at,
                expires_at=key.expires_at,
            ).execute()
            _link(key, role_names)
    except IntegrityError as error:
        raise KeyNameTaken(f"an API key named {key.name} exists already", field="keyName") from error


@connection()
def find(tenant: str, digest: bytes) -> ApiKeyRecord | None:
    """The key whose secret has this digest, in one round trip."""
    found = _records(tenant, ApiKey.digest == digest)
    return found[0] if found else None


@connection()
def find_named(tenant: str, name: str) -> ApiKeyRecord | None:
    """The key with this name, or this id."""
    found = _records(tenant, (ApiKey.name == name) | (ApiKey.key_id == name))
    return next((each for each in found if each.name == name), found[0] if found else None)


@connection()
def find_by_id(tenant: str, key_id: str) -> ApiKeyRecord | None:
    """The key with this id."""
    found = _records(tenant, ApiKey.key_id == key_id)
    return found[0] if found else None


@connection()
def get(tenant: str, key_id: str) -> ApiKeyRecord:
    """Raises KeyNotFound."""
    records = _records(tenant, ApiKey.key_id == key_id)
    if not records:
        raise KeyNotFound(f"no API key {key_id}")
    return records[0]


@connection()
def list_all(tenant: str) -> list[ApiKeyRecord]:
    """The tenant's keys, oldest first."""
    return _records(tenant)


def delete(tenant: str, key_id: str) -> None:
    """Raises KeyNotFound."""
    with changing():
        if not ApiKey.delete().where(ApiKey.tenant_id == tenant, ApiKey.key_id == key_id).execute():
            raise KeyNotFound(f"no API key {key_id}")
        saved_query.forget_owner(Owner(tenant, "api_key", key_id))


@connection()
def touch(uses: Mapping[str, datetime]) -> None:
    """Note when keys (by key_id) were last used; never moves a note back. Changes no right, hence no generation."""
    with database.atomic():
        for key_id, at in sorted(uses.items()):
            older = ApiKey.last_used_at.is_null() | (ApiKey.last_used_at < at)
            ApiKey.update(last_used_at=at).where((ApiKey.key_id == key_id) & older).execute()


def _link(key: NewApiKey, roles: list[str]) -> None:
    rows = [
        {"key_id": key.key_id, "position": position, "tenant_id": key.tenant, "role_name": role}
        for position, role in enumerate(roles)
    ]
    if rows:
        ApiKeyRole.insert_many(rows).execute()


def _records(tenant: str, *conditions: object) -> list[ApiKeyRecord]:
    same_role = (Role.tenant_id == ApiKeyRole.tenant_id) & (Role.name == ApiKeyRole.role_name)
    selected = (
        ApiKey.select(*SHOWN, Role.name, Role.entries)
        .join(ApiKeyRole, JOIN.LEFT_OUTER, on=(ApiKeyRole.key_id == ApiKey.key_id))
        .join(Role, JOIN.LEFT_OUTER, on=same_role)
        .where(ApiKey.tenant_id == tenant, *conditions)
        .order_by(ApiKey.created_at, ApiKey.key_id, ApiKeyRole.position)
    )
    rows = cast(Iterable[_Row], selected.tuples())
    records: dict[str, ApiKeyRecord] = {}
    for key_id, name, sealed, created_by, created_at, modified_at, expires_at, last_used_at, role, entries in rows:
        before = records[key_id].roles if key_id in records else ()
        role_record = () if role is None else (RoleRecord(role, entries),)
        records[key_id] = ApiKeyRecord(
            key_id,
            name,
            bytes(sealed),
            created_by,
            created_at,
            modified_at,
            expires_at,
            last_used_at,
            roles=(*before, *role_record),
        )
    return list(records.values())
