"""Datasets: create, list, describe, retain, delete."""

from contextlib import closing
from datetime import date
from typing import Final, cast

import orjson
from flask import Blueprint, Response, jsonify, request

from auth.privileges import Action, may, require, require_all_rows, sees_all_rows
from columns import Field
from errors import InvalidHeader, InvalidRequest
from ingest.json import decoding
from models import column, dataset
from models.column import Column
from models.dataset import Dataset, Retention
from query.results.options import Options
from query.timerange import TimeRange
from schemas.dataset import (
    DEDUPLICATION_SECONDS,
    DeduplicationSchema,
    EventTimeSchema,
    RetentionSchema,
    StaticSchemaSchema,
    TextIndexSchema,
    declared_fields,
    dump_schema,
    rfc3339_of_ns,
)
from schemas.reading import load
from storage.read.dataset_stats import dataset_stats, day_stats
from web.audit import name_target, watch
from web.authentication import protect
from web.bodies import require_json_type
from web.caller import caller
from web.client_connection import client_disconnected
from web.ingestion import headers
from web.ingestion.headers import IngestHeaders
from web.json_bodies import json_body, json_body_or
from web.questions import asked_by_caller
from web.services import services
from web.sources import Sources
from web.times import rfc3339

blueprint = watch(protect(Blueprint("datasets", __name__, url_prefix="/api/v1/logstream")), "dataset")

TELEMETRY_OF_SOURCE: Final = {"otel-logs": "logs", "otel-metrics": "metrics", "otel-traces": "traces"}


@blueprint.get("")
def list_all() -> Response:
    """The datasets that the caller may see, by name."""
    require(caller(), Action.LIST)
    visible = [each for each in dataset.find_all(caller().tenant) if may(caller(), Action.LIST, each.name)]
    return jsonify([{"name": each.name} for each in visible])


@blueprint.put("/<name>")
def create(name: str) -> Response:
    """Create an empty dataset, as the `X-P-*` headers and, for a static schema, the body say. 409 if there is one."""
    require(caller(), Action.ADMINISTER, name)
    options = headers.read(request.environ)
    dataset.create(
        caller().tenant,
        headers.checked_dataset_name(name),
        time_column=options.time_partition or "p_timestamp",
        custom_partition=_custom_partition(options),
        static_schema=options.static_schema,
        telemetry_type=_telemetry_type(options),
        is_lookup=options.is_lookup,
        fields=_declared(options),
    )
    return jsonify({"dataset": name, "message": f"dataset {name} created"})


@blueprint.delete("/<name>")
def delete(name: str) -> Response:
    """Delete the dataset and its events; the name is free at once."""
    require(caller(), Action.ADMINISTER, name)
    services().storage.delete(caller().tenant, name)
    return jsonify({"dataset": name, "message": f"dataset {name} deleted"})


@blueprint.post("/schema/detect")
def detect() -> Response:
    """The schema that a dataset would get from a sample of events."""
    require(caller(), Action.READ_METADATA)
    require_json_type(request)
    with services().bodies.receive(request) as body:
        batch = decoding.decode(body, reserved=())
    named = ((f"{each.name}_{each.type}" if each.displaced else each.name, each.type) for each in batch.fields)
    return jsonify(dump_schema(named))


@blueprint.get("/<name>/schema")
def schema(name: str) -> Response:
    """The columns, in the order of `SELECT *`, with Arrow's type names; a narrowed reader's, those of its rows."""
    columns = column.schema(_readable(name).id).columns
    if not sees_all_rows(caller(), name):
        visible = _visible_columns(name)
        columns = tuple(each for each in columns if each.name in visible)
    return jsonify(dump_schema((each.name, each.type) for each in columns))


@blueprint.get("/<name>/columns")
def columns(name: str) -> Response:
    """The columns with their numbers and who sent them first: what there is to drop, and whose it is."""
    require(caller(), Action.ADMINISTER, name)
    found = column.schema(services().storage.find(caller().tenant, name).id).columns
    return jsonify([_as_column(each) for each in found])


