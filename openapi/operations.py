"""What the description says of each route beyond its path: summary, parameters, body and answer.

Keyed by the endpoint's name. A route that is not here is described by its view's docstring alone.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final

from marshmallow import Schema

from alerting.registry import kinds
from openapi import answers
from schemas.alerts import AlertListSchema, AlertSchema, LogSchema, MutingSchema
from schemas.api_keys import NewApiKeySchema
from schemas.dashboards import DashboardListSchema, DashboardSchema, TileSchema
from schemas.dataset import DeduplicationSchema, EventTimeSchema, RetentionSchema, TextIndexSchema
from schemas.filters import FilterSchema
from schemas.query import QuerySchema, RunningQuerySchema, SlowQuerySchema
from schemas.saved_queries import SavedQuerySchema
from schemas.senders import SendersSchema
from schemas.tail import TailSchema
from schemas.tenants import NewTenantSchema

JSON: Final = "application/json"
NDJSON: Final = "application/x-ndjson"
PROTOBUF: Final = "application/x-protobuf"

# A schema of the document, or a JSON Schema written out.
Shape = type[Schema] | Mapping[str, object]

TEXT: Final[Shape] = MappingProxyType({"type": "string"})
BINARY: Final[Shape] = MappingProxyType({"type": "string", "format": "binary"})
OBJECT: Final[Shape] = MappingProxyType({"type": "object"})
NAMES: Final[Shape] = MappingProxyType({"type": "array", "items": {"type": "string"}})
EVENTS: Final[Shape] = MappingProxyType({"oneOf": [{"type": "object"}, {"type": "array", "items": {"type": "object"}}]})
ROWS: Final[Shape] = MappingProxyType(
    {
        "oneOf": [
            {"type": "array", "items": {"type": "object"}},
            {"type": "object", "required": ["fields", "records"], "properties": {"fields": {}, "records": {}}},
        ]
    }
)


def array(items: type[Schema] | str) -> Shape:
    """The JSON Schema of an array."""
    return MappingProxyType({"type": "array", "items": {"type": items} if isinstance(items, str) else items})


def _header(name: str, meaning: str, *, required: bool = False, values: tuple[str, ...] = ()) -> dict[str, object]:
    schema = {"type": "string", **({"enum": list(values)} if values else {})}
    return {"in": "header", "name": name, "required": required, "description": meaning, "schema": schema}


def _query(name: str, meaning: str, **schema: object) -> dict[str, object]:
    return {"in": "query", "name": name, "description": meaning, "schema": {"type": "string", **schema}}


STREAM: Final = _header("X-P-Stream", "The dataset; it is created if it does not exist.", required=True)
REPEATABLE: Final = _header("Idempotency-Key", "Stores a request once however often it is sent (24 hours).")


TIME_PARTITION: Final = _header("X-P-Time-Partition", "The events' own time field, for time ranges and retention.")
DATASET_KIND: Final = _header(
    "X-P-Dataset-Kind", "`lookup`: rows without a time, for joins; ranges do not cut them.", values=("events", "lookup")
)
TELEMETRY_TYPE: Final = _header("X-P-Telemetry-Type", "What it holds.", values=("logs", "metrics", "traces", "events"))
# Of every request that brings events. Any other X-P-<Name>, up to ten, becomes a column of that name.
TELEMETRY_HEADERS: Final = (TIME_PARTITION, DATASET_KIND, REPEATABLE)
# The same where the protocol does not say what it brings.
EVENT_HEADERS: Final = (*TELEMETRY_HEADERS, TELEMETRY_TYPE)


def _stream_unless(named_by: str) -> dict[str, object]:
    return _header("X-P-Stream", f"The dataset, created if it does not exist. Without it, {named_by} names it.")


def _source(value: str) -> dict[str, object]:
    return _header("X-P-Log-Source", f"Always `{value}`.", required=True, values=(value,))


@dataclass(frozen=True, slots=True)
class Operation:
    """One route. `body`, `answer` and `failure` map media types to shapes; `status` is that of success."""

    summary: str = ""
    parameters: tuple[Mapping[str, object] | type[Schema], ...] = ()
    body: Mapping[str, Shape] = field(default_factory=dict)
    answer: Mapping[str, Shape] = field(default_factory=lambda: {JSON: MappingProxyType({})})
    failure: Mapping[str, Shape] = field(default_factory=lambda: {JSON: answers.Error})
    status: int = 200
    body_is_required: bool = True


def _json(shape: Shape) -> Mapping[str, Shape]:
    return {JSON: shape}


def _crud(noun: str, plural: str, schema: Shape, listed_by: tuple[type[Schema], ...] = ()) -> dict[str, Operation]:
    return {
        f"{plural}.create": Operation(f"Create {_a(noun)}.", body=_json(schema), answer=_json(OBJECT)),
        f"{plural}.list_all": Operation(f"The {plural}.", listed_by, answer=_json(array("object"))),
        f"{plural}.get": Operation(f"One {noun}, with its revision as ETag.", answer=_json(OBJECT)),
        f"{plural}.change": Operation(f"The whole {noun} anew.", body=_json(schema), answer=_json(OBJECT)),
        f"{plural}.delete": Operation(f"Delete {_a(noun)}."),
    }


def _a(noun: str) -> str:
    return f"an {noun}" if noun[0] in "aeiou" else f"a {noun}"


def _otlp(signal: str) -> Operation:
    either = {JSON: OBJECT, PROTOBUF: BINARY}
    failure = {JSON: answers.RpcStatus, PROTOBUF: BINARY}
    return Operation(
        f"OTLP {signal}.", (STREAM, _source(f"otel-{signal}"), *TELEMETRY_HEADERS), either, either, failure
    )


def _api_keys(blueprint: str) -> dict[str, Operation]:
    return {
        f"{blueprint}.create": Operation(
            "Create an API key; its secret is in the answer.",
            body=_json(NewApiKeySchema),
            answer=_json(answers.ApiKey),
        ),
        f"{blueprint}.list_all": Operation("The API keys, secrets masked.", answer=_json(array(answers.ApiKey))),
        f"{blueprint}.get": Operation("One API key with its secret.", answer=_json(answers.ApiKey)),
        f"{blueprint}.delete": Operation(
            "Delete an API key. It is dead at once, in every worker.", answer=_json(answers.Message)
        ),
    }


SYSTEM: Final = {
    "health.root": Operation("What this is; data sources probe it.", answer=_json(OBJECT)),
    "health.liveness": Operation("200 as long as the worker answers at all.", answer=_json(answers.Status)),
    "health.readiness": Operation(
        "200 when events can be stored and queried.",
        (_query("for", "`ingestion`: that they can be stored is enough; a missing host then counts for nothing."),),
        answer=_json(answers.Status),
    ),
    "about.describe": Operation("Version and mode.", answer=_json(OBJECT)),
    "metrics.show": Operation("Prometheus text: all workers' counters.", answer={"text/plain": TEXT}),
    "openapi.show": Operation("This description.", answer=_json(OBJECT)),
}
INGESTION: Final = {
    "ingestion.ingest": Operation(
        "Store events in the dataset that a header names.",
        (STREAM, *EVENT_HEADERS),
        {JSON: EVENTS, NDJSON: TEXT},
        _json(answers.Ingested),
    ),
    "ingestion.ingest_into": Operation(
        "Store events in an existing dataset.", EVENT_HEADERS, {JSON: EVENTS, NDJSON: TEXT}, _json(answers.Ingested)
    ),
    "otlp.export_logs": _otlp("logs"),
    "otlp.export_metrics": _otlp("metrics"),
    "otlp.export_traces": _otlp("traces"),
    "remote_write.write": Operation(
        "Prometheus remote write 1.0 and 2.0.",
        (
            STREAM,
            _source("otel-metrics"),
            _header("Content-Encoding", "Always `snappy`.", required=True, values=("snappy",)),
            *TELEMETRY_HEADERS,
        ),
        {PROTOBUF: BINARY},
        {},
        {"text/plain": TEXT},
        204,
    ),
    "elasticsearch.bulk": Operation(
        "Elasticsearch's bulk API: `index` and `create`, with a result for each item.",
        (
            _stream_unless("`_index`, else the path"),
            _query("filter_path", "The members of the answer that are wanted."),
            *EVENT_HEADERS,
        ),
        {NDJSON: TEXT},
        _json(OBJECT),
        _json(OBJECT),
    ),
    "splunk.collect": Operation(
        "Events as Splunk's HTTP Event Collector takes them.",
        (_stream_unless("`index`, else `source`"), *EVENT_HEADERS),
        _json(OBJECT),
        _json(OBJECT),
        _json(OBJECT),
    ),
    "splunk.collect_raw": Operation(
        "Lines, one event each, as Splunk's HTTP Event Collector takes them.",
        (
            _stream_unless("`index`, else `source`"),
            *(_query(name, "Of all events of the request.") for name in ("index", "source", "sourcetype", "host")),
            *EVENT_HEADERS,
        ),
        {"text/plain": TEXT},
        _json(OBJECT),
        _json(OBJECT),
    ),
    "collector.acknowledge": Operation(
        "Splunk's acknowledgements, which are never enabled: an answer says that its events are on disk.",
        answer=_json(OBJECT),
        failure=_json(OBJECT),
    ),
    "loki.push": Operation(
        "Loki push, JSON or protobuf.",
        (_stream_unless("the label `service_name`"), *EVENT_HEADERS),
        {JSON: OBJECT, PROTOBUF: BINARY},
        {},
        {"text/plain": TEXT},
        204,
    ),
}
CATALOG_ERROR: Final[Mapping[str, Shape]] = MappingProxyType(
    {JSON: MappingProxyType({"type": "object", "required": ["error"], "properties": {"error": OBJECT}})}
)
ICEBERG: Final = {
    f"iceberg.{name}": Operation(summary, answer={JSON: OBJECT}, failure=CATALOG_ERROR)
    for name, summary in {
        "config": "What the Iceberg catalog can be asked.",
        "namespaces": "The one namespace: `weir`, or the tenant's.",
        "describe_namespace": "The namespace.",
        "tables": "The Iceberg tables that the caller may read: a table for each dataset.",
        "table": "The metadata of a dataset's Iceberg table as of its last publication.",
        "credentials": "Credentials for the table's files: none, readers have their own.",
        "unknown": "404 in the catalog's shape.",
        "refuse": "405 in the catalog's shape: the catalog is read-only.",
    }.items()
} | {
    "iceberg_tokens.issue": Operation(
        "A bearer token for an API key: OAuth's client credentials, of the form or by Basic.",
        (),
        {"application/x-www-form-urlencoded": OBJECT},
        {JSON: OBJECT},
        {JSON: MappingProxyType({"type": "object", "required": ["error"]})},
    )
}
_TIMES: Final = (_query("start", "Unix seconds or RFC 3339."), _query("end", "Unix seconds or RFC 3339."))
_STREAM: Final = _query("stream", "The dataset, where neither path nor header names it.")
_EXPRESSION: Final = _query("query", "A PromQL expression.")
_MATCH: Final = _query("match[]", "A selector; may be repeated.")
_LIMIT: Final = _query("limit", "How many at most; 0: all.")
FORM: Final = "application/x-www-form-urlencoded"


def _prometheus(summary: str, *parameters: Mapping[str, object]) -> Operation:
    shown = (_STREAM, *parameters)
    return Operation(summary, shown, {FORM: OBJECT}, _json(OBJECT), _json(answers.PrometheusError), 200, False)


def _prometheus_operations(blueprint: str) -> dict[str, Operation]:
    found = {
        "query": _prometheus("A PromQL expression at an instant.", _EXPRESSION, _query("time", "When."), _LIMIT),
        "query_range": _prometheus(
            "A PromQL expression at every step of a range.",
            _EXPRESSION,
            *_TIMES,
            _query("step", "How far apart."),
            _LIMIT,
        ),
        "query_exemplars": _prometheus("Exemplars of an expression's series.", _EXPRESSION, *_TIMES),
        "series": _prometheus("Label sets of series.", _MATCH, *_TIMES, _LIMIT),
        "labels": _prometheus("Names of labels.", _MATCH, *_TIMES, _LIMIT),
        "label_values": _prometheus("Values of a label.", _MATCH, *_TIMES, _LIMIT),
        "metadata": _prometheus("Type, help and unit of metrics.", _query("metric", "Of this one."), _LIMIT),
        "read": Operation(
            "Remote read, as samples or as XOR chunks.",
            (_STREAM,),
            {PROTOBUF: BINARY},
            {PROTOBUF: BINARY, "application/x-streamed-protobuf": BINARY},
            _json(answers.PrometheusError),
        ),
        "format_query": _prometheus("An expression, formatted.", _EXPRESSION),
        "parse_query": _prometheus("An expression as a tree.", _EXPRESSION),
        "rules": _prometheus("Always without rules."),
        "alerts": _prometheus("Always without alerts."),
        "build_info": _prometheus("The version of Prometheus whose API this is."),
        "tsdb": _prometheus(
            "Numbers of series.", _query("topN", "How many of each."), _query("focusLabel", "A label.")
        ),
        "cardinality_of_names": _prometheus("How many values each label has.", _query("selector", "Of these."), _LIMIT),
        "cardinality_of_values": _prometheus(
            "How many series each value of a label has.", _query("label_name", "Which label."), _LIMIT
        ),
        "active_series": _prometheus("Series that had a sample lately.", _query("selector", "Of these."), _LIMIT),
    }
    return {f"{blueprint}.{view}": operation for view, operation in found.items()}


QUERIES: Final = {
    **_prometheus_operations("prometheus"),
    **_prometheus_operations("prometheus_of_dataset"),
    "query.query": Operation(
        "Rows of one SQL statement over a time range.",
        (_query("fields", "With `true`: `{fields, records}` instead of an array.", enum=["true", "false"]),),
        _json(QuerySchema),
        {
            JSON: ROWS,
            NDJSON: TEXT,
            "text/csv": TEXT,
            "application/vnd.apache.arrow.stream": BINARY,
            "application/vnd.apache.parquet": BINARY,
        },
    ),
    "tail.follow": Operation(
        "Rows of one dataset as they are stored, for as long as the client reads.",
        (
            _header("Last-Event-ID", "The `id` of the last row that was received: go on behind it."),
            _query("query", "GET only: the statement."),
            _query("from", "GET only: `now`, or how far back to begin, as `5m`."),
        ),
        _json(TailSchema),
        {"text/event-stream": TEXT, NDJSON: TEXT},
        body_is_required=False,
    ),
    "query.running": Operation("Queries that wait or run on this host.", answer=_json(array(RunningQuerySchema))),
    "query.slow": Operation("Slow queries that have ended on this host.", answer=_json(array(SlowQuerySchema))),
    "query.cancel": Operation("End a query.", answer=_json(answers.Message)),
    "saved_queries.list_all": Operation(
        "What the caller asked lately and, with a name, keeps.", answer=_json(array(answers.SavedQuery))
    ),
    "saved_queries.create": Operation(
        "Note a query in the history or, with a name, keep it.",
        body=_json(SavedQuerySchema),
        answer=_json(answers.SavedQuery),
    ),
    "saved_queries.delete": Operation("Forget a query.", answer=_json(answers.Message)),
}
DATASETS: Final = {
    "datasets.list_all": Operation("The datasets that the caller may see.", answer=_json(array(answers.DatasetName))),
    "datasets.create": Operation(
        "Create an empty dataset.",
        (
            _header("X-P-Static-Schema-Flag", "With `true`, the body declares the columns.", values=("true", "false")),
            TIME_PARTITION,
            _header("X-P-Custom-Partition", "Divides the files of an hour by the values of this field."),
            TELEMETRY_TYPE,
            DATASET_KIND,
        ),
        _json(OBJECT),
        _json(answers.Message),
        body_is_required=False,
    ),
    "datasets.delete": Operation("Delete a dataset and its events.", answer=_json(answers.Message)),
    "datasets.detect": Operation(
        "The schema that a sample of events would get.", body=_json(EVENTS), answer=_json(OBJECT)
    ),
    "datasets.schema": Operation("The columns, with Arrow's type names.", answer=_json(OBJECT)),
    "datasets.columns": Operation(
        "The columns by number, and who sent them first.", answer=_json(array(answers.Column))
    ),
    "senders.show": Operation(
        "How much each key and user stored in the last hours.", (SendersSchema,), answer=_json(answers.Senders)
    ),
    "datasets.drop_column": Operation("Forget a column and its values.", answer=_json(answers.Message)),
    "datasets.stats": Operation(
        "Events and bytes, exactly.", (_query("date", "Of one day: YYYY-MM-DD."),), answer=_json(OBJECT)
    ),
    "datasets.info": Operation("What the dataset is; its first and last event.", answer=_json(OBJECT)),
    "datasets.get_retention": Operation("How long events are kept.", answer=_json(array(RetentionSchema))),
    "datasets.get_text_index": Operation("The columns whose texts are indexed.", answer=_json(TextIndexSchema)),
    "datasets.set_text_index": Operation(
        "Index the texts of these columns from now on; null: they are chosen by their texts.",
        body=_json(TextIndexSchema),
        answer=_json(answers.Message),
    ),
    "datasets.get_deduplication": Operation(
        "Whether, and how long, a body that its sender repeats is recognised.", answer=_json(DeduplicationSchema)
    ),
    "datasets.set_deduplication": Operation(
        "Answer a body that its sender repeats within the window as a duplicate, from now on.",
        body=_json(DeduplicationSchema),
        answer=_json(answers.Message),
    ),
    "datasets.set_retention": Operation(
        "Keep events so long from now on.", body=_json(array(RetentionSchema)), answer=_json(answers.Message)
    ),
    "datasets.set_event_time": Operation(
        "Go by a field of the events, for what is stored already too. It stays.",
        body=_json(EventTimeSchema),
        answer=_json(answers.Message),
    ),
}
IDENTITY: Final = {
    "session.show": Operation("Who is asking, and what they may do.", answer=_json(OBJECT)),
    "session.datasets": Operation("The datasets that the caller may read.", answer=_json(array("object"))),
    "session.hosts": Operation("The hosts of the deployment.", answer=_json(array("object"))),
    "roles.list_all": Operation("The roles and their entries.", answer=_json(OBJECT)),
    "roles.get": Operation("One role.", answer=_json(answers.Role)),
    "roles.put": Operation("Create or replace a role.", body=_json(array(answers.Entry)), answer=_json(answers.Role)),
    "roles.delete": Operation("Delete a role that nobody holds.", answer=_json(TEXT)),
    "roles.get_default": Operation("The role of OIDC users without another one."),
    "roles.put_default": Operation("Set that role, or null.", body=_json({"type": ["string", "null"]})),
    "users.names": Operation("Users: name and method.", answer=_json(array("object"))),
    "users.list_all": Operation("Users and what they hold.", answer=_json(array("object"))),
    "users.get": Operation("One user.", answer=_json(OBJECT)),
    "users.create": Operation(
        "Create a user with these roles; answers the password.",
        body=_json(NAMES),
        answer={JSON: TEXT, "text/plain": TEXT},
        body_is_required=False,
    ),
    "users.delete": Operation("Delete a user.", answer=_json(TEXT)),
    "users.renew_password": Operation("Give a user a new password.", answer={JSON: TEXT, "text/plain": TEXT}),
    "users.get_roles": Operation("The roles of a user.", answer=_json(OBJECT)),
    "users.set_roles": Operation("Replace the roles of a user.", body=_json(NAMES), answer=_json(TEXT)),
    "users.add_roles": Operation("Give a user further roles.", body=_json(NAMES), answer=_json(TEXT)),
    "users.remove_roles": Operation("Take roles from a user.", body=_json(NAMES), answer=_json(TEXT)),
    "oidc.begin": Operation(
        "Log in: to the provider, or by Basic credentials.", (_query("redirect", "Where to go then."),), status=302
    ),
    "oidc.finish": Operation("Where the provider sends the browser back to.", status=302),
    "oidc.end": Operation("End the session.", (_query("redirect", "Where to go then."),), status=302),
    "tenants.list_all": Operation("The tenants.", answer=_json(array(answers.Tenant))),
    "tenants.get": Operation("One tenant.", answer=_json(answers.Tenant)),
    "tenants.create": Operation(
        "Create a tenant and its administrator.", body=_json(NewTenantSchema), answer=_json(answers.Tenant)
    ),
    "tenants.delete": Operation(
        "Delete an empty tenant, or with `?purge=true` any.",
        (_query("purge", "Delete its datasets too.", enum=["true", "false"]),),
        answer=_json(answers.Message),
    ),
    **_api_keys("apikeys_console"),
    **_api_keys("apikeys_prism"),
    **_api_keys("apikeys"),
}
AUTHORED: Final = {
    **_crud("dashboard", "dashboards", DashboardSchema, (DashboardListSchema,)),
    "dashboards.tags": Operation("All tags of dashboards.", answer=_json(NAMES)),
    "dashboards.add_tile": Operation("Add a tile to a dashboard.", body=_json(TileSchema), answer=_json(OBJECT)),
    **_crud("filter", "filters", FilterSchema),
    **_crud("alert", "alerts", AlertSchema, (AlertListSchema,)),
    "alerts.tags": Operation("All tags of alerts.", answer=_json(NAMES)),
    "alerts.disable": Operation("Stop evaluating an alert.", answer=_json(OBJECT)),
    "alerts.enable": Operation("Evaluate an alert again.", answer=_json(OBJECT)),
    "alerts.mute": Operation("Mute an alert, or not.", body=_json(MutingSchema), answer=_json(OBJECT)),
    "alerts.history": Operation("Changes of an alert's state.", (LogSchema,), answer=_json(array("object"))),
    "alerts.deliveries": Operation("An alert's deliveries.", (LogSchema,), answer=_json(array("object"))),
    "targets.test": Operation("Send a test notice, and tell how it went.", answer=_json(OBJECT)),
    **_crud("target", "targets", {"oneOf": [kind.schema for kind in kinds().values()]}),
}
OPERATIONS: Final[Mapping[str, Operation]] = MappingProxyType(
    SYSTEM | INGESTION | ICEBERG | QUERIES | DATASETS | IDENTITY | AUTHORED
)
