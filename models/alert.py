"""Alerts: what their authors decide, and what evaluation knows of them. Neither SQL nor rights are known here."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from peewee import CompositeKey, FloatField, IntegerField, IntegrityError, SmallIntegerField, TextField
from playhouse.postgres_ext import DateTimeTZField, JSONField
from psycopg.errors import UniqueViolation

from errors import AlertNotFound, InvalidRequest, TitleTaken
from models import authored
from models.authored import Authored, Origin, origin_of
from models.base import Table, connection, database


class State(StrEnum):
    NOT_TRIGGERED = "not-triggered"
    TRIGGERED = "triggered"
    DISABLED = "disabled"


class AlertRow(Authored):
    title = TextField()
    query = TextField()
    query_type = TextField()
    dataset = TextField()
    severity = TextField()
    operator = TextField()
    threshold = FloatField()
    window_seconds = IntegerField()
    frequency_seconds = IntegerField()
    notify_seconds = IntegerField()
    tags = JSONField()
    extra = JSONField()
    state = TextField()
    disabled_reason = TextField(null=True)
    muted_until = DateTimeTZField(null=True)
    last_value = FloatField(null=True)
    last_error = TextField(null=True)
    last_evaluated_at = DateTimeTZField(null=True)
    last_triggered_at = DateTimeTZField(null=True)
    last_notified_at = DateTimeTZField(null=True)
    next_run_at = DateTimeTZField(null=True)
    lease = TextField(null=True)
    leased_until = DateTimeTZField(null=True)

    class Meta:
        table_name = "alert"


class AlertTarget(Table):
    alert_id = TextField()
    position = SmallIntegerField()
    tenant_id = TextField()
    target_id = TextField()

    class Meta:
        primary_key = CompositeKey("alert_id", "target_id")


@dataclass(frozen=True, slots=True)
class Content:
    """What its author decides. `targets` are ids; `extra` are members that only clients know."""

    title: str
    query: str
    query_type: str
    dataset: str
    severity: str
    operator: str
    threshold: float
    window_seconds: int
    frequency_seconds: int
    notify_seconds: int
    tags: Sequence[str]
    extra: Mapping[str, object]
    targets: Sequence[str]


@dataclass(frozen=True, slots=True)
class Status:
    """What evaluation knows. `next_run_at`: up to when the next evaluation looks; None exactly while disabled."""

    state: State = State.NOT_TRIGGERED
    disabled_reason: str | None = None
    muted_until: datetime | None = None
    last_value: float | None = None
    last_error: str | None = None
    last_evaluated_at: datetime | None = None
    last_triggered_at: datetime | None = None
    last_notified_at: datetime | None = None
    next_run_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Alert:
    origin: Origin
    content: Content
    status: Status


def create(origin: Origin, content: Content, next_run_at: datetime) -> None:
    """Raises TitleTaken, and InvalidRequest for an unknown target."""
    with _sound(content), connection(), database.atomic():
        authored.insert(AlertRow, origin, _values(content) | {"state": State.NOT_TRIGGERED, "next_run_at": next_run_at})
        _link(origin, content.targets)


@connection()
def get(tenant: str, alert_id: str) -> Alert:
    """Raises AlertNotFound."""
    alerts = _alerts(AlertRow.tenant_id == tenant, AlertRow.id == alert_id)
    if not alerts:
        raise AlertNotFound(f"no alert {alert_id}")
    return alerts[0]


@connection()
def list_all(tenant: str) -> list[Alert]:
    """The tenant's alerts, by title."""
    return _alerts(AlertRow.tenant_id == tenant)


@connection()
def find(alert_ids: Sequence[str]) -> list[Alert]:
    """Those of the alerts that exist, of whatever tenant, the longest due first."""
    return sorted(_alerts(AlertRow.id.in_(list(alert_ids))), key=lambda alert: str(alert.status.next_run_at))


def replace(origin: Origin, content: Content, at: datetime, next_run_at: datetime | None) -> None:
    """`next_run_at` None: it stays disabled. Raises TitleTaken, ChangedMeanwhile, InvalidRequest.

    An evaluation under way loses its claim, because its result is of the old content.
    """
    values = _values(content) | {"next_run_at": next_run_at, "lease": None, "leased_until": None}
    with _sound(content), connection(), database.atomic():
        authored.update(AlertRow, origin, at, values)
        AlertTarget.delete().where(AlertTarget.alert_id == origin.id).execute()
        _link(origin, content.targets)


@connection()
def delete(origin: Origin) -> None:
    """Raises ChangedMeanwhile."""
    authored.delete(AlertRow, origin)


@connection()
def set_status(origin: Origin, status: Status, claim_id: str | None = None) -> bool:
    """Store the status of an alert, except its muting, and end its claim; return whether it was stored.

    With `claim_id`, only if the alert still has this claim: a late evaluation must not undo what a person did.
    """
    values = {name: getattr(status, name) for name in Status.__dataclass_fields__ if name != "muted_until"}
    still_so = (AlertRow.id == origin.id) & (AlertRow.tenant_id == origin.tenant)
    if claim_id is not None:
        still_so &= AlertRow.lease == claim_id
    return bool(AlertRow.update(lease=None, leased_until=None, **values).where(still_so).execute())


@dataclass(frozen=True, slots=True)
class Evaluated:
    """The status after an evaluation under a claim that changed no state."""

    alert_id: str
    claim_id: str
    status: Status


