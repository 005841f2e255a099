"""Elasticsearch's `filter_path`: which members of an answer its client wants to see. Pure."""

from collections.abc import Sequence
from fnmatch import fnmatchcase
from typing import Any, Final, NamedTuple

MOST_PATHS: Final = 20
MOST_SEGMENTS: Final = 10

Path = tuple[str, ...]


class Paths(NamedTuple):
    """What a client wants to see of an answer: what is on `kept` (all, if there is none), but for `dropped`."""

    kept: tuple[Path, ...] = ()
    dropped: tuple[Path, ...] = ()

    def of(self, value: Any) -> Any:
        """What is left of the value; None where that is nothing.

        >>> parse("items.*.status,errors").of({"took": 1, "errors": True, "items": [{"index": {"status": 201}}]})
        {'errors': True, 'items': [{'index': {'status': 201}}]}
        >>> parse("-took,-items.index._*").of({"took": 1, "items": [{"index": {"_id": "1", "status": 201}}]})
        {'items': [{'index': {'status': 201}}]}
        """
        kept = _on(value, self.kept) if self.kept else value
        return _off(kept, self.dropped) if self.dropped else kept


ALL: Final = Paths()


def parse(text: str) -> Paths:
    """The paths of a request, those that begin with `-` as dropped."""
    paths = [path for path in text.split(",") if path.removeprefix("-")][:MOST_PATHS]
    return Paths(
        tuple(_segments(path) for path in paths if not path.startswith("-")),
        tuple(_segments(path[1:]) for path in paths if path.startswith("-")),
    )


def _segments(path: str) -> Path:
    return tuple(path.split(".")[:MOST_SEGMENTS])


def _on(value: Any, paths: Sequence[Path]) -> Any:
    """What of the value is on one of the paths; None where nothing is."""
    if any(not path for path in paths):
        return value
    if isinstance(value, list):
        kept = [each for each in (_on(each, paths) for each in value) if each is not None]
        return kept or None
    if not isinstance(value, dict):
        return value if any(set(path) <= {"**"} for path in paths) else None
    members = {name: _on(each, _inner(name, paths)) for name, each in value.items()}
    return {name: each for name, each in members.items() if each is not None} or None


def _off(value: Any, paths: Sequence[Path]) -> Any:
    """The value without what is at the end of one of the paths."""
    if isinstance(value, list):
        return [_off(each, paths) for each in value]
    if not isinstance(value, dict):
        return value
    inner = {name: _inner(name, paths) for name in value}
    return {name: _off(each, inner[name]) for name, each in value.items() if () not in inner[name]}


def _inner(name: str, paths: Sequence[Path]) -> list[Path]:
    """What is left of the paths below a member of that name."""
    inner: list[Path] = []
    for first, *rest in paths:
        if first == "**":
            inner.append(("**", *rest))
            inner += _inner(name, [tuple(rest)]) if rest else [()]
        elif fnmatchcase(name, first.replace("[", "[[]")):
            inner.append(tuple(rest))
    return inner
