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
from web.json_bodies import json_body, json_response
from web.services import services
from web.times import rfc3339

VERSION = "v2"

blueprint = protect(Blueprint("filters", __name__, url_prefix="/api/v1/filters"))


@blueprint.get("")
def list_all() -> Response:
    """The filters of the datasets that the caller may read, by name."""
    return json_response([_as_object(each) for each in kind.all_visible()])


def _content(body: object) -> Content:
    """What a body asks for, when the caller may author over the dataset. Raises DatasetNotFound for one unknown."""
    members = cast(Mapping[str, Any], load(FilterSchema(), body))
    require_authoring([members["dataset"]])
    services().storage.find(caller().tenant, members["dataset"])
    if members["query"]["filter_type"] == "sql":
        _require_only(members["dataset"], members["query"]["filter_query"])
    return Content(
        dataset=members["dataset"],
        name=members["name"],
        query=members["query"],
        time_filter=_time_filter(members["time_filter"]),
        tags=members["tags"] or [],
    )


def _require_only(dataset: str, sql: str) -> None:
    (statement,) = checked(("query.filter_query", sql))
    read = statement.datasets
    if set(read) != {dataset}:
        named = ", ".join(read) or "none"
        raise InvalidRequest(f"the query reads {named}, not stream_name {dataset}", field="query.filter_query")


def _time_filter(time_range: Mapping[str, str] | None) -> dict[str, str] | None:
    """As it was sent, when it is a time range. Raises InvalidTimeRange."""
    if time_range is None:
        return None
    timerange.parse(time_range["start"], time_range["end"], now_ns=int(now().timestamp()) * timerange.NS_PER_SECOND)
    return {"from": time_range["start"], "to": time_range["end"]}


def _as_object(stored_filter: Filter) -> dict[str, object]:
    return {
        "version": VERSION,
        "user_id": stored_filter.origin.author.name,
        "filter_id": stored_filter.origin.id,
        "stream_name": stored_filter.content.dataset,
        "filter_name": stored_filter.content.name,
        "query": stored_filter.content.query,
        "time_filter": stored_filter.content.time_filter,
        "tags": stored_filter.content.tags,
        "created": rfc3339(stored_filter.origin.created_at),
        "modified": rfc3339(stored_filter.origin.modified_at),
    }


kind = Kind(
    noun="filter",
    missing=FilterNotFound,
    read=lambda _: _content(json_body()),
    read_change=lambda _: _content(json_body()),
    show=_as_object,
    deleted_response=lambda found: {"filter_id": found.origin.id, "message": f"filter {found.origin.id} deleted"},
    datasets=lambda found: [found.content.dataset],
    create=filters.create,
    get=filters.get,
    list_all=filters.list_all,
    replace=lambda found, content, at: filters.replace(found.origin, content, at),
    delete=filters.delete,
)
kind.serve(blueprint)
