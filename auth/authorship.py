"""Who may see and change authored objects (spec 2.2, docs/authoring.md), and who their authors are by now."""

from collections.abc import Collection
from datetime import datetime

from auth.identity import Identity, Kind
from auth.privileges import GRANTS, Action, may, require
from auth.verify import identity_of
from errors import Forbidden, KeyNotFound
from models import api_key, user
from models.authored import Author, Origin


def author_of(identity: Identity) -> Author:
    return Author(identity.kind, identity.id, identity.name)


def may_see(identity: Identity, datasets: Collection[str]) -> bool:
    """Whether the identity may read all of the datasets: the text of a query tells of every one that it reads."""
    return may(identity, Action.READ_AUTHORED) and all(may(identity, Action.READ_AUTHORED, name) for name in datasets)


def require_author(identity: Identity, datasets: Collection[str] = ()) -> None:
    """Raises Forbidden unless the identity may author over every one of the datasets, and somewhere at all."""
    for name in datasets:
        require(identity, Action.AUTHOR, name)
    if not any(Action.AUTHOR in GRANTS[entry.privilege] for entry in identity.entries):
        require(identity, Action.AUTHOR)


def require_editor(identity: Identity, origin: Origin, datasets: Collection[str] = ()) -> None:
    """Raises Forbidden unless the object is the identity's own, and still within its rights; or an administrator's."""
    require_author(identity, datasets)
    is_own = (identity.kind, identity.id) == (origin.author.kind, origin.author.id)
    if not is_own and not may(identity, Action.ADMINISTER):
        raise Forbidden(f"only {origin.author.name}, who made this, and administrators may change it")


def find(tenant: str, author: Author, now: datetime) -> Identity | None:
    """The author with the roles it holds now; None when it is deleted, or its key has expired."""
    if author.kind == Kind.API_KEY:
        return _find_key(tenant, author.id, now)
    found = user.find(tenant, author.id)
    return None if found is None else identity_of(tenant, Kind(author.kind), found.name, found.name, found.roles)


def _find_key(tenant: str, key_id: str, now: datetime) -> Identity | None:
    try:
        record = api_key.get(tenant, key_id)
    except KeyNotFound:
        return None
    if record.expires_at is not None and record.expires_at <= now:
        return None
    return identity_of(tenant, Kind.API_KEY, key_id, record.name, record.roles)
