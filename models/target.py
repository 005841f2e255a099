"""Targets: where alerts are delivered to. Which kinds there are, and what is sealed, is not known here."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime

from peewee import BlobField, IntegrityError, TextField

from errors import InvalidRequest, TargetInUse, TargetNotFound, TitleTaken
from models import authored
from models.authored import Authored, Origin, origin_of
from models.base import connection, database


class TargetRow(Authored):
    name = TextField()
    kind = TextField()
    sealed = BlobField()

    class Meta:
        table_name = "target"


@dataclass(frozen=True, slots=True)
class Content:
    """`kind`: one of alerting.registry. `sealed`: the address and everything secret, as alerting.sealing reads it."""

    name: str
    kind: str
    sealed: bytes


@dataclass(frozen=True, slots=True)
class Target:
    origin: Origin
    content: Content


def create(origin: Origin, content: Content) -> None:
    """Raises TitleTaken."""
    with _unique(content), connection():
        authored.insert(TargetRow, origin, _values(content))


@connection()
def get(tenant: str, target_id: str) -> Target:
    """Raises TargetNotFound."""
    row = TargetRow.get_or_none(TargetRow.tenant_id == tenant, TargetRow.id == target_id)
    if row is None:
        raise TargetNotFound(f"no target {target_id}")
    return _target(row)


@connection()
def find(target_id: str) -> Target:
    """The target, of whatever tenant. Raises TargetNotFound."""
    row = TargetRow.get_or_none(TargetRow.id == target_id)
    if row is None:
        raise TargetNotFound(f"no target {target_id}")
    return _target(row)


@connection()
def list_all(tenant: str) -> list[Target]:
    """The tenant's targets, by name."""
    rows = TargetRow.select().where(TargetRow.tenant_id == tenant).order_by(TargetRow.name)
    return [_target(row) for row in rows]


@connection()
def require(tenant: str, target_ids: Iterable[str]) -> None:
    """Raises InvalidRequest, naming those of the ids that are no targets of the tenant."""
    wanted = set(target_ids)
    found = TargetRow.select(TargetRow.id).where(TargetRow.tenant_id == tenant, TargetRow.id.in_(list(wanted)))
    missing = sorted(wanted - {row.id for row in found})
    if missing:
        raise InvalidRequest(f"no such target: {', '.join(missing)}", field="targets")


def replace(origin: Origin, content: Content, at: datetime) -> None:
    """Raises TitleTaken, ChangedMeanwhile."""
    with _unique(content), connection():
        authored.update(TargetRow, origin, at, _values(content))


def delete(origin: Origin) -> None:
    """Raises TargetInUse while an alert names it, ChangedMeanwhile."""
    try:
        with connection(), database.atomic():
            authored.delete(TargetRow, origin)
    except IntegrityError as error:
        raise TargetInUse("an alert is delivered to this target: change the alert first") from error


@contextmanager
def _unique(content: Content) -> Iterator[None]:
    try:
        yield
    except IntegrityError as error:
        raise TitleTaken(f"a target {content.name!r} exists already", field="name") from error


def _values(content: Content) -> dict[str, object]:
    return {"name": content.name, "kind": content.kind, "sealed": content.sealed}


def _target(row: TargetRow) -> Target:
    return Target(origin_of(row), Content(row.name, row.kind, bytes(row.sealed)))
