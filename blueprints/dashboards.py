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
from web.json_bodies import json_body, json_body_or, json_response
from web.times import rfc3339

VERSION = "v1"

blueprint = protect(Blueprint("dashboards", __name__, url_prefix="/api/v1/dashboards"))


@blueprint.get("")
def list_all() -> Response:
    """Summaries, the last modified first; `?tags=` and `?limit=` narrow them."""
    asked = cast(Mapping[str, Any], load(DashboardListSchema(), request.args))
    wanted = asked_tags(asked["tags"])
    shown = [each for each in kind.all_visible() if not wanted or wanted.intersection(each.content.tags)]
    return json_response([_summary(each) for each in shown[: asked["limit"]]])


@blueprint.get("/list_tags")
def tags() -> Response:
    return json_response(all_tags(each.content.tags for each in kind.all_visible()))


@blueprint.put("/<dashboard_id>/add_tile")
def add_tile(dashboard_id: str) -> Response:
    stored_dashboard = kind.changeable(dashboard_id)
    tile = load(TileSchema(), json_body())
    tiles = [*stored_dashboard.content.tiles, tile]
    if len(tiles) > MOST_TILES:
        raise InvalidRequest(f"a dashboard has at most {MOST_TILES} tiles", field="tiles")
    if tile.get("tile_id") in {each["tile_id"] for each in stored_dashboard.content.tiles}:
        raise InvalidRequest("another tile has this tile_id", field="tile_id")
    content = replace(stored_dashboard.content, tiles=_identified(tiles), datasets=_authorable(tiles, "query"))
    return kind.replace_content(stored_dashboard, content)


def _asked_change(stored_dashboard: Dashboard) -> Content:
    """The whole dashboard by a body, or single members by the query string, but not both."""
    body = json_body_or(None)
    if (body is None) == (not request.args):
        raise InvalidRequest("send either the dashboard as the body or isFavorite, tags, renameTo in the query string")
    return _changed(stored_dashboard.content) if body is None else _content(body)


def _content(body: object) -> Content:
    """What a body asks for, when the caller may author over everything that its tiles read."""
    members = cast(Mapping[str, Any], load(DashboardSchema(), body))
    return Content(
        title=members["title"],
        kind=members["kind"],
        is_favorite=members["is_favorite"],
        tags=members["tags"] or [],
        tiles=_identified(members["tiles"]),
        datasets=_authorable(members["tiles"], "tiles.{}.query"),
        extra=members["extra"],
    )


def _changed(content: Content) -> Content:
    changes = dict(load(DashboardChangeSchema(), request.args))
    if not changes:
        raise InvalidRequest("nothing to change: isFavorite, tags or renameTo")
    if "tags" in changes:
        changes["tags"] = sorted(asked_tags(cast(str, changes["tags"])))
    return replace(content, **cast(Mapping[str, Any], changes))


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


def _summary(stored_dashboard: Dashboard) -> dict[str, object]:
    return {
        "dashboardId": stored_dashboard.origin.id,
        "title": stored_dashboard.content.title,
        "author": stored_dashboard.origin.author.name,
        "created": rfc3339(stored_dashboard.origin.created_at),
        "modified": rfc3339(stored_dashboard.origin.modified_at),
        "dashboardType": stored_dashboard.content.kind,
        "tags": stored_dashboard.content.tags,
        "isFavorite": stored_dashboard.content.is_favorite,
    }


kind = Kind(
    noun="dashboard",
    missing=DashboardNotFound,
    read=lambda _: _content(json_body()),
    read_change=_asked_change,
    show=_as_object,
    deleted_response=lambda found: {"dashboardId": found.origin.id, "message": f"dashboard {found.origin.id} deleted"},
    datasets=lambda found: found.content.datasets,
    create=dashboard.create,
    get=dashboard.get,
    list_all=dashboard.list_all,
    replace=lambda found, content, at: dashboard.replace(found.origin, content, at),
    delete=dashboard.delete,
)
kind.serve(blueprint)
