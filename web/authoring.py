"""What dashboards, filters, alerts and targets share: who may see, make and change them, under which revision.

A `Kind` holds the differences of one of the four, and adds its routes.
"""

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Generic, Protocol, TypeVar

from flask import Blueprint, Response, request

from auth.authorship import author_of, may_see, require_author, require_editor
from auth.privileges import Action, require, sees_all_rows
from errors import ChangedMeanwhile, InvalidSQL, NotFound, UnsupportedSQL
from models import authored
from models.authored import Origin
from query.service import Check, Checked
from web.caller import caller
from web.client_connection import client_disconnected
from web.json_bodies import json_response
from web.questions import asked_by_caller
from web.services import services


class Authored(Protocol):
    """An object of models/ that somebody made."""

    @property
    def origin(self) -> Origin: ...


Object = TypeVar("Object", bound=Authored)
Content = TypeVar("Content")


@dataclass(frozen=True, slots=True)
class Kind(Generic[Object, Content]):
    """One kind of authored object. Handlers of its own routes use the methods too.

    A body becomes its content by `read` for a new object, by `read_change` for one that is there. Both judge whether
    the caller may author over what the content reads.
    """

    noun: str
    missing: type[NotFound]
    read: Callable[[Origin], Content]
    read_change: Callable[[Object], Content]
    show: Callable[[Object], object]
    # The members of the response when an object was deleted.
    deleted_response: Callable[[Object], object]
    # The datasets that an object's queries read: who may not read them all does not learn that it exists.
    datasets: Callable[[Object], Collection[str]]
    # Whether its answers show what was found in rows, with rights of its author's: only to who sees all of them.
    tells_of_rows: bool = field(default=False, kw_only=True)
    # The verbs of its module in models/.
    create: Callable[[Origin, Content], None]
    get: Callable[[str, str], Object]
    list_all: Callable[[str], Iterable[Object]]
    replace: Callable[[Object, Content, datetime], None]
    delete: Callable[[Origin], None]

    def serve(self, blueprint: Blueprint) -> None:
        """Give the blueprint the routes that make, show, change and delete one object."""
        object_rule = f"/<{self.noun}_id>"
        blueprint.add_url_rule("", "create", self._create, methods=["POST"])
        blueprint.add_url_rule(object_rule, "get", _of_one(self.respond), methods=["GET"])
        blueprint.add_url_rule(object_rule, "change", _of_one(self._change), methods=["PUT"])
        blueprint.add_url_rule(object_rule, "delete", _of_one(self._delete), methods=["DELETE"])

    def visible(self, object_id: str) -> Object:
        """The object. Raises Forbidden, and `missing` also where the caller may not read what the object does."""
        require(caller(), Action.READ_AUTHORED)
        stored_object = self.get(caller().tenant, object_id)
        if not self._is_visible(stored_object):
            raise self.missing(f"no {self.noun} {object_id}")
        return stored_object

    def all_visible(self) -> list[Object]:
        """The objects that the caller may see. Raises Forbidden."""
        require(caller(), Action.READ_AUTHORED)
        return [each for each in self.list_all(caller().tenant) if self._is_visible(each)]

    def _is_visible(self, stored_object: Object) -> bool:
        datasets = self.datasets(stored_object)
        tells = not self.tells_of_rows or all(sees_all_rows(caller(), name) for name in datasets)
        return tells and may_see(caller(), datasets)

    def changeable(self, object_id: str) -> Object:
        """The object. Raises Forbidden unless the caller may change it, ChangedMeanwhile if it read another revision.

        `If-Match` is optional, as older clients do not send it. A proxy that compresses makes its tag a weak one.
        """
        require_authoring()
        stored_object = self.visible(object_id)
        require_editor(caller(), stored_object.origin, self.datasets(stored_object))
        if request.if_match and not request.if_match.contains_weak(str(stored_object.origin.revision)):
            raise ChangedMeanwhile("somebody else has changed this since you read it: read it again")
        return stored_object

    def respond(self, object_id: str) -> Response:
        """The object as it is now, with its revision as the ETag that `If-Match` takes."""
        stored_object = self.visible(object_id)
        response = json_response(self.show(stored_object))
        response.set_etag(str(stored_object.origin.revision))
        return response

    def replace_content(self, stored_object: Object, content: Content) -> Response:
        """The answer once the object has this content. Raises ChangedMeanwhile when somebody else was faster."""
        self.replace(stored_object, content, now())
        return self.respond(stored_object.origin.id)

    def _create(self) -> Response:
        require_authoring()
        origin = authored.fresh(caller().tenant, author_of(caller()), now())
        self.create(origin, self.read(origin))
        return self.respond(origin.id)

    def _change(self, object_id: str) -> Response:
        stored_object = self.changeable(object_id)
        return self.replace_content(stored_object, self.read_change(stored_object))

    def _delete(self, object_id: str) -> Response:
        stored_object = self.changeable(object_id)
        members = self.deleted_response(stored_object)
        self.delete(stored_object.origin)
        return json_response(members)


def _of_one(view: Callable[[str], Response]) -> Callable[..., Response]:
    """The view as Flask calls it, with its argument under the route's name for it."""
    return lambda **named: view(*named.values())


def now() -> datetime:
    return datetime.now(UTC)


def checked(*statements: tuple[str, str]) -> list[Checked]:
    """The check of each statement, given as the member that holds it and its text.

    A query process checks them, because hostile SQL can take a parser long. Raises InvalidSQL and UnsupportedSQL with
    the member, and what a query raises that gets no slot or no time.
    """
    if not statements:
        return []
    with services().queries.checking(asked_by_caller(statements[0][1]), client_disconnected(request)) as check:
        return [_checked(check, field, sql) for field, sql in statements]


def _checked(check: Check, field: str, sql: str) -> Checked:
    try:
        return check(sql)
    except (InvalidSQL, UnsupportedSQL) as error:
        raise type(error)(error.message, **{**error.details, "field": field}) from error


def require_authoring(datasets: Collection[str] = ()) -> None:
    """Raises Forbidden unless the caller may author over every one of the datasets, and somewhere at all."""
    require_author(caller(), datasets)


def asked_tags(text: str) -> frozenset[str]:
    """`?tags=a,b`: any of them will do."""
    return frozenset(tag.strip() for tag in text.split(",") if tag.strip())


def all_tags(objects: Iterable[Collection[str]]) -> list[str]:
    """Every tag in use, once, in order."""
    return sorted({tag for tags in objects for tag in tags})
