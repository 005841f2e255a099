"""What dashboards, filters, targets and alerts have in common: who wrote them, when, and which revision this is."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from peewee import BigIntegerField, TextField
from playhouse.postgres_ext import DateTimeTZField
from ulid import ULID

from errors import ChangedMeanwhile
from models.base import Table

FIRST_REVISION: Final = 1


@dataclass(frozen=True, slots=True)
class Author:
    """An identity by kind and id, as auth.identity has them; `name` is what it was called when it wrote."""

    kind: str
    id: str
    name: str


@dataclass(frozen=True, slots=True)
class Origin:
    """`revision` is 1 for a fresh object and one more after every change."""

    id: str
    tenant: str
    author: Author
    created_at: datetime
    modified_at: datetime
    revision: int


class Authored(Table):
    """The columns behind an Origin."""

    id = TextField(primary_key=True)
    tenant_id = TextField()
    author_kind = TextField()
    author_id = TextField()
    author_name = TextField()
    created_at = DateTimeTZField()
    modified_at = DateTimeTZField()
    revision = BigIntegerField()


def fresh(tenant: str, author: Author, at: datetime) -> Origin:
    """The origin of an object that is about to be created, with an id of its own."""
    return Origin(str(ULID()), tenant, author, at, at, FIRST_REVISION)


def origin_of(row: Authored) -> Origin:
    return Origin(
        row.id,
        row.tenant_id,
        Author(row.author_kind, row.author_id, row.author_name),
        row.created_at,
        row.modified_at,
        row.revision,
    )


def insert(table: type[Authored], origin: Origin, values: Mapping[str, object]) -> None:
    """Raises peewee.IntegrityError where a constraint forbids it. Needs a connection."""
    table.insert(
        id=origin.id,
        tenant_id=origin.tenant,
        author_kind=origin.author.kind,
        author_id=origin.author.id,
        author_name=origin.author.name,
        created_at=origin.created_at,
        modified_at=origin.modified_at,
        revision=origin.revision,
        **values,
    ).execute()


def update(table: type[Authored], origin: Origin, at: datetime, values: Mapping[str, object]) -> None:
    """Change the object that was read as `origin`. Raises ChangedMeanwhile, also for one that is gone by now."""
    changed = (
        table.update(modified_at=at, revision=table.revision + 1, **values)
        .where(table.id == origin.id, table.tenant_id == origin.tenant, table.revision == origin.revision)
        .execute()
    )
    if not changed:
        raise ChangedMeanwhile("somebody else has changed this since it was read: read it again")


def delete(table: type[Authored], origin: Origin) -> None:
    """Delete what was read as `origin`. Raises ChangedMeanwhile."""
    unchanged = (table.id == origin.id) & (table.revision == origin.revision)
    if not table.delete().where(unchanged, table.tenant_id == origin.tenant).execute():
        raise ChangedMeanwhile("somebody else has changed this since it was read: read it again")
