"""Queries: SQL in, rows out; the queries that run, and their end."""

import time
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Final, cast

from flask import Blueprint, Response, jsonify, request

from auth.privileges import Action, may, require
from errors import InvalidRequest
from models import tenant
from query import timerange
from query.pg.session_zone import ZONE_FORMS, session_zone
from query.pg.time_zones import UnknownZone
from query.process.ended_queries import EndedQuery
from query.process.result import Result
from query.process.slot_table import Query
from query.question import Question
from query.results.options import MEDIA_FORMATS, Format, Options
from query.timerange import TimeRange
from schemas.query import QuerySchema, RunningQuerySchema, SlowQuerySchema, known_members
from schemas.reading import load
from storage.context import Gap
from web.authentication import protect
from web.caller import caller
from web.client_connection import client_disconnected
from web.json_bodies import json_body
from web.questions import name_of
from web.results import Body, accepted_coding
from web.services import services
from web.sources import Sources

blueprint = protect(Blueprint("query", __name__, url_prefix="/api/v1"))

# Other names of the same formats, as clients write them.
ALIASES: Final = {
    "application/ndjson": Format.NDJSON,
    "application/jsonl": Format.NDJSON,
    "application/x-jsonlines": Format.NDJSON,
    "application/parquet": Format.PARQUET,
}
MEDIA_TYPES: Final = {each.value: each for each in MEDIA_FORMATS} | ALIASES


@blueprint.post("/query")
def query() -> Response:
    """Rows of one SQL statement over a time range (spec 4.3)."""
    require(caller(), Action.QUERY)
    now_ns = time.time_ns()
    members, ignored = known_members(json_body(), request.args)
    asked = load(QuerySchema(), members)
    named = cast(str | None, asked["dataset"])
    names_gaps = services().settings.lost_hosts == "answer"
    sources = Sources(services().storage, caller(), _time_range(asked, now_ns), named, names_gaps)
    question = _question(asked, now_ns)
    result = services().queries.run(question, sources.resolve, client_disconnected(request), sources.listed)
    services().meters.queried(result.elapsed_seconds)
    return _answer(result, question.options.format, ignored)


@blueprint.get("/queries")
def running() -> Response:
    """The queries that wait or run on this host: the caller's own, an administrator's all of the tenant."""
    require(caller(), Action.QUERY)
    found = [each for each in services().queries.queries(caller().tenant) if _may_end(each)]
    return jsonify(RunningQuerySchema(many=True).dump(found))


@blueprint.get("/queries/slow")
def slow() -> Response:
    """The slow queries of this host that have ended, to who may see them while they run."""
    require(caller(), Action.QUERY)
    # A new tenant may have the name of one that was deleted today.
    since = tenant.get(caller().tenant).created_at
    found = filter(_may_end, services().queries.slow(caller().tenant))
    mine = [each for each in found if datetime.fromisoformat(each.started_at) >= since]
    return jsonify(SlowQuerySchema(many=True).dump(mine))


@blueprint.delete("/queries/<query_id>")
def cancel(query_id: str) -> Response:
    """End a query; who waits for its result gets `query_cancelled`."""
    require(caller(), Action.QUERY)
    ended = services().queries.cancel(caller().tenant, query_id, _may_end)
    return jsonify({"id": ended.id, "message": f"query {ended.id} is being cancelled"})


def _time_range(asked: Mapping[str, Any], now_ns: int) -> TimeRange:
    if services().settings.query_time_range == "required" and asked["dataset"] is None:
        timerange.require_both(asked["start"], asked["end"])
    return timerange.parse(asked["start"], asked["end"], now_ns=now_ns)


def _question(members: Mapping[str, Any], now_ns: int) -> Question:
    format = MEDIA_TYPES[request.accept_mimetypes.best_match(MEDIA_TYPES, Format.JSON.value)]
    return Question(
        tenant=caller().tenant,
        identity=name_of(caller()),
        sql=members["sql"],
        now_ns=now_ns,
        parameters=tuple(members["parameters"]),
        options=Options(format, members["fields_form"], members["send_null"], members["escape_formulas"]),
        coding="identity" if format is Format.PARQUET else accepted_coding(),
        privileged=may(caller(), Action.ADMINISTER),
        engine=members["engine"],
        zone=_zone(members["time_zone"]),
    )


def _zone(text: str | None) -> str:
    """The session's time zone. Raises InvalidRequest."""
    try:
        return "" if text is None else session_zone(text)
    except UnknownZone as error:
        raise InvalidRequest(f'`timeZone`: no time zone "{text}": {ZONE_FORMS}', field="timeZone") from error


def _answer(result: Result, format: Format, ignored: Sequence[str]) -> Response:
    answer = Response(Body(result), content_type=_content_type(format), direct_passthrough=True)
    answer.headers["Vary"] = "Accept, Accept-Encoding"
    answer.headers["Cache-Control"] = "no-store"
    answer.headers["X-Content-Type-Options"] = "nosniff"
    if ignored:
        answer.headers["X-Weir-Ignored"] = ", ".join(ignored)
    if result.gaps:
        answer.headers["X-Weir-Gap"] = ", ".join(map(_gap_text, result.gaps))
    answer.headers["X-Weir-Elapsed-Ms"] = f"{result.elapsed_seconds * 1000:.3f}"
    if result.scanned is not None:
        answer.headers["X-Weir-Files-Scanned"] = str(result.scanned.files)
        answer.headers["X-Weir-Bytes-Scanned"] = str(result.scanned.bytes)
        if result.scanned.outside_range:
            answer.headers["X-Weir-Outside-Range"] = ", ".join(result.scanned.outside_range)
    if result.coding != "identity":
        answer.headers["Content-Encoding"] = result.coding
    if result.length is not None:
        answer.headers["Content-Length"] = str(result.length)
    return answer


def _gap_text(gap: Gap) -> str:
    """A host that the answer lacks, and its last sign of life; nothing it had converted by then is missing."""
    seen = "" if gap.seen_at is None else f";seen={gap.seen_at.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}"
    return f"{gap.host}{seen}"


def _content_type(format: Format) -> str:
    return "text/csv; charset=utf-8; header=present" if format is Format.CSV else format.value


def _may_end(query: Query | EndedQuery) -> bool:
    return query.identity == name_of(caller()) or may(caller(), Action.ADMINISTER)
