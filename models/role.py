"""Roles: named lists of privilege entries, kept as they were sent. What an entry means is auth's business."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from peewee import CompositeKey, IntegrityError, TextField
from playhouse.postgres_ext import JSONField

from errors import RoleInUse, RoleNotFound, UnknownRole
from models.base import Table, connection
from models.generation import changing

RawEntries: TypeAlias = Sequence[Mapping[str, object]]


class Role(Table):
    tenant_id = TextField()
    name = TextField()
    entries = JSONField()

    class Meta:
        primary_key = CompositeKey("tenant_id", "name")


@dataclass(frozen=True, slots=True)
class RoleRecord:
    name: str
    entries: RawEntries


def put(tenant: str, name: str, entries: RawEntries) -> None:
    """Create the role or replace its entries."""
    with changing():
        (
            Role.insert(tenant_id=tenant, name=name, entries=list(entries))
            .on_conflict(conflict_target=[Role.tenant_id, Role.name], preserve=[Role.entries])
            .execute()
        )


@connection()
def get(tenant: str, name: str) -> RoleRecord:
    """Raises RoleNotFound."""
    roles = Role.get_or_none(Role.tenant_id == tenant, Role.name == name)
    if roles is None:
        raise RoleNotFound(f"role {name} does not exist")
    return RoleRecord(roles.name, roles.entries)


@connection()
def list_all(tenant: str) -> list[RoleRecord]:
    """The tenant's roles, by name."""
    found = Role.select().where(Role.tenant_id == tenant).order_by(Role.name)
    return [RoleRecord(each.name, each.entries) for each in found]


@connection()
def named(tenant: str, names: Iterable[str]) -> list[RoleRecord]:
    """Those of the names that are roles of the tenant, by name."""
    found = Role.select().where(Role.tenant_id == tenant, Role.name.in_(list(names))).order_by(Role.name)
    return [RoleRecord(each.name, each.entries) for each in found]


def delete(tenant: str, name: str) -> None:
    """Raises RoleNotFound, and RoleInUse while a user or an API key holds it."""
    try:
        with changing():
            if not Role.delete().where(Role.tenant_id == tenant, Role.name == name).execute():
                raise RoleNotFound(f"role {name} does not exist")
    except IntegrityError as error:
        raise RoleInUse(f"role {name} is assigned to a user or an API key") from error


def require(tenant: str, names: Iterable[str]) -> None:
    """Raises UnknownRole, naming those of the names that are no roles of the tenant."""
    wanted = list(names)
    missing = sorted(set(wanted) - {each.name for each in named(tenant, wanted)})
    if missing:
        raise UnknownRole(f"no such role: {', '.join(missing)}", field="roles")