@blueprint.delete("/<name>/columns/<column_id>")
def drop_column(name: str, column_id: str) -> Response:
    """Forget a column and its values; one of its name that comes again is another column."""
    require(caller(), Action.ADMINISTER, name)
    dropped = services().storage.drop_column(caller().tenant, name, column_id)
    name_target(f"{name}, {column_id}: {dropped.name}")
    return jsonify({"dataset": name, "message": f"column {column_id} of dataset {name} dropped"})


@blueprint.get("/<name>/stats")
def stats(name: str) -> Response:
    """Events and bytes, exactly: of all time, or of one day (`?date=YYYY-MM-DD`)."""
    target = _wholly_readable(name)
    unknown = set(request.args) - {"date"}
    if unknown:
        raise InvalidRequest(f"unknown parameter {min(unknown)!r}; there is `date`", field=min(unknown))
    return _day(target, request.args["date"]) if "date" in request.args else _account(target)


@blueprint.get("/<name>/info")
def info(name: str) -> Response:
    """What the dataset is and the times of its first and last event."""
    target = _wholly_readable(name)
    stats = dataset_stats(services().storage.layout, target)
    members = {
        "createdAt": rfc3339(target.created_at),
        "firstEventAt": rfc3339_of_ns(stats.first),
        "latestEventAt": rfc3339_of_ns(stats.last),
        "timePartition": None if target.time_column == "p_timestamp" else target.time_column,
        "customPartition": target.custom_partition,
        "datasetKind": "lookup" if target.is_lookup else None,
        "staticSchemaFlag": "true" if target.static_schema else None,
        "streamType": "UserDefined",
        "telemetryType": target.telemetry_type,
    }
    return jsonify({name: value for name, value in members.items() if value is not None})


@blueprint.get("/<name>/retention")
def get_retention(name: str) -> Response:
    """How long events are kept; an empty array: for ever."""
    kept = dataset.retention(_readable(name).id)
    tasks = [] if kept is None else [{"description": kept.description, "action": "delete", "days": kept.days}]
    return jsonify(RetentionSchema(many=True).dump(tasks))


@blueprint.put("/<name>/retention")
def set_retention(name: str) -> Response:
    """Keep events so long from now on. An empty array: for ever."""
    require(caller(), Action.ADMINISTER, name)
    tasks = json_body()
    if not isinstance(tasks, list) or len(tasks) > 1:
        raise InvalidRequest("a retention is an array of at most one task with the action `delete`")
    bodies = [load(RetentionSchema(), each) for each in tasks]
    target = services().storage.find(caller().tenant, name)
    if target.is_lookup and bodies:
        raise InvalidRequest(f"{name} is a lookup dataset: its rows have no time, so none of them is ever too old")
    retentions = [Retention(cast(int, each["days"]), cast(str, each["description"])) for each in bodies]
    dataset.set_retention(target.id, retentions[0] if retentions else None)
    return jsonify({"dataset": name, "message": f"retention of dataset {name} set"})


@blueprint.put("/<name>/event-time")
def set_event_time(name: str) -> Response:
    """Go by a field of the events from now on, for what is stored already too. It stays."""
    require(caller(), Action.ADMINISTER, name)
    field = cast(str, load(EventTimeSchema(), json_body())["field"])
    services().storage.set_event_time(caller().tenant, name, field)
    return jsonify({"dataset": name, "message": f"dataset {name} goes by its field {field}"})


@blueprint.get("/<name>/text-index")
def get_text_index(name: str) -> Response:
    """The columns whose texts are indexed; null: they are chosen by their texts."""
    require(caller(), Action.ADMINISTER, name)
    target = services().storage.find(caller().tenant, name)
    return jsonify(TextIndexSchema().dump({"columns": dataset.indexed_columns(target.id)}))


@blueprint.put("/<name>/text-index")
def set_text_index(name: str) -> Response:
    """Index the texts of these columns in files that are made from now on. An empty array: of none."""
    require(caller(), Action.ADMINISTER, name)
    wanted = cast(list[str] | None, load(TextIndexSchema(), json_body())["columns"])
    dataset.set_indexed_columns(services().storage.find(caller().tenant, name).id, wanted)
    return jsonify({"dataset": name, "message": f"text index of dataset {name} set"})


