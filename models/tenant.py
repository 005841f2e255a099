"""Tenants: the scope of every identity, role, key name and dataset. A single-tenant server has one, `default`."""

from dataclasses import dataclass
from datetime import datetime
from typing import Final

from peewee import IntegrityError, TextField
from playhouse.postgres_ext import DateTimeTZField

from errors import TenantExists, TenantNotFound, UnknownRole
from models.base import Table, connection, database
from models.generation import changing

DEFAULT: Final = "default"


class Tenant(Table):
    id = TextField(primary_key=True)
    created_at = DateTimeTZField()


class DefaultRole(Table):
    tenant_id = TextField(primary_key=True)
    role_name = TextField()


@dataclass(frozen=True, slots=True)
class TenantRecord:
    id: str
    created_at: datetime


def create(tenant: str, created_at: datetime) -> None:
    """Raises TenantExists."""
    try:
        with changing():
            Tenant.insert(id=tenant, created_at=created_at).execute()
    except IntegrityError as error:
        raise TenantExists(f"tenant {tenant} exists already") from error


@connection()
def list_all() -> list[TenantRecord]:
    """All tenants, by id."""
    return [TenantRecord(each.id, each.created_at) for each in Tenant.select().order_by(Tenant.id)]


@connection()
def get(tenant: str) -> TenantRecord:
    """Raises TenantNotFound."""
    row = Tenant.get_or_none(Tenant.id == tenant)
    if row is None:
        raise TenantNotFound(f"tenant {tenant} does not exist")
    return TenantRecord(row.id, row.created_at)


def delete(tenant: str) -> None:
    """The tenant with its users, roles and keys. Raises TenantNotFound."""
    with changing():
        # Before the roles that they hold, which are deleted by cascade.
        for holders in ("api_key", "user"):
            database.execute_sql(f'DELETE FROM "{holders}" WHERE tenant_id = %s', (tenant,))
        if not Tenant.delete().where(Tenant.id == tenant).execute():
            raise TenantNotFound(f"tenant {tenant} does not exist")


@connection()
def default_role(tenant: str) -> str | None:
    """The role of OIDC users whose groups name no role."""
    return DefaultRole.select(DefaultRole.role_name).where(DefaultRole.tenant_id == tenant).scalar()


def set_default_role(tenant: str, role: str | None) -> None:
    """Raises UnknownRole."""
    try:
        with changing():
            DefaultRole.delete().where(DefaultRole.tenant_id == tenant).execute()
            if role is not None:
                DefaultRole.insert(tenant_id=tenant, role_name=role).execute()
    except IntegrityError as error:
        raise UnknownRole(f"role {role} does not exist", field="default") from error
