"""Filters: saved queries over one dataset (docs/authoring.md)."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, cast

from flask import Blueprint, Response

from auth.authorship import may_see
from auth.privileges import Action, require
from blueprints.authentication import caller, protect
from blueprints.authoring import (
    new_origin,
    now,
    require_authoring,
    require_change,
    require_seen,
    revised,
    statement_of,
)
from blueprints.management import answer, json_body
from blueprints.parts import parts
from blueprints.times import rfc3339
from errors import FilterNotFound, InvalidRequest
from models import filter as filters
from models.filter import Content, Filter
from query import timerange
from schemas.filters import FilterSchema
from schemas.reading import load

VERSION = "v2"

blueprint = protect(Blueprint("filters", __name__, url_prefix="/api/v1/filters"))


@blueprint.post("")
def create() -> Response:
    require_authoring()
    content = _content(json_body())
    origin = new_origin()
    filters.create(origin, content)
    return revised(_as_object(Filter(origin, content)), origin)


@blueprint.get("")
def every() -> Response:
    """The filters of the datasets that the caller may read, by name."""
    require(caller(), Action.READ_AUTHORED)
    found = filters.every(caller().tenant)
    return answer([_as_object(each) for each in found if may_see(caller(), [each.content.dataset])])


@blueprint.get("/<filter_id>")
def get(filter_id: str) -> Response:
    found = _visible(filter_id)
    return revised(_as_object(found), found.origin)


@blueprint.put("/<filter_id>")
def change(filter_id: str) -> Response:
    found = _changeable(filter_id)
    content = _content(json_body())
    filters.replace(found.origin, content, at := now())
    origin = replace(found.origin, modified_at=at, revision=found.origin.revision + 1)
    return revised(_as_object(Filter(origin, content)), origin)


@blueprint.delete("/<filter_id>")
def delete(filter_id: str) -> Response:
    found = _changeable(filter_id)
    filters.delete(found.origin)
    return answer({"filter_id": filter_id, "message": f"filter {filter_id} deleted"})


def _visible(filter_id: str) -> Filter:
    require(caller(), Action.READ_AUTHORED)
    found = filters.get(caller().tenant, filter_id)
    require_seen([found.content.dataset], FilterNotFound(f"no filter {filter_id}"))
    return found


def _changeable(filter_id: str) -> Filter:
    require_authoring()
    found = _visible(filter_id)
    require_change(found.origin, [found.content.dataset])
    return found


def _content(body: object) -> Content:
    """What a body asks for, when the caller may author over the dataset. Raises DatasetNotFound for one unknown."""
    asked = cast(Mapping[str, Any], load(FilterSchema(), body))
    require_authoring([asked["dataset"]])
    parts().storage.find(caller().tenant, asked["dataset"])
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
    read = statement_of(sql, "query.filter_query").datasets
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
