"""What the routes of dashboards, filters, alerts and targets share: their SQL, their revisions, who may do what."""

from collections.abc import Collection, Iterable
from datetime import UTC, datetime

from flask import Response, request

from auth.authorship import author_of, may_see, require_author, require_editor
from blueprints.authentication import caller
from blueprints.management import answer
from errors import ChangedMeanwhile, InvalidSQL, NotFound, UnsupportedSQL
from models import authored
from models.authored import Origin
from query.parse import Statement, parse
from runtime import offload


def new_origin() -> Origin:
    """Of an object that the caller is about to make."""
    return authored.fresh(caller().tenant, author_of(caller()), now())


def now() -> datetime:
    return datetime.now(UTC)


def statement_of(sql: str, field: str) -> Statement:
    """The parsed query. Raises InvalidSQL and UnsupportedSQL, naming the member that holds it."""
    try:
        # Hostile SQL takes a parser long; in a thread it cannot keep the other requests waiting.
        return offload(parse, sql)
    except (InvalidSQL, UnsupportedSQL) as error:
        raise type(error)(error.message, **{**error.details, "field": field}) from error


def require_seen(datasets: Collection[str], missing: NotFound) -> None:
    """Raises `missing` for what the caller may not see: the same as for what does not exist."""
    if not may_see(caller(), datasets):
        raise missing


def require_change(origin: Origin, datasets: Collection[str] = ()) -> None:
    """Raises Forbidden unless the caller may change the object, ChangedMeanwhile if it read another revision.

    `If-Match` is optional, as older clients do not send it. A proxy that compresses makes its tag a weak one.
    """
    require_editor(caller(), origin, datasets)
    if request.if_match and not request.if_match.contains_weak(str(origin.revision)):
        raise ChangedMeanwhile("somebody else has changed this since you read it: read it again")


def require_authoring(datasets: Collection[str] = ()) -> None:
    """Raises Forbidden unless the caller may author over every one of the datasets, and somewhere at all."""
    require_author(caller(), datasets)


def revised(value: object, origin: Origin) -> Response:
    """The object as JSON, with its revision as the ETag that `If-Match` takes."""
    response = answer(value)
    response.set_etag(str(origin.revision))
    return response


def asked_tags(text: str) -> frozenset[str]:
    """`?tags=a,b`: any of them will do."""
    return frozenset(tag.strip() for tag in text.split(",") if tag.strip())


def all_tags(objects: Iterable[Collection[str]]) -> list[str]:
    """Every tag in use, once, in order."""
    return sorted({tag for tags in objects for tag in tags})
