"""A dashboard's data: all of its tiles over one time range, as of one moment, with the rights of whoever asks."""

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Final, cast

import orjson
from flask import Blueprint, Response, request

from auth.identity import Identity
from auth.privileges import Action, may
from blueprints.dashboards import kind
from errors import QueryTooLarge, WeirError
from models.dashboard import Tile
from query import timerange
from query.question import Question
from query.results.options import Options
from query.service import QueryService
from schemas.dashboards import DashboardDataSchema
from schemas.reading import load
from web.authentication import protect
from web.caller import caller
from web.client_connection import client_disconnected
from web.json_bodies import json_response
from web.services import services
from web.sources import Sources

# What a chart can draw. A tile with more is an error of its own, so that a dashboard's answer fits into memory.
LARGEST_TILE: Final = "1 MiB"

blueprint = protect(Blueprint("dashboard_data", __name__, url_prefix="/api/v1/dashboards"))


@blueprint.get("/<dashboard_id>/data")
def data(dashboard_id: str) -> Response:
    """`{"tiles": [...]}`, each with a `result` of `fields` and `records`, or with an `error` of its own.

    Tiles run side by side, as many as there are slots for queries; each takes its turn in the line like any query.
    """
    tiles = kind.visible(dashboard_id).content.tiles
    asker = _asker()
    with ThreadPoolExecutor(services().settings.query_concurrency, thread_name_prefix="tile") as threads:
        shown = list(threads.map(asker.ask, tiles))
    return json_response({"dashboardId": dashboard_id, "tiles": shown})


@dataclass(frozen=True, slots=True)
class Asker:
    """Asks the queries of tiles outside of the request's own thread, so it holds all it needs of the request."""

    queries: QueryService
    identity: Identity
    sources: Sources
    now_ns: int
    is_gone: Callable[[], bool]

    def ask(self, tile: Tile) -> dict[str, object]:
        """The tile with its result or its error."""
        members = {name: tile.get(name) for name in ("tile_id", "title", "chart")}
        try:
            return {**members, "result": orjson.Fragment(self._run(str(tile["query"])))}
        except WeirError as error:
            return {**members, "error": {"code": error.code, "message": error.message, **error.details}}

    def _run(self, sql: str) -> bytes:
        question = Question(
            tenant=self.identity.tenant,
            identity=f"{self.identity.kind}:{self.identity.id}",
            sql=sql,
            now_ns=self.now_ns,
            options=Options(fields=True),
            privileged=may(self.identity, Action.ADMINISTER),
        )
        result = self.queries.run(question, self.sources.resolve, self.is_gone)
        if result.length is None:
            result.close()
            raise QueryTooLarge(f"the result of a tile is over the limit of {LARGEST_TILE}: aggregate more")
        return b"".join(result)


def _asker() -> Asker:
    now_ns = time.time_ns()
    asked = load(DashboardDataSchema(), request.args)
    start, end = cast(str | None, asked["start"]), cast(str | None, asked["end"])
    if services().settings.query_time_range == "required":
        timerange.require_both(start, end)
    sources = Sources(services().storage, caller(), timerange.parse(start, end, now_ns=now_ns), None)
    return Asker(services().queries, caller(), sources, now_ns, client_disconnected(request))
