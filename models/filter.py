"""Filters: named queries over one dataset, kept for everybody who may read it."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime

from peewee import IntegrityError, TextField
from playhouse.postgres_ext import JSONField

from errors import FilterNotFound, TitleTaken
from models import authored
from models.authored import Authored, Origin, origin_of
from models.base import connection


class FilterRow(Authored):
    dataset = TextField()
    name = TextField()
    query = JSONField()
    time_filter = JSONField(null=True)
    tags = JSONField()

    class Meta:
        table_name = "filter"


@dataclass(frozen=True, slots=True)
class Content:
    """What its author decides; `query` and `time_filter` as on the wire (schemas/filters.py)."""

    dataset: str
    name: str
    query: Mapping[str, object]
    time_filter: Mapping[str, object] | None
    tags: Sequence[str]


@dataclass(frozen=True, slots=True)
class Filter:
    origin: Origin
    content: Content


def create(origin: Origin, content: Content) -> None:
    """Raises TitleTaken."""
    with _unique(content), connection():
        authored.insert(FilterRow, origin, _values(content))


@connection()
def get(tenant: str, filter_id: str) -> Filter:
    """Raises FilterNotFound."""
    row = FilterRow.get_or_none(FilterRow.tenant_id == tenant, FilterRow.id == filter_id)
    if row is None:
        raise FilterNotFound(f"no filter {filter_id}")
    return _filter(row)


@connection()
def list_all(tenant: str) -> list[Filter]:
    """The tenant's filters, by name."""
    rows = FilterRow.select().where(FilterRow.tenant_id == tenant).order_by(FilterRow.name, FilterRow.id)
    return [_filter(row) for row in rows]


def replace(origin: Origin, content: Content, at: datetime) -> None:
    """Raises TitleTaken, ChangedMeanwhile."""
    with _unique(content), connection():
        authored.update(FilterRow, origin, at, _values(content))


@connection()
def delete(origin: Origin) -> None:
    """Raises ChangedMeanwhile."""
    authored.delete(FilterRow, origin)


@contextmanager
def _unique(content: Content) -> Iterator[None]:
    try:
        yield
    except IntegrityError as error:
        message = f"a filter {content.name!r} on dataset {content.dataset} exists already"
        raise TitleTaken(message, field="filter_name") from error


def _values(content: Content) -> dict[str, object]:
    return {
        "dataset": content.dataset,
        "name": content.name,
        "query": dict(content.query),
        "time_filter": None if content.time_filter is None else dict(content.time_filter),
        "tags": list(content.tags),
    }


def _filter(row: FilterRow) -> Filter:
    return Filter(origin_of(row), Content(row.dataset, row.name, row.query, row.time_filter, row.tags))
