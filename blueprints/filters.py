"""Filters: saved queries over one dataset (docs/authoring.md)."""

from collections.abc import Mapping
from typing import Any, cast

from flask import Blueprint, Response

from errors import FilterNotFound, InvalidRequest
from models import filter as filters
from models.filter import Content, Filter
from query import timerange
from schemas.filters import FilterSchema
from schemas.reading import load
from web.authentication import protect
from web.authoring import Kind, checked, now, require_authoring
from web.caller import caller
from web.json_bodies import answer, json_body
from web.services import services
from web.times import rfc3339

VERSION = "v2"

blueprint = protect(Blueprint("filters", __name__, url_prefix="/api/v1/filters"))


@blueprint.get("")
def list_all() -> Response:
    """The filters of the datasets that the caller may read, by name."""
    return answer([_as_object(each) for each in kind.all_visible()])


def _content(body: object) -> Content:
    """What a body asks for, when the caller may author over the dataset. Raises DatasetNotFound for one unknown."""
    asked = cast(Mapping[str, Any], load(FilterSchema(), body))
    require_authoring([asked["dataset"]])
    services().storage.find(caller().tenant, asked["dataset"])
    if asked["query"]["filter_type"] == "sql":
        _require_only(asked["dataset"], asked["query"]["filter_query"])
    return Content(
        dataset=asked["dataset"],
        name=asked["name"],
        query=asked["query"],
        time_filter=_time_filter(asked["time_filter"]),
        tags=asked["tags"] or [],
    )


def _require_only(dataset: str, sql: str) -> None:
    (statement,) = checked(("query.filter_query", sql))
    read = statement.datasets
    if set(read) != {dataset}:
        named = ", ".join(read) or "none"
        raise InvalidRequest(f"the query reads {named}, not stream_name {dataset}", field="query.filter_query")


def _time_filter(asked: Mapping[str, str] | None) -> dict[str, str] | None:
    """As it was sent, when it is a time range. Raises InvalidTimeRange."""
    if asked is None:
        return None
    timerange.parse(asked["start"], asked["end"], now_ns=int(now().timestamp()) * timerange.NS_PER_SECOND)
    return {"from": asked["start"], "to": asked["end"]}


def _as_object(found: Filter) -> dict[str, object]:
    return {
        "version": VERSION,
        "user_id": found.origin.author.name,
        "filter_id": found.origin.id,
        "stream_name": found.content.dataset,
        "filter_name": found.content.name,
        "query": found.content.query,
        "time_filter": found.content.time_filter,
        "tags": found.content.tags,
        "created": rfc3339(found.origin.created_at),
        "modified": rfc3339(found.origin.modified_at),
    }


kind = Kind(
    noun="filter",
    missing=FilterNotFound,
    read=lambda _: _content(json_body()),
    read_change=lambda _: _content(json_body()),
    show=_as_object,
    farewell=lambda found: {"filter_id": found.origin.id, "message": f"filter {found.origin.id} deleted"},
    datasets=lambda found: [found.content.dataset],
    create=filters.create,
    get=filters.get,
    list_all=filters.list_all,
    replace=lambda found, content, at: filters.replace(found.origin, content, at),
    delete=filters.delete,
)
kind.serve(blueprint)
