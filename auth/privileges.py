"""The rules of access (spec 2.2, docs/access.md): pure functions of an identity, an action and a dataset."""

from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from types import MappingProxyType
from typing import Final

from auth.identity import Entry, Identity, Privilege, Tag
from auth.names import is_text
from errors import Forbidden, InvalidRole


class Action(StrEnum):
    INGEST = "ingest"
    QUERY = "query"
    LIST = "list"
    READ_METADATA = "read_metadata"
    READ_AUTHORED = "read_authored"
    AUTHOR = "author"
    ADMINISTER = "administer"


READS: Final = frozenset({Action.QUERY, Action.LIST, Action.READ_METADATA, Action.READ_AUTHORED})

GRANTS: Final[Mapping[Privilege, frozenset[Action]]] = MappingProxyType(
    {
        Privilege.INGESTOR: frozenset({Action.INGEST}),
        Privilege.READER: READS,
        Privilege.WRITER: READS | {Action.AUTHOR},
        Privilege.ADMIN: frozenset(Action),
    }
)

# Without a dataset these need the privilege on any dataset at all: what is then shown is filtered by dataset
# (lists, dashboards) or reads none (`SELECT 1`). Every other action without a dataset is tenant-wide.
ANYWHERE: Final = READS

# Where changes of rights are recorded (web/audit.py). No client can make a dataset of such a name.
AUDIT_DATASET: Final = "p_audit"

# The least privilege that grants an action: what a refusal names.
LEAST: Final[Mapping[Action, Privilege]] = MappingProxyType(
    {action: next(privilege for privilege in Privilege if action in GRANTS[privilege]) for action in Action}
)


def may(identity: Identity, action: Action, dataset: str | None = None) -> bool:
    """Whether one of the identity's entries grants the action on the dataset.

    >>> from auth.identity import Kind
    >>> ann = Identity("default", Kind.NATIVE, "ann", "ann", (), (Entry(Privilege.READER, "app"),))
    >>> may(ann, Action.QUERY, "app"), may(ann, Action.QUERY, "audit"), may(ann, Action.INGEST, "app")
    (True, False, False)
    """
    return any(_grants(entry, action, dataset) for entry in identity.entries)


def require(identity: Identity, action: Action, dataset: str | None = None) -> None:
    """Raises Forbidden, naming the privilege and the dataset, unless the identity may."""
    if may(identity, action, dataset):
        return
    privilege = LEAST[action]
    where = "" if dataset is None else f" on dataset {dataset}"
    raise Forbidden(f"this needs the privilege {privilege}{where}", privilege=privilege.value, dataset=dataset)


def require_anywhere(identity: Identity, action: Action) -> None:
    """Raises Forbidden unless an entry grants the action on some dataset: one that the request names later."""
    if not any(action in GRANTS[entry.privilege] for entry in identity.entries):
        require(identity, action)


def row_predicates(identity: Identity, dataset: str) -> frozenset[Tag] | None:
    """The tags of which a row must bear at least one to be seen; None: every row may be seen.

    The empty set, of an identity that may not query the dataset, lets no row through.
    """
    granting = [entry for entry in identity.entries if _grants(entry, Action.QUERY, dataset)]
    tags = frozenset(entry.tag for entry in granting if entry.tag is not None)
    return None if any(entry.tag is None for entry in granting) else tags


def sees_all_rows(identity: Identity, dataset: str | None = None) -> bool:
    """Whether the identity may be told what was made of all rows of the dataset, or, without one, of all datasets.

    This is the rule for every value, count, size, state and error that comes from rows and not from a query of the
    identity's own, which `row_predicates` narrows: of rows that are not theirs, nobody learns that they exist.
    """
    if dataset is not None:
        return may(identity, Action.QUERY, dataset) and row_predicates(identity, dataset) is None
    unnarrowed = (entry for entry in identity.entries if entry.tag is None and entry.dataset is None)
    is_narrowed = any(entry.tag is not None for entry in identity.entries)
    return not is_narrowed or any(Action.QUERY in GRANTS[entry.privilege] for entry in unnarrowed)


