"""Dashboards: create, list, read, change, delete (docs/authoring.md). Their data: blueprints/dashboard_data.py."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, cast

from flask import Blueprint, Response, request
from ulid import ULID

from auth.authorship import may_see
from auth.privileges import Action, require
from blueprints.authentication import caller, protect
from blueprints.authoring import (
    all_tags,
    asked_tags,
    new_origin,
    now,
    require_authoring,
    require_change,
    require_seen,
    revised,
    statement_of,
)
from blueprints.management import answer, json_body, json_body_or
from blueprints.times import rfc3339
from errors import DashboardNotFound, InvalidRequest
from models import dashboard
from models.dashboard import Content, Dashboard, Tile
from schemas.dashboards import MOST_TILES, DashboardChangeSchema, DashboardListSchema, DashboardSchema, TileSchema
from schemas.reading import load

VERSION = "v1"

blueprint = protect(Blueprint("dashboards", __name__, url_prefix="/api/v1/dashboards"))


@blueprint.post("")
def create() -> Response:
    require_authoring()
    content = _content(json_body())
    origin = new_origin()
    dashboard.create(origin, content)
    return revised(_as_object(Dashboard(origin, content)), origin)


@blueprint.get("")
def every() -> Response:
    """Summaries, the last modified first; `?tags=` and `?limit=` narrow them."""
    require(caller(), Action.READ_AUTHORED)
    asked = cast(Mapping[str, Any], load(DashboardListSchema(), request.args))
    wanted = asked_tags(asked["tags"])
    shown = [each for each in _visible() if not wanted or wanted.intersection(each.content.tags)]
    return answer([_summary(each) for each in shown[: asked["limit"]]])


@blueprint.get("/list_tags")
def tags() -> Response:
    require(caller(), Action.READ_AUTHORED)
    return answer(all_tags(each.content.tags for each in _visible()))


@blueprint.get("/<dashboard_id>")
def get(dashboard_id: str) -> Response:
    found = visible(dashboard_id)
    return revised(_as_object(found), found.origin)


@blueprint.put("/<dashboard_id>")
def change(dashboard_id: str) -> Response:
    """The whole dashboard by a body, or single members by the query string, but not both."""
    found = _changeable(dashboard_id)
    body = json_body_or(None)
    if (body is None) == (not request.args):
        raise InvalidRequest("send either the dashboard as the body or isFavorite, tags, renameTo in the query string")
    return _replace(found, _changed(found.content) if body is None else _content(body))


@blueprint.put("/<dashboard_id>/add_tile")
def add_tile(dashboard_id: str) -> Response:
    found = _changeable(dashboard_id)
    tile = load(TileSchema(), json_body())
    tiles = [*found.content.tiles, tile]
    if len(tiles) > MOST_TILES:
        raise InvalidRequest(f"a dashboard has at most {MOST_TILES} tiles", field="tiles")
    if tile.get("tile_id") in {each["tile_id"] for each in found.content.tiles}:
        raise InvalidRequest("another tile has this tile_id", field="tile_id")
    return _replace(found, replace(found.content, tiles=_identified(tiles), datasets=_authorable(tiles, "query")))


@blueprint.delete("/<dashboard_id>")
def delete(dashboard_id: str) -> Response:
    found = _changeable(dashboard_id)
    dashboard.delete(found.origin)
    return answer({"dashboardId": dashboard_id, "message": f"dashboard {dashboard_id} deleted"})


def visible(dashboard_id: str) -> Dashboard:
    """The dashboard. Raises Forbidden, and DashboardNotFound also when a tile reads what the caller may not."""
    require(caller(), Action.READ_AUTHORED)
    found = dashboard.get(caller().tenant, dashboard_id)
    require_seen(found.content.datasets, DashboardNotFound(f"no dashboard {dashboard_id}"))
    return found


def _visible() -> list[Dashboard]:
    return [each for each in dashboard.every(caller().tenant) if may_see(caller(), each.content.datasets)]


def _changeable(dashboard_id: str) -> Dashboard:
    require_authoring()
    found = visible(dashboard_id)
    require_change(found.origin, found.content.datasets)
    return found


def _replace(found: Dashboard, content: Content) -> Response:
    dashboard.replace(found.origin, content, at := now())
    origin = replace(found.origin, modified_at=at, revision=found.origin.revision + 1)
    return revised(_as_object(Dashboard(origin, content)), origin)


def _content(body: object) -> Content:
    """What a body asks for, when the caller may author over everything that its tiles read."""
    asked = cast(Mapping[str, Any], load(DashboardSchema(), body))
    return Content(
        title=asked["title"],
        kind=asked["kind"],
        is_favorite=asked["is_favorite"],
        tags=asked["tags"] or [],
        tiles=_identified(asked["tiles"]),
        datasets=_authorable(asked["tiles"], "tiles.{}.query"),
        extra=asked["extra"],
    )


def _changed(content: Content) -> Content:
    asked = dict(load(DashboardChangeSchema(), request.args))
    if not asked:
        raise InvalidRequest("nothing to change: isFavorite, tags or renameTo")
    if "tags" in asked:
        asked["tags"] = sorted(asked_tags(cast(str, asked["tags"])))
    return replace(content, **cast(Mapping[str, Any], asked))


def _authorable(tiles: Sequence[Tile], field: str) -> list[str]:
    """All datasets that the tiles read, in order. Raises Forbidden, InvalidSQL, UnsupportedSQL."""
    statements = [statement_of(str(tile["query"]), field.format(index)) for index, tile in enumerate(tiles)]
    datasets = sorted({name for statement in statements for name in statement.datasets})
    require_authoring(datasets)
    return datasets


def _identified(tiles: Sequence[Tile]) -> list[Tile]:
    return [{"tile_id": str(ULID()), **tile} for tile in tiles]


def _as_object(found: Dashboard) -> dict[str, object]:
    tiles = {"tiles": found.content.tiles, "tenantId": found.origin.tenant}
    return {**found.content.extra, "version": VERSION, **_summary(found), **tiles}


def _summary(found: Dashboard) -> dict[str, object]:
    return {
        "dashboardId": found.origin.id,
        "title": found.content.title,
        "author": found.origin.author.name,
        "created": rfc3339(found.origin.created_at),
        "modified": rfc3339(found.origin.modified_at),
        "dashboardType": found.content.kind,
        "tags": found.content.tags,
        "isFavorite": found.content.is_favorite,
    }
