"""Elasticsearch's `filter_path`: which members of an answer its client wants to see. Pure."""

from collections.abc import Sequence
from fnmatch import fnmatchcase
from typing import Any, Final

MOST_PATHS: Final = 20
MOST_SEGMENTS: Final = 10

Paths = tuple[tuple[str, ...], ...]


def parse(text: str) -> Paths:
    """The paths that are to be kept; none keeps all. Those that leave something out (`-took`) are not known here."""
    paths = [tuple(path.split(".")[:MOST_SEGMENTS]) for path in text.split(",") if path and not path.startswith("-")]
    return tuple(paths[:MOST_PATHS])


def filtered(value: Any, paths: Sequence[tuple[str, ...]]) -> Any:
    """What of the value is on one of the paths; None where nothing is.

    >>> filtered({"errors": True, "items": [{"index": {"status": 201, "_id": "1"}}]}, parse("errors,items.*.status"))
    {'errors': True, 'items': [{'index': {'status': 201}}]}
    """
    if any(not path for path in paths):
        return value
    if isinstance(value, list):
        kept = [each for each in (filtered(each, paths) for each in value) if each is not None]
        return kept or None
    if not isinstance(value, dict):
        return value if any(set(path) <= {"**"} for path in paths) else None
    members = {name: filtered(each, _inner(name, paths)) for name, each in value.items()}
    return {name: each for name, each in members.items() if each is not None} or None


def _inner(name: str, paths: Sequence[tuple[str, ...]]) -> list[tuple[str, ...]]:
    """What is left of the paths below a member of that name."""
    inner: list[tuple[str, ...]] = []
    for first, *rest in paths:
        if first == "**":
            inner.append(("**", *rest))
            inner += _inner(name, [tuple(rest)]) if rest else [()]
        elif fnmatchcase(name, first.replace("[", "[[]")):
            inner.append(tuple(rest))
    return inner
