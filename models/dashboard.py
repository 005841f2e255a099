"""Dashboards: titled lists of tiles, each with its SQL. What SQL means is not known here."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import TypeAlias

from peewee import BooleanField, IntegrityError, TextField
from playhouse.postgres_ext import JSONField

from errors import DashboardNotFound, TitleTaken
from models import authored
from models.authored import Authored, Origin, origin_of
from models.base import connection

Tile: TypeAlias = Mapping[str, object]


class DashboardRow(Authored):
    title = TextField()
    kind = TextField()
    is_favorite = BooleanField()
    tags = JSONField()
    tiles = JSONField()
    datasets = JSONField()
    extra = JSONField()

    class Meta:
        table_name = "dashboard"


@dataclass(frozen=True, slots=True)
class Content:
    """What its author decides. `datasets` are all that the tiles read; `extra` are members that only clients know."""

    title: str
    kind: str
    is_favorite: bool
    tags: Sequence[str]
    tiles: Sequence[Tile]
    datasets: Sequence[str]
    extra: Mapping[str, object]


@dataclass(frozen=True, slots=True)
class Dashboard:
    origin: Origin
    content: Content


def create(origin: Origin, content: Content) -> None:
    """Raises TitleTaken."""
    with _unique(content), connection():
        authored.insert(DashboardRow, origin, _values(content))


@connection()
def get(tenant: str, dashboard_id: str) -> Dashboard:
    """Raises DashboardNotFound."""
    row = DashboardRow.get_or_none(DashboardRow.tenant_id == tenant, DashboardRow.id == dashboard_id)
    if row is None:
        raise DashboardNotFound(f"no dashboard {dashboard_id}")
    return _dashboard(row)


@connection()
def list_all(tenant: str) -> list[Dashboard]:
    """The tenant's dashboards, the last modified first."""
    rows = DashboardRow.select().where(DashboardRow.tenant_id == tenant)
    return [_dashboard(row) for row in rows.order_by(DashboardRow.modified_at.desc(), DashboardRow.id.desc())]


def replace(origin: Origin, content: Content, at: datetime) -> None:
    """Raises TitleTaken, ChangedMeanwhile."""
    with _unique(content), connection():
        authored.update(DashboardRow, origin, at, _values(content))


@connection()
def delete(origin: Origin) -> None:
    """Raises ChangedMeanwhile."""
    authored.delete(DashboardRow, origin)


@contextmanager
def _unique(content: Content) -> Iterator[None]:
    try:
        yield
    except IntegrityError as error:
        raise TitleTaken(f"a dashboard with the title {content.title!r} exists already", field="title") from error


def _values(content: Content) -> dict[str, object]:
    return {
        "title": content.title,
        "kind": content.kind,
        "is_favorite": content.is_favorite,
        "tags": list(content.tags),
        "tiles": list(content.tiles),
        "datasets": list(content.datasets),
        "extra": dict(content.extra),
    }


def _dashboard(row: DashboardRow) -> Dashboard:
    content = Content(row.title, row.kind, row.is_favorite, row.tags, row.tiles, row.datasets, row.extra)
    return Dashboard(origin_of(row), content)
