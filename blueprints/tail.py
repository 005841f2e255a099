"""Live tails: rows of one dataset as they are acknowledged, for as long as the client reads."""

import time
from collections.abc import Callable
from functools import partial
from typing import Final, cast

from flask import Blueprint, Response, request

from auth.privileges import Action, require
from query import timerange
from query.process.messages import Source
from query.tail.messages import Presentation
from query.tail.service import Start
from schemas.reading import load
from schemas.tail import TailSchema, known_tail_members
from serving.flask_app.current import this_request
from web import audit
from web.authentication import proof, protect
from web.caller import caller
from web.client_connection import client_disconnected
from web.json_bodies import json_body
from web.questions import asked_by_caller
from web.services import services
from web.tails import Reader, Stream

blueprint = audit.watch(protect(Blueprint("tail", __name__, url_prefix="/api/v1")), "tail", frozenset({"follow"}))

SSE: Final = "text/event-stream"
NDJSON: Final = "application/x-ndjson"
MEDIA_TYPES: Final = {
    SSE: SSE,
    NDJSON: NDJSON,
    "application/ndjson": NDJSON,
    "application/jsonl": NDJSON,
    "application/x-jsonlines": NDJSON,
}


@blueprint.route("/tail", methods=["GET", "POST"])
def follow() -> Response:
    """The rows that the statement lets through, from now or a position on (api.md section 8)."""
    require(caller(), Action.QUERY)
    members, ignored = known_tail_members(json_body() if request.method == "POST" else request.args)
    asked = load(TailSchema(), members)
    media_type = MEDIA_TYPES[request.accept_mimetypes.best_match(MEDIA_TYPES, SSE)]
    start = _start(cast(str | None, asked["begin"]))
    presentation = Presentation(media_type == SSE, bool(asked["send_null"]), cast(int | None, asked["rows_per_second"]))
    sql, is_gone, parts = cast(str, asked["sql"]), client_disconnected(request), services()
    reader = Reader(proof(this_request()), parts.storage, _visible(sql, is_gone))
    stream = Stream(parts.tails, reader, presentation, is_gone, parts.meters)
    try:
        audit.name_target(stream.open(sql, start))
    except BaseException:
        stream.close()
        raise
    return _answer(stream, media_type, ignored)


def _start(begin: str | None) -> Start:
    """Where to begin. A position wins, since whoever connects again sends the same request again."""
    if position := request.headers.get("Last-Event-ID"):
        return Start(position)
    now_ns = time.time_ns()
    return Start(None, timerange.age_seconds("from", begin, now_ns=now_ns))


def _visible(sql: str, is_gone: Callable[[], bool]) -> Callable[[Callable[[], Source]], frozenset[str]]:
    return partial(services().queries.visible, asked_by_caller(sql), is_gone=is_gone)


def _answer(stream: Stream, media_type: str, ignored: tuple[str, ...]) -> Response:
    answer = Response(stream, content_type=media_type, direct_passthrough=True)
    answer.headers["Vary"] = "Accept"
    answer.headers["Cache-Control"] = "no-store"
    answer.headers["X-Content-Type-Options"] = "nosniff"
    # nginx and those who follow it keep an answer back until their buffer is full.
    answer.headers["X-Accel-Buffering"] = "no"
    if ignored:
        answer.headers["X-Weir-Ignored"] = ", ".join(ignored)
    return answer
