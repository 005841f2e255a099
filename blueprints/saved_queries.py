"""Saved queries: what the caller asked lately and what they keep. Nobody else sees them; who shares, makes a filter."""

from typing import cast

from flask import Blueprint, Response

from auth.privileges import Action, require
from models import saved_query
from models.saved_query import Owner, SavedQuery
from schemas.reading import load
from schemas.saved_queries import SavedQuerySchema
from web.authentication import protect
from web.authoring import now
from web.caller import caller
from web.json_bodies import json_body, json_response
from web.times import rfc3339

blueprint = protect(Blueprint("saved_queries", __name__, url_prefix="/api/v1/saved-queries"))


@blueprint.get("")
def list_all() -> Response:
    """The caller's own, the latest first; those without a name are the history."""
    return json_response([_as_object(each) for each in saved_query.list_all(_owner())])


@blueprint.post("")
def create() -> Response:
    """Note the query in the history or, with a name, keep it. It is not judged: it may be half done."""
    owner = _owner()
    members = load(SavedQuerySchema(), json_body())
    name, query = cast(str | None, members["name"]), cast(str, members["query"])
    made = saved_query.note(owner, query, now()) if name is None else saved_query.keep(owner, name, query, now())
    return json_response(_as_object(made))


@blueprint.delete("/<query_id>")
def delete(query_id: str) -> Response:
    """Forget it."""
    forgotten = saved_query.delete(_owner(), query_id)
    return json_response({"id": forgotten.id, "message": f"query {forgotten.id} forgotten"})


def _owner() -> Owner:
    """The caller, who has to be one who may query at all."""
    require(caller(), Action.QUERY)
    return Owner(caller().tenant, caller().kind.value, caller().id)


def _as_object(found: SavedQuery) -> dict[str, object]:
    return {"id": found.id, "name": found.name, "query": found.query, "askedAt": rfc3339(found.asked_at)}
