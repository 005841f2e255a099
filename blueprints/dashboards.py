"""Dashboards: create, list, read, change, delete (docs/authoring.md). Their data: blueprints/dashboard_data.py."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, cast

from flask import Blueprint, Response, request
from ulid import ULID

from errors import DashboardNotFound, InvalidRequest
from models import dashboard
from models.dashboard import Content, Dashboard, Tile
from schemas.dashboards import MOST_TILES, DashboardChangeSchema, DashboardListSchema, DashboardSchema, TileSchema
from schemas.reading import load
from web.authentication import protect
from web.authoring import Kind, all_tags, asked_tags, checked, require_authoring
from web.json_bodies import answer, json_body, json_body_or
from web.times import rfc3339

VERSION = "v1"

blueprint = protect(Blueprint("dashboards", __name__, url_prefix="/api/v1/dashboards"))


@blueprint.get("")
def list_all() -> Response:
    """Summaries, the last modified first; `?tags=` and `?limit=` narrow them."""
    asked = cast(Mapping[str, Any], load(DashboardListSchema(), request.args))
    wanted = asked_tags(asked["tags"])
    shown = [each for each in kind.all_visible() if not wanted or wanted.intersection(each.content.tags)]
    return answer([_summary(each) for each in shown[: asked["limit"]]])


@blueprint.get("/list_tags")
def tags() -> Response:
    return answer(all_tags(each.content.tags for each in kind.all_visible()))


@blueprint.put("/<dashboard_id>/add_tile")
def add_tile(dashboard_id: str) -> Response:
    found = kind.changeable(dashboard_id)
    tile = load(TileSchema(), json_body())
    tiles = [*found.content.tiles, tile]
    if len(tiles) > MOST_TILES:
        raise InvalidRequest(f"a dashboard has at most {MOST_TILES} tiles", field="tiles")
    if tile.get("tile_id") in {each["tile_id"] for each in found.content.tiles}:
        raise InvalidRequest("another tile has this tile_id", field="tile_id")
    content = replace(found.content, tiles=_identified(tiles), datasets=_authorable(tiles, "query"))
    return kind.changed(found, content)


def _asked_change(found: Dashboard) -> Content:
    """The whole dashboard by a body, or single members by the query string, but not both."""
    body = json_body_or(None)
    if (body is None) == (not request.args):
        raise InvalidRequest("send either the dashboard as the body or isFavorite, tags, renameTo in the query string")
    return _changed(found.content) if body is None else _content(body)


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
    statements = checked(*((field.format(index), str(tile["query"])) for index, tile in enumerate(tiles)))
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


kind = Kind(
    noun="dashboard",
    missing=DashboardNotFound,
    read=lambda _: _content(json_body()),
    read_change=_asked_change,
    show=_as_object,
    farewell=lambda found: {"dashboardId": found.origin.id, "message": f"dashboard {found.origin.id} deleted"},
    datasets=lambda found: found.content.datasets,
    create=dashboard.create,
    get=dashboard.get,
    list_all=dashboard.list_all,
    replace=lambda found, content, at: dashboard.replace(found.origin, content, at),
    delete=dashboard.delete,
)
kind.serve(blueprint)
