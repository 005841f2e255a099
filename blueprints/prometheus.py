"""Prometheus' HTTP API over metrics datasets: PromQL, series and labels, and what Grafana asks before it shows them."""

import time
from collections.abc import Callable
from typing import Any, Final

import orjson
from flask import Blueprint, Flask, Response, request

import version
from auth.privileges import Action, may, require, row_predicates
from errors import InvalidPromQL, WeirError
from ingest.proto.remote_read import OPERATIONS, SAMPLES, STREAMED_XOR_CHUNKS, ReadRequest
from ingest.remote_write.plain import parsed
from models import column, metric_metadata
from promql.labels import METRIC_NAME
from promql.tree import Matcher
from query.metric_queries import ReadOptions
from query.metrics.otlp_names import family_name, is_otlp
from query.metrics.questions import MetricQuestion, ReadQuery
from query.process.messages import Source
from query.process.metric_messages import Expression
from query.question import Question
from query.timerange import TimeRange
from web import prometheus
from web.authentication import protect
from web.caller import caller
from web.client_connection import client_disconnected
from web.prometheus import count, dataset_name, duration_ms, invalid, parameter, streamed, success, time_ms
from web.questions import name_of
from web.results import accepted_coding
from web.services import Services, services
from web.sources import Sources

PREFIXES: Final = {"prometheus": "/prometheus", "prometheus_of_dataset": "/prometheus/<name>"}
# The Prometheus whose API this is: clients ask for it to know what they may use.
STREAM_TYPE: Final = "application/x-streamed-protobuf; proto=prometheus.ChunkedReadResponse"
PROMETHEUS_VERSION: Final = "3.14.0"
LOOKBACK_MS: Final = 300_000
NS_PER_MS: Final = 1_000_000
# Where range selectors of exemplars are looked for around the times that are asked for.
EXEMPLAR_MARGIN_MS: Final = 3_600_000
_TIME_COLUMN: Final = "time_unix_nano"
_DEFAULT_LOOKBACK_SECONDS: Final = 3_600


def register(app: Flask, services: Services) -> None:
    """Serve the API, with and without a dataset in its address."""
    for name, prefix in PREFIXES.items():
        app.register_blueprint(_blueprint(name, f"{prefix}/api/v1"))


def _blueprint(name: str, prefix: str) -> Blueprint:
    blueprint = protect(Blueprint(name, __name__, url_prefix=prefix))
    blueprint.before_request(_authorize)
    blueprint.register_error_handler(WeirError, prometheus.error_response)
    blueprint.register_error_handler(Exception, prometheus.unforeseen_response)
    for path, view, methods in _ROUTES:
        blueprint.add_url_rule(path, view.__name__, view, methods=methods)
    return blueprint


def _authorize() -> None:
    """Rights before everything else of a request; what reads a dataset needs them for it."""
    require(caller(), Action.QUERY)
    view = (request.endpoint or "").rpartition(".")[2]
    if view not in _WITHOUT_DATASET:
        require(caller(), Action.QUERY, dataset_name((request.view_args or {}).get("name")))


def query(name: str | None = None) -> Response:
    """The value of an expression at an instant."""
    at = time_ms("time", _now_ms())
    return _evaluate(name, Expression(_text(), at, at, 1, False, _lookback(), _experimental()))


def query_range(name: str | None = None) -> Response:
    """The values of an expression at every step of a range."""
    start, end = time_ms("start", None), time_ms("end", None)
    if end < start:
        raise invalid("end", "end timestamp must not be before start time")
    step = duration_ms("step")
    if step <= 0:
        reason = "zero or negative query resolution step widths are not accepted. Try a positive integer"
        raise invalid("step", reason)
    if (end - start) // step > services().settings.promql_points:
        points = f"{services().settings.promql_points:,}"
        text = f"exceeded maximum resolution of {points} points per timeseries. Try decreasing the query resolution"
        raise InvalidPromQL(f"{text} (?step=XX)")
    return _evaluate(name, Expression(_text(), start, end, step, True, _lookback(), _experimental()))