def require_all_rows(identity: Identity, dataset: str) -> None:
    """Raises Forbidden unless the identity sees all rows of the dataset."""
    if not sees_all_rows(identity, dataset):
        message = f"these numbers are of all rows of {dataset}, of which you may read some; count them by SQL"
        raise Forbidden(message, dataset=dataset)


def is_administrator(entries: Iterable[Entry]) -> bool:
    """Whether these entries give full control over the tenant."""
    return any(_grants(entry, Action.ADMINISTER, None) for entry in entries)


def _grants(entry: Entry, action: Action, dataset: str | None) -> bool:
    if action not in GRANTS[entry.privilege]:
        return False
    if dataset == AUDIT_DATASET and not _opens_audit(entry, action):
        return False
    if entry.dataset is None:
        return True
    return action in ANYWHERE if dataset is None else entry.dataset == dataset


def _opens_audit(entry: Entry, action: Action) -> bool:
    """The record of changes is read by administrators, and by readers of this very dataset; written by nobody."""
    return action in READS and (entry.privilege is Privilege.ADMIN or entry.dataset == AUDIT_DATASET)


def parse_entries(raw: object) -> tuple[Entry, ...]:
    """The entries of a role as clients write them. Raises InvalidRole: nothing unknown is ever ignored.

    >>> parse_entries([{"privilege": "reader", "resource": {"stream": "app", "tag": "env=prod"}}])
    (Entry(privilege=<Privilege.READER: 'reader'>, dataset='app', tag=Tag(field='env', value='prod')),)
    """
    if not isinstance(raw, Sequence) or isinstance(raw, str):
        raise InvalidRole("a role is an array of privilege entries")
    return tuple(_parse_entry(entry) for entry in raw)


def _parse_entry(raw: object) -> Entry:
    if not isinstance(raw, Mapping):
        raise InvalidRole("a privilege entry is an object")
    _refuse_unknown(raw, {"privilege", "resource"})
    privilege = _parse_privilege(raw.get("privilege"))
    resource = raw.get("resource")
    if resource is None:
        return Entry(privilege)
    if not isinstance(resource, Mapping) or not resource:
        raise InvalidRole("`resource` is an object that names a dataset or a tag; leave it out for all datasets")
    _refuse_unknown(resource, {"dataset", "stream", "tag"})
    return Entry(privilege, _parse_dataset(resource), _parse_tag(privilege, resource))


def _parse_privilege(raw: object) -> Privilege:
    choices = ", ".join(Privilege)
    if not isinstance(raw, str):
        raise InvalidRole(f"`privilege` is missing: one of {choices}", field="privilege")
    try:
        return Privilege(raw)
    except ValueError as error:
        raise InvalidRole(f"unknown privilege {raw[:100]!r}: one of {choices}", field="privilege") from error


def _parse_dataset(resource: Mapping[object, object]) -> str | None:
    """`stream` is the older clients' word for `dataset`; `*` is theirs for all of them."""
    names = [resource[word] for word in ("dataset", "stream") if word in resource]
    if not names:
        return None
    if len(names) > 1 or not is_text(names[0]):
        raise InvalidRole("`resource` names one dataset, by `dataset` or by `stream`", field="resource")
    return None if names[0] == "*" else str(names[0])


def _parse_tag(privilege: Privilege, resource: Mapping[object, object]) -> Tag | None:
    if "tag" not in resource:
        return None
    if privilege is not Privilege.READER:
        raise InvalidRole(f"only reader is narrowed by a tag, not {privilege}", field="tag")
    tag = resource["tag"]
    if not is_text(tag) or not str(tag).partition("=")[0] or "=" not in str(tag):
        raise InvalidRole("`tag` is `field=value`", field="tag")
    field, _, value = str(tag).partition("=")
    return Tag(field, value)


def _refuse_unknown(raw: Mapping[object, object], known: set[str]) -> None:
    unknown = sorted(str(name)[:100] for name in raw if name not in known)
    if unknown:
        raise InvalidRole(f"unknown member: {', '.join(unknown)}")
