"""A bulk body as items: an action line, and for most actions a line with the document. Knows no columns."""

from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Any, Final, NamedTuple

import orjson

from errors import InvalidBody, TooLarge
from ingest.dataset_naming import dataset_named

MOST_ITEMS: Final = 100_000
"""Of one request: each is looked at by itself, and told of in the answer."""

CREATES: Final = frozenset({"index", "create"})
_WITH_DOCUMENT: Final = frozenset({"index", "create", "update"})
_ACTIONS: Final = _WITH_DOCUMENT | {"delete"}
_LONGEST_KEPT: Final = 512
_FEW_ACTIONS: Final = 8


class Action(NamedTuple):
    """What an action line asks for. `index_name` is as it was sent, `dataset` what it means, `id` the sender's."""

    name: str
    index_name: str
    dataset: str
    id: str | None


class Items(NamedTuple):
    """The actions of a body, and the document of each; b"" where it has none. `kinds` are the actions that differ."""

    actions: Sequence[Action]
    documents: Sequence[bytes]
    kinds: frozenset[Action]


def items(body: bytes, index: str | None) -> Items:
    """The items of a body, whose action lines may leave out the index where the path names it.

    Raises InvalidBody for a line that is no action: which lines are documents cannot be told then.
    """
    if body.count(b"\n") > 2 * MOST_ITEMS:
        raise TooLarge(f"more than {MOST_ITEMS} items in one request", limit=MOST_ITEMS)
    lines = body.split(b"\n")
    found = _alternating(lines, index)
    if found is None:
        each = list(_one_by_one(lines, index))
        actions = [action for action, _ in each]
        found = Items(actions, [document for _, document in each], frozenset(actions))
    return found


def _alternating(lines: Sequence[bytes], index: str | None) -> Items | None:
    """The items where a few actions repeat, each with a document, as most senders write them; else None."""
    sent, documents = lines[:-1:2], lines[1::2]
    different = set(sent)
    is_whole = len(sent) == len(documents) and not lines[-1]
    if not is_whole or len(different) > _FEW_ACTIONS or not all(map(bytes.strip, different)):
        return None
    try:
        known = {line: _action(line, index, -1) for line in different}
    except InvalidBody:  # the walk says where
        return None
    if any(action.name not in _WITH_DOCUMENT for action in known.values()):
        return None
    return Items([known[line] for line in sent], documents, frozenset(known.values()))


def _one_by_one(sent: Sequence[bytes], index: str | None) -> Iterator[tuple[Action, bytes]]:
    lines = iter(sent)
    before, action = b"", Action("", "", "", None)
    for number, line in enumerate(lines):
        if line != before or not line:  # most are as the one before
            if not line.strip():
                continue
            action = (_action_kept if len(line) <= _LONGEST_KEPT else _action)(line, index, number)
            before = line
        document = next(lines, b"") if action.name in _WITH_DOCUMENT else b""
        yield action, document


def _action(line: bytes, index: str | None, number: int) -> Action:
    try:
        sent = orjson.loads(line)
    except orjson.JSONDecodeError as error:
        raise InvalidBody(f"Malformed action/metadata line [{number + 1}]: {error.msg}") from error
    if not isinstance(sent, dict) or len(sent) != 1:
        raise InvalidBody(f"Malformed action/metadata line [{number + 1}], expected one action")
    name, told = next(iter(sent.items()))
    if name not in _ACTIONS or not isinstance(told, dict):
        raise InvalidBody(f"Malformed action/metadata line [{number + 1}], found [{name[:100]}]")
    return _told(name, told, index or "")


# Most lines of a request are the same; a line with an id of its own takes the place of an old one.
_kept = lru_cache(maxsize=256)(lambda line, index: _action(line, index, -1))


def _action_kept(line: bytes, index: str | None, number: int) -> Action:
    if b'"_id"' in line:
        return _action(line, index, number)
    try:
        return _kept(line, index)
    except InvalidBody:
        return _action(line, index, number)


def _told(name: str, told: dict[str, Any], default: str) -> Action:
    index, sent_id = told.get("_index"), told.get("_id")
    index = index if isinstance(index, str) and index else default
    return Action(name, index, dataset_named(index), None if sent_id is None else str(sent_id))