def series(name: str | None = None) -> Response:
    """The label sets of the series that selectors match."""
    if not request.values.getlist("match[]"):
        raise InvalidPromQL("no match[] parameter provided")
    return _look_up(name, "series")


def labels(name: str | None = None) -> Response:
    """The names of labels."""
    return _look_up(name, "labels")


def label_values(label: str, name: str | None = None) -> Response:
    """The values of a label."""
    return _look_up(name, "values", _unescaped(label))


def query_exemplars(name: str | None = None) -> Response:
    """The exemplars of the series of an expression."""
    start, end = time_ms("start", None), time_ms("end", None)
    if end < start:
        raise InvalidPromQL("end timestamp must not be before start timestamp")
    return _find(name, MetricQuestion("exemplars", (_text(),), start, end), EXEMPLAR_MARGIN_MS)


def metadata(name: str | None = None) -> Response:
    """Type, help and unit of metrics, as senders gave them."""
    dataset = dataset_name(name)
    found = services().storage.find(caller().tenant, dataset)
    said = metric_metadata.find(found.id)
    if is_otlp(each.name for each in column.schema(found.id).columns):
        said = {family_name(each, about): about for each, about in said.items()}
    if metric := parameter("metric"):
        said = {each: about for each, about in said.items() if each == metric}
    if row_predicates(caller(), dataset) is not None:
        visible = _metric_names(dataset)
        said = {each: about for each, about in said.items() if not visible.isdisjoint(prometheus.series_names(each))}
    kept = list(said.items())[: count("limit") or None]
    return success({each: [about._asdict()] for each, about in kept})


def read(name: str | None = None) -> Response:
    """Remote read: the samples of series, for another Prometheus or Thanos (prompb/remote.proto)."""
    found = dataset_name(name)
    with services().bodies.receive(request, "snappy") as body:
        asked = parsed(ReadRequest, body)
    is_streamed = _is_streamed(list(asked.accepted_response_types))
    settings = services().settings
    wanted = ReadOptions(settings.promql_samples, settings.promql_series, streamed=is_streamed)
    queries = tuple(map(_read_query, asked.queries))
    result = services().queries.metrics.read(
        _question("remote read", found, "identity"), queries, wanted, _resolve(found), client_disconnected(request)
    )
    answer = streamed(result)
    answer.headers["Content-Type"] = STREAM_TYPE if is_streamed else "application/x-protobuf"
    if not is_streamed:
        answer.headers["Content-Encoding"] = "snappy"
    return answer


def _is_streamed(accepted: list[int]) -> bool:
    """The first kind that we know; samples if none is named."""
    for kind in accepted:
        if kind in (SAMPLES, STREAMED_XOR_CHUNKS):
            return kind == STREAMED_XOR_CHUNKS
    if accepted:
        raise InvalidPromQL(f"server does not support any of the requested response types: {accepted}")
    return False


def _read_query(query: Any) -> ReadQuery:
    matchers = [(each.name, each.type, each.value) for each in query.matchers]
    if any(not 0 <= kind < len(OPERATIONS) for _, kind, _ in matchers):
        raise InvalidPromQL("invalid matcher type")
    found = tuple(Matcher(name, OPERATIONS[kind], value) for name, kind, value in matchers)
    return ReadQuery(found, query.start_timestamp_ms, query.end_timestamp_ms)


def format_query(name: str | None = None) -> Response:
    """An expression as Prometheus formats it."""
    return _describe("format")


def parse_query(name: str | None = None) -> Response:
    """An expression as a tree."""
    return _describe("tree")


def rules(name: str | None = None) -> Response:
    """There are no recording or alerting rules here: alerts have an API of their own."""
    return success({"groups": []})


def alerts(name: str | None = None) -> Response:
    """No alerts of rules."""
    return success({"alerts": []})


