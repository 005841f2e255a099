"""Alerts: create, list, read, change, delete, switch off and on, mute; their history (docs/alerts.md)."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any, Final, cast

from flask import Blueprint, Response, request

from alerting import schedule
from blueprints.alert_responses import INDEFINITE, SECONDS_PER_MINUTE, as_object, delivery_object, event_object, summary
from errors import AlertNotFound, Conflict, InvalidPromQL, InvalidRequest, InvalidTimeRange
from models import alert, alert_event, delivery, target
from models.alert import Alert, Content, State
from models.alert_event import Event
from models.authored import Origin
from query import timerange
from schemas.alerts import PROMQL, AlertListSchema, AlertSchema, LogSchema, MutingSchema
from schemas.reading import load
from web.authentication import protect
from web.authoring import Kind, all_tags, asked_tags, checked, now, require_authoring
from web.caller import caller
from web.client_connection import client_disconnected
from web.json_bodies import json_body, json_response
from web.questions import asked_by_caller
from web.services import services

SHORTEST_WINDOW_SECONDS: Final = 60
LONGEST_WINDOW_SECONDS: Final = 31 * 86_400
STATES: Final = (State.TRIGGERED, State.NOT_TRIGGERED, State.DISABLED)
SEVERITIES: Final = ("critical", "high", "medium", "low")

blueprint = protect(Blueprint("alerts", __name__, url_prefix="/api/v1/alerts"))


@blueprint.get("")
def list_all() -> Response:
    """Summaries: triggered ones first, then by severity and title. Unknown parameters are members to match."""
    asked = cast(Mapping[str, Any], load(AlertListSchema(), request.args))
    wanted = asked_tags(asked["tags"])
    members = {name: value for name, value in request.args.items() if name not in AlertListSchema().fields}
    shown = [each for each in kind.all_visible() if _matches(each, wanted, members)]
    shown.sort(key=_rank)
    return json_response([summary(each, now()) for each in shown[asked["offset"] :][: asked["limit"]]])


@blueprint.get("/list_tags")
def tags() -> Response:
    return json_response(all_tags(each.content.tags for each in kind.all_visible()))


@blueprint.patch("/<alert_id>/disable")
def disable(alert_id: str) -> Response:
    stored_alert = kind.changeable(alert_id)
    if stored_alert.status.state is not State.DISABLED:
        reason = f"disabled by {caller().name}"
        alert.set_status(
            stored_alert.origin,
            replace(stored_alert.status, state=State.DISABLED, disabled_reason=reason, next_run_at=None),
        )
        alert_event.record(alert_id, Event(now(), alert_event.Kind.DISABLED, detail=reason))
    return kind.respond(alert_id)


@blueprint.patch("/<alert_id>/enable")
def enable(alert_id: str) -> Response:
    """Only with the rights that its evaluations will need; otherwise it would be disabled again at once."""
    stored_alert = kind.changeable(alert_id)
    if stored_alert.status.state is State.DISABLED:
        upcoming = schedule.following(alert_id, stored_alert.content.frequency_seconds, at := now())
        alert.set_status(
            stored_alert.origin,
            replace(stored_alert.status, state=State.NOT_TRIGGERED, disabled_reason=None, next_run_at=upcoming),
        )
        alert_event.record(alert_id, Event(at, alert_event.Kind.ENABLED, detail=f"enabled by {caller().name}"))
    return kind.respond(alert_id)


@blueprint.put("/<alert_id>/evaluate_alert")
def evaluate(alert_id: str) -> Response:
    """Have it evaluated by the alerting process, over the window that ends now."""
    stored_alert = kind.changeable(alert_id)
    if not alert.hasten(stored_alert.origin, schedule.upcoming_second(now())):
        raise Conflict("a disabled alert is not evaluated: enable it first")
    return kind.respond(alert_id)


@blueprint.patch("/<alert_id>/update_notification_state")
def mute(alert_id: str) -> Response:
    """While muted, an alert is evaluated and notifies nobody."""
    stored_alert = kind.changeable(alert_id)
    asked = load(MutingSchema(), json_body())
    alert.set_muting(stored_alert.origin, _muted_until(cast(str, asked["state"])))
    return kind.respond(alert_id)


@blueprint.get("/<alert_id>/history")
def history(alert_id: str) -> Response:
    """Changes of state, the newest first."""
    kind.visible(alert_id)
    limit = cast(int, load(LogSchema(), request.args)["limit"])
    return json_response([event_object(each) for each in alert_event.latest(alert_id, limit)])


@blueprint.get("/<alert_id>/deliveries")
def deliveries(alert_id: str) -> Response:
    """The delivery log, the newest first."""
    kind.visible(alert_id)
    limit = cast(int, load(LogSchema(), request.args)["limit"])
    return json_response([delivery_object(each) for each in delivery.log(alert_id, limit)])


def _store(origin: Origin, content: Content) -> None:
    alert.create(origin, content, schedule.following(origin.id, content.frequency_seconds, origin.created_at))


def _replace(stored_alert: Alert, content: Content, at: datetime) -> None:
    """Its state stays until the next evaluation."""
    upcoming = schedule.following(stored_alert.origin.id, content.frequency_seconds, at)
    alert.replace(stored_alert.origin, content, at, None if stored_alert.status.state is State.DISABLED else upcoming)


def _content(body: object) -> Content:
    """What a body asks for, when the caller may author over the one dataset that the query reads."""
    members = cast(Mapping[str, Any], load(AlertSchema(), body))
    dataset = _dataset_of_promql(members) if members["query_type"] == PROMQL else _dataset(members["query"])
    targets = list(dict.fromkeys(members["targets"]))
    target.require(caller().tenant, targets)
    window = members["evaluation"]["window"]
    return Content(
        title=members["title"],
        query=members["query"],
        query_type=members["query_type"],
        dataset=dataset,
        severity=members["severity"],
        operator=members["threshold"]["operator"],
        threshold=members["threshold"]["value"],
        window_seconds=_window_seconds(window["start"]),
        frequency_seconds=window["frequency"] * SECONDS_PER_MINUTE,
        notify_seconds=members["notification"]["interval"] * SECONDS_PER_MINUTE,
        tags=members["tags"] or [],
        extra=members["extra"],
        targets=targets,
    )


def _dataset(sql: str) -> str:
    """The one dataset of the query. Raises Forbidden, DatasetNotFound, InvalidRequest, InvalidSQL, UnsupportedSQL."""
    (statement,) = checked(("query", sql))
    require_authoring(statement.datasets)
    if statement.explain or len(statement.datasets) != 1:
        named = ", ".join(statement.datasets) or "none"
        raise InvalidRequest(f"an alert is a query over exactly one dataset; this one reads {named}", field="query")
    services().storage.find(caller().tenant, statement.datasets[0])
    return statement.datasets[0]


def _dataset_of_promql(members: Mapping[str, Any]) -> str:
    """The dataset that a PromQL alert names. Raises Forbidden, DatasetNotFound, InvalidRequest, InvalidPromQL."""
    named = members["datasets"]
    if len(named) != 1:
        raise InvalidRequest("a PromQL alert names its one dataset in `datasets`", field="datasets")
    require_authoring(named)
    services().storage.find(caller().tenant, named[0])
    try:
        services().queries.metrics.describe(
            asked_by_caller(members["query"]), "tree", client_disconnected(request)
        ).close()
    except InvalidPromQL as error:
        raise InvalidPromQL(error.message, field="query") from error
    return str(named[0])


def _window_seconds(length: str) -> int:
    """Whole seconds of a duration as the query endpoint reads it. Raises InvalidTimeRange."""
    field = "evalConfig.rollingWindow.evalStart"
    try:
        start_ns = timerange.parse(f"now-{length}", None, now_ns=0).start_ns
    except InvalidTimeRange as error:
        raise InvalidTimeRange(f"`{field}`: a duration such as 10m or 1h 30m", field=field) from error
    seconds = -(start_ns or 0) // timerange.NS_PER_SECOND
    if not SHORTEST_WINDOW_SECONDS <= seconds <= LONGEST_WINDOW_SECONDS:
        raise InvalidTimeRange(f"`{field}`: between 1 minute and 31 days", field=field)
    return seconds


def _muted_until(state: str) -> datetime | None:
    if state == "notify":
        return None
    if state == "indefinite":
        return INDEFINITE
    now_ns = int(now().timestamp()) * timerange.NS_PER_SECOND
    try:
        # A duration as an end would count from now backwards; who mutes means forwards.
        spelled = state if state[:4].isdigit() and "-" in state else f"now+{state}"
        until_ns = timerange.parse(None, spelled, now_ns=now_ns).end_ns or 0
    except InvalidTimeRange as error:
        raise InvalidTimeRange(
            "`state`: notify, indefinite, a duration, or a time (RFC 3339)", field="state"
        ) from error
    if until_ns <= now_ns:
        raise InvalidTimeRange("`state`: this is in the past", field="state")
    return datetime.fromtimestamp(until_ns // timerange.NS_PER_SECOND, UTC)


def _matches(found: Alert, wanted: frozenset[str], members: Mapping[str, str]) -> bool:
    has_tag = not wanted or bool(wanted.intersection(found.content.tags))
    return has_tag and all(str(found.content.extra.get(name)) == value for name, value in members.items())


def _rank(found: Alert) -> tuple[int, int, str]:
    return STATES.index(found.status.state), SEVERITIES.index(found.content.severity), found.content.title


kind = Kind(
    noun="alert",
    missing=AlertNotFound,
    read=lambda _: _content(json_body()),
    read_change=lambda _: _content(json_body()),
    show=lambda found: as_object(found, now()),
    deleted_response=lambda found: f"Deleted alert with ID- {found.origin.id}",
    datasets=lambda found: [found.content.dataset],
    tells_of_rows=True,
    create=_store,
    get=alert.get,
    list_all=alert.list_all,
    replace=_replace,
    delete=alert.delete,
)
kind.serve(blueprint)
