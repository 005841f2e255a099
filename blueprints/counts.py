"""Counts over time of one dataset: the bars above a list of logs."""

import time
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any, cast

import orjson
from flask import Blueprint, Response, jsonify, request

from auth.privileges import Action, require
from query import histogram, timerange
from query.histogram import EPOCH
from schemas.query import CountsSchema
from schemas.reading import load
from web.authentication import protect
from web.caller import caller
from web.client_connection import client_disconnected
from web.json_bodies import json_body
from web.questions import asked_by_caller
from web.services import services
from web.sources import Sources

blueprint = protect(Blueprint("counts", __name__, url_prefix="/api/v1"))

FIELDS = ["start_time", "end_time", "count"]


@blueprint.post("/counts")
def counts() -> Response:
    """How many events the dataset has in each bin of the range."""
    require(caller(), Action.QUERY)
    members = load(CountsSchema(), json_body())
    name = cast(str, members["dataset"])
    require(caller(), Action.QUERY, name)
    now_ns = time.time_ns()
    range_ = timerange.parse(cast(Any, members["start"]), cast(Any, members["end"]), now_ns=now_ns)
    bins = histogram.bins(range_, cast(int | None, members["bins"]))
    sources = Sources(services().storage, caller(), range_, None)
    time_column = services().storage.find(caller().tenant, name).time_column
    question = replace(asked_by_caller(histogram.statement(name, time_column, bins)), now_ns=now_ns)
    rows = orjson.loads(b"".join(services().queries.run(question, sources.resolve, client_disconnected(request))))
    return jsonify({"fields": FIELDS, "records": histogram.records(bins, _counted(rows))})


def _counted(rows: list[dict[str, Any]]) -> dict[int, int]:
    """Counts by the start of their bin in microseconds since 1970."""
    starts = [datetime.fromisoformat(row["start_time"]) - EPOCH for row in rows]
    return {start // timedelta(microseconds=1): row["count"] for start, row in zip(starts, rows, strict=True)}