def build_info(name: str | None = None) -> Response:
    """Which version of the API this is."""
    members = {"version": PROMETHEUS_VERSION, "revision": f"weir-{version.VERSION}", "branch": "weir"}
    return success({**members, "buildUser": "weir", "buildDate": "", "goVersion": ""})


def tsdb(name: str | None = None) -> Response:
    """How many series there are, and by which metrics and labels."""
    limit = count("topN") or count("limit")
    day = _day(parameter("date"))
    return _find(name, MetricQuestion("tsdb", (), *day, parameter("focusLabel"), limit))


def cardinality_of_names(name: str | None = None) -> Response:
    """How many values each label has."""
    return _cardinality(name, "label_names")


def cardinality_of_values(name: str | None = None) -> Response:
    """How many series each value of a label has."""
    return _cardinality(name, "label_values")


def active_series(name: str | None = None) -> Response:
    """The series that had a sample lately."""
    return _cardinality(name, "active_series")


_BOTH: Final = ["GET", "POST"]
_WITHOUT_DATASET: Final = frozenset({"format_query", "parse_query", "rules", "alerts", "build_info"})
_ROUTES: Final[tuple[tuple[str, Callable[..., Response], list[str]], ...]] = (
    ("/query", query, _BOTH),
    ("/query_range", query_range, _BOTH),
    ("/query_exemplars", query_exemplars, _BOTH),
    ("/series", series, _BOTH),
    ("/labels", labels, _BOTH),
    ("/label/<label>/values", label_values, ["GET"]),
    ("/metadata", metadata, ["GET"]),
    ("/read", read, _BOTH),
    ("/format_query", format_query, _BOTH),
    ("/parse_query", parse_query, _BOTH),
    ("/rules", rules, ["GET"]),
    ("/alerts", alerts, ["GET"]),
    ("/status/buildinfo", build_info, ["GET"]),
    ("/status/tsdb", tsdb, ["GET"]),
    ("/cardinality/label_names", cardinality_of_names, _BOTH),
    ("/cardinality/label_values", cardinality_of_values, _BOTH),
    ("/cardinality/active_series", active_series, _BOTH),
)


def _now_ms() -> int:
    return time.time_ns() // NS_PER_MS


def _text() -> str:
    return parameter("query")


def _lookback() -> int:
    if not parameter("lookback_delta"):
        return LOOKBACK_MS
    lookback = duration_ms("lookback_delta")
    if lookback <= 0:
        raise InvalidPromQL("error parsing lookback delta duration: must be positive")
    return lookback


def _experimental() -> bool:
    return services().settings.promql_experimental


def _unescaped(label: str) -> str:
    """A label name that was escaped for a path: `U__`, and code points for what is no letter (api.go, labelValues)."""
    if not label.startswith("U__"):
        return label
    parts = label[3:].split("_")
    return "".join(part if place % 2 == 0 else _point(part) for place, part in enumerate(_joined(parts)))


def _point(digits: str) -> str:
    try:
        return chr(int(digits, 16))
    except (ValueError, OverflowError):
        raise InvalidPromQL(f"invalid label name: {digits!r}") from None


def _joined(parts: list[str]) -> list[str]:
    """Two underscores are one, and no border of a code point."""
    joined = [parts[0]]
    rest = iter(parts[1:])
    for part in rest:
        if part == "" and len(joined) % 2:
            joined[-1] += "_" + next(rest, "")
        else:
            joined.append(part)
    return joined


def _evaluate(name: str | None, expression: Expression) -> Response:
    found = dataset_name(name)
    settings = services().settings
    timeout = duration_ms("timeout") / 1000 if parameter("timeout") else None
    wanted = ReadOptions(
        settings.promql_samples,
        settings.promql_series,
        count("limit"),
        stats=bool(parameter("stats")),
        timeout_seconds=timeout,
    )
    try:
        result = services().queries.metrics.evaluate(
            _question(expression.text, found), expression, wanted, _resolve_named(found), client_disconnected(request)
        )
    except InvalidPromQL as error:
        raise prometheus.with_name(error, "query") from error
    services().meters.queried(result.elapsed_seconds)
    return streamed(result)


