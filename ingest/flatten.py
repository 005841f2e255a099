"""Nested events as flat columns: `{"a": {"b": 1}}` is column `a_b`. Knows no types and no wire format.

The work goes column by column: the objects of one key are the rows of the next level. That is several times faster
in Python than walking event after event (docs/decisions/json-decoding.md). Only a run of events in which two names
meet is flattened event by event, because each event decides on its own which of its objects collide.
"""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any, Final

from errors import InvalidEvent, TooManyColumns
from ingest.rows import MAX_COLUMNS, Column, require_size

MAX_DEPTH: Final = 10
"""A column's name joins at most so many keys; an object below that is kept as JSON."""

Event = Mapping[str, Any]
_ABSENT: Final[Event] = {}


def flatten(
    events: Sequence[Event],
    *,
    max_depth: int = MAX_DEPTH,
    max_columns: int = MAX_COLUMNS,
    reserved: Collection[str] = (),
    first_index: int = 0,
) -> list[Column]:
    """The columns of `events`, each name once, grouped by object; objects left in them are to be kept as JSON.

    `reserved` names belong to the service: InvalidEvent for an event that has one, with its index counted from
    `first_index`. More different fields than `max_columns` is TooManyColumns.

    >>> flatten([{"a": {"b": 1}}, {"a": {"b": 2}, "c": 3}])
    [('a_b', [1, 2]), ('c', [None, 3])]
    """
    columns = _Walk(max_columns).columns(events, max_depth)
    names = {name for name, _ in columns}
    if len(names) == len(columns) and names.isdisjoint(reserved):
        return columns
    flat = [_flatten_event(event, max_depth, reserved, first_index + index) for index, event in enumerate(events)]
    return _Walk(max_columns).columns(flat, 1)


class _Walk:
    """One pass over a run of events, which stops when they have too many different fields."""

    def __init__(self, max_columns: int) -> None:
        self._max_columns = max_columns
        self._found = 0

    def columns(self, rows: Sequence[Event], depth: int) -> list[Column]:
        return [column for name, values in self._keys(rows) for column in self._spread(name, values, depth)]

    def _keys(self, rows: Sequence[Event]) -> Iterator[Column]:
        shapes = dict.fromkeys(map(tuple, rows))
        names = dict.fromkeys(chain.from_iterable(shapes))
        self._require_columns(len(names))
        require_size(len(rows), len(names))
        if len(shapes) == 1:
            return zip(names, zip(*map(dict.values, rows), strict=True), strict=True)  # type: ignore[arg-type]
        return ((name, [row.get(name) for row in rows]) for name in names)

    def _spread(self, name: str, values: Sequence[Any], depth: int) -> Iterator[Column]:
        """A column as it is, or, if it holds objects that are to be flattened, the columns of those."""
        if depth <= 1 or dict not in set(map(type, values)):
            self._found += 1
            self._require_columns(self._found)
            yield name, values
            return
        objects = [value if type(value) is dict else _ABSENT for value in values]
        for inner, inner_values in self.columns(objects, depth - 1):
            yield f"{name}_{inner}", inner_values
        others = [None if type(value) is dict else value for value in values]
        if any(value is not None for value in others):
            yield name, others

    def _require_columns(self, count: int) -> None:
        if count > self._max_columns:
            raise TooManyColumns(f"more than {self._max_columns} different fields", limit=self._max_columns)


def _flatten_event(event: Event, max_depth: int, reserved: Collection[str], index: int) -> Event:
    flat = _flatten_object(event, max_depth, reserved)
    for name in reserved:
        if name in flat:
            raise InvalidEvent(f"the field {name} is set by the service", index=index)
    return flat


def _flatten_object(value: Event, depth: int, taken: Collection[str] = ()) -> Event:
    """One object flattened. A nested object that would claim a name twice stays as it is, under its own name.

    The name of an object that stays may itself meet another's, so this repeats until no two meet; at the latest
    when every nested object stays.
    """
    inner = {
        key: {f"{key}_{name}": child for name, child in _flatten_object(nested, depth - 1).items()}
        for key, nested in value.items()
        if type(nested) is dict and depth > 1
    }
    while True:
        claims = Counter(chain(taken, chain.from_iterable(inner.get(key, (key,)) for key in value)))
        colliding = [key for key, names in inner.items() if any(claims[name] > 1 for name in names)]
        if not colliding:
            break
        for key in colliding:
            del inner[key]
    return {name: child for key in value for name, child in inner.get(key, {key: value[key]}).items()}
