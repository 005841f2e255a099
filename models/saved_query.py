"""Saved queries: the SQL that somebody asked lately, and what of it they keep under a name. Seen by its owner alone."""

from dataclasses import dataclass
from datetime import datetime
from typing import Final

from peewee import IntegrityError, TextField
from playhouse.postgres_ext import DateTimeTZField
from ulid import ULID

from errors import SavedQueryNotFound, TitleTaken, TooManySavedQueries
from models.base import Table, connection

# Of each owner. A history is for the last days, and what is kept under a name is found by people.
MOST_ASKED: Final = 200
MOST_NAMED: Final = 1000


@dataclass(frozen=True, slots=True)
class Owner:
    """An identity: kind and id as auth.identity has them."""

    tenant: str
    kind: str
    id: str


@dataclass(frozen=True, slots=True)
class SavedQuery:
    """`name` None: of the history."""

    id: str
    name: str | None
    query: str
    asked_at: datetime


class SavedQueryRow(Table):
    id = TextField(primary_key=True)
    tenant_id = TextField()
    owner_kind = TextField()
    owner_id = TextField()
    name = TextField(null=True)
    query = TextField()
    asked_at = DateTimeTZField()

    class Meta:
        table_name = "saved_query"


@connection()
def list_all(owner: Owner) -> list[SavedQuery]:
    """The owner's, the latest first."""
    rows = SavedQueryRow.select().where(_owned_by(owner)).order_by(SavedQueryRow.asked_at.desc(), SavedQueryRow.id)
    return [_saved_query(row) for row in rows]


@connection()
def note(owner: Owner, query: str, at: datetime) -> SavedQuery:
    """Put the query on top of the history, which holds each text once and forgets the oldest."""
    unnamed = _owned_by(owner) & SavedQueryRow.name.is_null()
    SavedQueryRow.delete().where(unnamed, SavedQueryRow.query == query).execute()
    noted = _insert(owner, None, query, at)
    kept = (
        SavedQueryRow.select(SavedQueryRow.id)
        .where(unnamed)
        .order_by(SavedQueryRow.asked_at.desc(), SavedQueryRow.id.desc())
        .limit(MOST_ASKED)
    )
    SavedQueryRow.delete().where(unnamed, SavedQueryRow.id.not_in(kept)).execute()
    return noted


@connection()
def keep(owner: Owner, name: str, query: str, at: datetime) -> SavedQuery:
    """Keep the query under a name. Raises TitleTaken, TooManySavedQueries."""
    if SavedQueryRow.select().where(_owned_by(owner), SavedQueryRow.name.is_null(False)).count() >= MOST_NAMED:
        raise TooManySavedQueries(f"you have {MOST_NAMED} saved queries: delete one", limit=MOST_NAMED)
    try:
        return _insert(owner, name, query, at)
    except IntegrityError as error:
        raise TitleTaken(f"you have a saved query {name!r} already", field="name") from error


@connection()
def delete(owner: Owner, query_id: str) -> SavedQuery:
    """Raises SavedQueryNotFound, the same for another's and for none."""
    row = SavedQueryRow.get_or_none(_owned_by(owner), SavedQueryRow.id == query_id)
    if row is None:
        raise SavedQueryNotFound("you have no saved query with this id")
    SavedQueryRow.delete().where(SavedQueryRow.id == query_id).execute()
    return _saved_query(row)


def forget_owner(owner: Owner) -> None:
    """Delete all of an owner's, who is being deleted. Needs a connection."""
    SavedQueryRow.delete().where(_owned_by(owner)).execute()


def _owned_by(owner: Owner):  # type: ignore[no-untyped-def]  # Peewee's expressions have no types
    mine = (SavedQueryRow.owner_kind == owner.kind) & (SavedQueryRow.owner_id == owner.id)
    return mine & (SavedQueryRow.tenant_id == owner.tenant)


def _insert(owner: Owner, name: str | None, query: str, at: datetime) -> SavedQuery:
    made = SavedQuery(str(ULID()), name, query, at)
    SavedQueryRow.insert(
        id=made.id,
        tenant_id=owner.tenant,
        owner_kind=owner.kind,
        owner_id=owner.id,
        name=name,
        query=query,
        asked_at=at,
    ).execute()
    return made


def _saved_query(row: SavedQueryRow) -> SavedQuery:
    return SavedQuery(row.id, row.name, row.query, row.asked_at)