@blueprint.get("/<name>/deduplication")
def get_deduplication(name: str) -> Response:
    """Whether, and for how long, a body that its sender repeats is recognised."""
    require(caller(), Action.ADMINISTER, name)
    seconds = services().storage.find(caller().tenant, name).deduplication_seconds
    return jsonify({"enabled": seconds is not None, "windowSeconds": seconds or DEDUPLICATION_SECONDS})


@blueprint.put("/<name>/deduplication")
def set_deduplication(name: str) -> Response:
    """Answer a body that its sender repeats within the window as a duplicate, from now on, or store it again."""
    require(caller(), Action.ADMINISTER, name)
    wanted = load(DeduplicationSchema(), json_body())
    seconds = cast(int, wanted["window_seconds"]) if wanted["enabled"] else None
    services().storage.set_deduplication(caller().tenant, name, seconds)
    return jsonify({"dataset": name, "message": f"deduplication of dataset {name} set"})


def _as_column(found: Column) -> dict[str, object]:
    return {"id": found.id, "name": found.name, "type": found.type.value, "addedBy": found.added_by}


def _readable(name: str) -> Dataset:
    """The dataset, when the caller may read it: 403 whether or not a hidden one exists, then 404."""
    require(caller(), Action.READ_METADATA, name)
    return services().storage.find(caller().tenant, name)


def _wholly_readable(name: str) -> Dataset:
    """The same, for what tells of all rows: a reader narrowed by a tag counts its own by SQL."""
    found = _readable(name)
    require_all_rows(caller(), name)
    return found


def _custom_partition(sent: IngestHeaders) -> str | None:
    name = sent.custom_partition
    if name is not None and ("," in name or "." in name):
        raise InvalidHeader("X-P-Custom-Partition names one field, without a dot", field="X-P-Custom-Partition")
    return name


def _telemetry_type(options: IngestHeaders) -> str:
    expected = TELEMETRY_OF_SOURCE.get(options.log_source or "")
    if expected and options.telemetry_type not in (None, expected):
        raise InvalidHeader(
            f"X-P-Telemetry-Type {options.telemetry_type!r} does not match X-P-Log-Source {options.log_source!r}",
            field="X-P-Telemetry-Type",
        )
    return options.telemetry_type or expected or "logs"


def _declared(sent: IngestHeaders) -> tuple[Field, ...]:
    if not sent.static_schema:
        return ()
    return declared_fields(load(StaticSchemaSchema(), json_body_or({})))


def _account(target: Dataset) -> Response:
    stats = dataset_stats(services().storage.layout, target)
    ingestion = {
        "count": stats.events,
        "size": stats.body_bytes,
        "format": "json",
        "lifetime_count": stats.lifetime_events,
        "lifetime_size": stats.lifetime_body_bytes,
        "deleted_count": stats.lifetime_events - stats.events,
        "deleted_size": stats.lifetime_body_bytes - stats.body_bytes,
    }
    storage = {
        "size": stats.stored_bytes,
        "format": "parquet",
        "lifetime_size": stats.stored_bytes + stats.deleted_stored_bytes,
        "deleted_size": stats.deleted_stored_bytes,
        "index_size": stats.index_bytes,
    }
    latest = rfc3339_of_ns(stats.last)
    return jsonify({"stream": target.name, "time": latest, "ingestion": ingestion, "storage": storage})


def _day(target: Dataset, text: str) -> Response:
    try:
        on = date.fromisoformat(text)
    except ValueError as error:
        raise InvalidRequest("`date` is YYYY-MM-DD", field="date") from error
    counted = day_stats(services().storage.layout, target, on)
    return jsonify({"events": counted.events, "ingestion": counted.body_bytes, "storage": counted.stored_bytes})


def _visible_columns(name: str) -> frozenset[str]:
    """The columns of the dataset that hold something in rows that the caller may see. Raises as a query does."""
    quoted = name.replace('"', '""')
    question = asked_by_caller(f'SELECT * FROM "{quoted}" LIMIT 0', Options(fields=True))
    sources = Sources(services().storage, caller(), TimeRange(), None)
    with closing(services().queries.run(question, sources.resolve, client_disconnected(request))) as result:
        return frozenset(orjson.loads(b"".join(result))["fields"])