@connection()
def set_evaluated(found: Sequence[Evaluated]) -> None:
    """As set_status of each with its claim, in one statement. The state and what goes with it stay as they are."""
    statuses = [each.status for each in found]
    database.execute_sql(
        "UPDATE alert SET lease = NULL, leased_until = NULL, last_value = now.value, last_error = now.error,"
        " last_evaluated_at = now.at, next_run_at = now.next FROM unnest(%s::text[], %s::text[], %s::float8[],"
        " %s::text[], %s::timestamptz[], %s::timestamptz[]) AS now (id, lease, value, error, at, next)"
        " WHERE alert.id = now.id AND alert.lease = now.lease",
        (
            [each.alert_id for each in found],
            [each.claim_id for each in found],
            # An array is of one type, and a result has integers and floats.
            [None if each.last_value is None else float(each.last_value) for each in statuses],
            [each.last_error for each in statuses],
            [each.last_evaluated_at for each in statuses],
            [each.next_run_at for each in statuses],
        ),
    )


@connection()
def release(alert_ids: Sequence[str], claim_id: str) -> None:
    """Give alerts back that were not evaluated: whoever claims next gets them."""
    database.execute_sql(
        "UPDATE alert SET lease = NULL, leased_until = NULL WHERE id = ANY(%s) AND lease = %s",
        (list(alert_ids), claim_id),
    )


@connection()
def release_all(holder: str) -> None:
    """Give back what claims hold whose ids begin so: their process has ended."""
    database.execute_sql(
        "UPDATE alert SET lease = NULL, leased_until = NULL WHERE starts_with(lease, %s)",
        (holder,),
    )


@connection()
def set_muting(origin: Origin, until: datetime | None) -> None:
    """Beside the rest of the status, which an evaluation under way may be about to change."""
    AlertRow.update(muted_until=until).where(AlertRow.id == origin.id, AlertRow.tenant_id == origin.tenant).execute()


@connection()
def hasten(origin: Origin, due_at: datetime) -> bool:
    """Let it be evaluated up to `due_at` next; whether it is, as disabled ones never are.

    An evaluation under way loses its lease: it looks up to an earlier moment, and would put the next one off.
    """
    is_enabled = AlertRow.next_run_at.is_null(False) & (AlertRow.tenant_id == origin.tenant)
    due = AlertRow.update(next_run_at=due_at, lease=None, leased_until=None)
    return bool(due.where(AlertRow.id == origin.id, is_enabled).execute())


@connection()
def claim(claim_id: str, now: datetime, due_before: datetime, leased_until: datetime, limit: int) -> list[Alert]:
    """Take alerts whose `next_run_at` is not after `due_before`, the longest due first.

    No process of any host gets them again until the claim ends.
    """
    cursor = database.execute_sql(
        "UPDATE alert SET lease = %s, leased_until = %s WHERE id IN ("
        " SELECT id FROM alert WHERE next_run_at <= %s AND (leased_until IS NULL OR leased_until <= %s)"
        " ORDER BY next_run_at LIMIT %s FOR UPDATE SKIP LOCKED) RETURNING id",
        (claim_id, leased_until, due_before, now, limit),
    )
    ids = [alert_id for (alert_id,) in cursor.fetchall()]
    return find(ids) if ids else []


@connection()
def postpone(origin: Origin, claim_id: str, until: datetime) -> None:
    """Give an alert back for another attempt, by anybody, at `until`."""
    is_claimed = (AlertRow.id == origin.id) & (AlertRow.lease == claim_id)
    AlertRow.update(lease=None, leased_until=until).where(is_claimed).execute()


def _link(origin: Origin, targets: Sequence[str]) -> None:
    rows = [
        {"alert_id": origin.id, "position": position, "tenant_id": origin.tenant, "target_id": target}
        for position, target in enumerate(targets)
    ]
    if rows:
        AlertTarget.insert_many(rows).execute()


@contextmanager
def _sound(content: Content) -> Iterator[None]:
    try:
        yield
    except IntegrityError as error:
        if isinstance(error.__context__, UniqueViolation):
            message = f"an alert with the title {content.title!r} exists already"
            raise TitleTaken(message, field="title") from error
        raise InvalidRequest("a target of the alert does not exist", field="targets") from error


def _values(content: Content) -> dict[str, object]:
    decided = {name: getattr(content, name) for name in Content.__dataclass_fields__ if name != "targets"}
    return decided | {"tags": list(content.tags), "extra": dict(content.extra)}


def _alerts(*conditions: object) -> list[Alert]:
    rows = list(AlertRow.select().where(*conditions).order_by(AlertRow.title))
    links = AlertTarget.select().where(AlertTarget.alert_id.in_([row.id for row in rows]))
    targets: dict[str, list[str]] = {row.id: [] for row in rows}
    for link in links.order_by(AlertTarget.position) if rows else ():
        targets[link.alert_id].append(link.target_id)
    return [_alert(row, targets[row.id]) for row in rows]


def _alert(row: AlertRow, targets: Sequence[str]) -> Alert:
    content = {name: getattr(row, name) for name in Content.__dataclass_fields__ if name != "targets"}
    status = {name: getattr(row, name) for name in Status.__dataclass_fields__}
    return Alert(
        origin_of(row),
        Content(**content, targets=tuple(targets)),
        Status(**status | {"state": State(row.state)}),
    )
