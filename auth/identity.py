"""Who makes a request and what that identity holds. Plain values; knows neither HTTP nor the database."""

from dataclasses import dataclass
from enum import StrEnum


class Kind(StrEnum):
    """The identity kinds of spec 5.1."""

    NATIVE = "native"
    OAUTH = "oauth"
    API_KEY = "api_key"


class Privilege(StrEnum):
    """Spec 2.2."""

    INGESTOR = "ingestor"
    READER = "reader"
    WRITER = "writer"
    ADMIN = "admin"


@dataclass(frozen=True, slots=True)
class Tag:
    """Narrows a reader to the rows whose `field` holds `value`."""

    field: str
    value: str


@dataclass(frozen=True, slots=True)
class Entry:
    """One privilege of a role. `dataset` None: on every dataset; `tag` None: on every row."""

    privilege: Privilege
    dataset: str | None = None
    tag: Tag | None = None


@dataclass(frozen=True, slots=True)
class Identity:
    """`id` is the user name, or a key's keyId; `name` is for people: the user name or the key's name.

    `entries` are those of all roles together.
    """

    tenant: str
    kind: Kind
    id: str
    name: str
    roles: tuple[str, ...]
    entries: tuple[Entry, ...]