def _look_up(name: str | None, kind: str, label: str = "") -> Response:
    start = time_ms("start", prometheus.FIRST_MS)
    end = time_ms("end", prometheus.LAST_MS)
    if end < start:
        raise InvalidPromQL("end timestamp must not be before start timestamp")
    bounds = None if start == prometheus.FIRST_MS else start, None if end == prometheus.LAST_MS else end
    selectors = tuple(request.values.getlist("match[]"))
    return _find(name, MetricQuestion(kind, selectors, *bounds, label, count("limit")))


def _cardinality(name: str | None, kind: str) -> Response:
    now = _now_ms()
    lookback = (count("lookback") or _DEFAULT_LOOKBACK_SECONDS) * 1000
    selectors = tuple(filter(None, (*request.values.getlist("match[]"), parameter("selector"))))
    return _find(name, MetricQuestion(kind, selectors, now - lookback, now, parameter("label_name"), count("limit")))


def _find(name: str | None, lookup: MetricQuestion, margin_ms: int = 0) -> Response:
    found = dataset_name(name)
    text = " ".join((lookup.kind, lookup.label, *lookup.selectors)).strip()
    try:
        result = services().queries.metrics.find(
            _question(text, found), lookup, _resolve_named(found, margin_ms), client_disconnected(request)
        )
    except InvalidPromQL as error:
        raise prometheus.with_name(error, "query" if lookup.kind == "exemplars" else "match[]") from error
    return streamed(result)


def _metric_names(dataset: str) -> set[str]:
    """The metrics with a row that the caller may see."""
    lookup = MetricQuestion("values", (), None, None, METRIC_NAME)
    result = services().queries.metrics.find(
        _question("metadata", dataset, "identity"), lookup, _resolve(dataset), client_disconnected(request)
    )
    return set(orjson.loads(b"".join(result))["data"])


def _describe(kind: str) -> Response:
    try:
        result = services().queries.metrics.describe(_question(_text()), kind, client_disconnected(request))
    except InvalidPromQL as error:
        raise prometheus.with_name(error, "query") from error
    return streamed(result)


def _question(text: str, dataset: str = "", coding: str = "") -> Question:
    return Question(
        tenant=caller().tenant,
        identity=name_of(caller()),
        sql=text,
        now_ns=time.time_ns(),
        coding=coding or accepted_coding(),
        privileged=may(caller(), Action.ADMINISTER),
        datasets=(dataset,) if dataset else (),
    )


def _resolve_named(name: str, margin_ms: int = 0) -> Callable[[int | None, int | None], Source]:
    """As `_resolve`, for answers with warnings: if the operator wants it so, without hosts that cannot be asked."""
    return _resolve(name, margin_ms, services().settings.lost_hosts == "answer")


def _resolve(name: str, margin_ms: int = 0, names_gaps: bool = False) -> Callable[[int | None, int | None], Source]:
    """What to read of the dataset from one ms to another. Where ranges go by arrival they say nothing of samples."""

    def resolve(start_ms: int | None, end_ms: int | None) -> Source:
        found = services().storage.find(caller().tenant, name)
        start = None if start_ms is None else max((start_ms - margin_ms) * NS_PER_MS, -(2**63))
        end = None if end_ms is None else min((end_ms + margin_ms + 1) * NS_PER_MS, 2**63 - 1)
        bounds = TimeRange(start, end) if found.time_column == _TIME_COLUMN else TimeRange()
        sources = Sources(services().storage, caller(), bounds, None, names_gaps)
        return sources.resolve((name,), ("metric_name",))[name]

    return resolve


def _day(text: str) -> tuple[int | None, int | None]:
    """The day of `YYYY-MM-DD`; without one, all of time."""
    if not text:
        return None, None
    start = prometheus.parse_time(f"{text}T00:00:00Z")
    if start is None:
        raise invalid("date", f'cannot parse "{text}" to a valid date')
    return start, start + 86_400_000 - 1
