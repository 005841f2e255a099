"""Nested events as flat columns: `{"a": {"b": 1}}` is column `a_b`. Knows no types and no wire format.

The work goes column by column: the objects of one key are the rows of the next level. That is several times faster
in Python than walking event after event (docs/decisions/json-decoding.md). Only a run of events in which two names
meet is flattened event by event, because each event decides on its own which of its objects collide.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import chain
from operator import itemgetter
from typing import Any, Final

from errors import InvalidEvent, TooManyColumns
from ingest.batch_builder import MAX_COLUMNS, require_size
from ingest.column_values import Column

MAX_DEPTH: Final = 10
"""Keys that a name joins (api.md section 4)."""

Event = Mapping[str, Any]
_ABSENT: Final[Event] = {}


@dataclass(frozen=True, slots=True)
class Rules:
    """How far events are flattened.

    A name joins at most `max_depth` keys; an object below that is kept as JSON. A request with more different fields
    than `max_columns` is refused, and so is an event with a field of a name in `reserved`: the service sets those.
    """

    max_depth: int = MAX_DEPTH
    max_columns: int = MAX_COLUMNS
    reserved: frozenset[str] = frozenset()


def flatten(events: Sequence[Event], rules: Rules, *, first_index: int = 0) -> list[Column]:
    """The columns of `events`, each name once, grouped by object; objects left in them are to be kept as JSON.

    Raises InvalidEvent, with the event's index counted from `first_index`, TooManyColumns and TooLarge.

    >>> columns = flatten([{"a": {"b": 1}}, {"a": {"b": 2}, "c": 3}], Rules())
    >>> [(column.name, list(column.values)) for column in columns]
    [('a_b', [1, 2]), ('c', [None, 3])]
    """
    columns = _Walk(rules.max_columns).columns(events, rules.max_depth)
    names = {column.name for column in columns}
    if len(names) == len(columns) and names.isdisjoint(rules.reserved):
        return columns
    flat = [_flatten_event(event, rules, first_index + index) for index, event in enumerate(events)]
    return _Walk(rules.max_columns).columns(flat, 1)


class _Walk:
    """One pass over a run of events, which stops when they have too many different fields."""

    def __init__(self, max_columns: int) -> None:
        self._max_columns = max_columns
        self._found = 0

    def columns(self, rows: Sequence[Event], depth: int, prefix: str = "") -> list[Column]:
        return [
            column
            for name, values in self._keys(rows)
            for column in self._spread(Column.of(prefix + name, values), depth)
        ]

    def _keys(self, rows: Sequence[Event]) -> Iterable[tuple[str, Sequence[Any]]]:
        """Each key of the rows and its values; most runs of events have the same keys in each."""
        names = next(iter(rows), _ABSENT)
        alike = set(map(len, rows)) == {len(names)}
        self._require_size(len(rows), names)
        if alike:
            with suppress(KeyError):
                return [(name, list(map(itemgetter(name), rows))) for name in names]
        names = dict.fromkeys(chain.from_iterable(dict.fromkeys(map(tuple, rows))))
        self._require_size(len(rows), names)
        return ((name, [row.get(name) for row in rows]) for name in names)

    def _spread(self, column: Column, depth: int) -> Iterable[Column]:
        """A column as it is, or, if it holds objects that are to be flattened, the columns of those."""
        if depth <= 1 or dict not in column.types:
            self._found += 1
            self._require_columns(self._found)
            return [column]
        name, values, types = column
        objects = [value if type(value) is dict else _ABSENT for value in values]
        others = [None if type(value) is dict else value for value in values] if len(types) > 1 else ()
        rest = [Column.of(name, others)] if others else []
        return self.columns(objects, depth - 1, name + "_") + rest

    def _require_size(self, rows: int, names: Collection[str]) -> None:
        self._require_columns(len(names))
        require_size(rows, len(names))

    def _require_columns(self, count: int) -> None:
        if count > self._max_columns:
            raise TooManyColumns(f"more than {self._max_columns} different fields", limit=self._max_columns)


def _flatten_event(event: Event, rules: Rules, index: int) -> Event:
    flat = _flatten_object(event, rules.max_depth, rules.reserved)
    for name in rules.reserved:
        if name in flat:
            raise InvalidEvent(f"the field {name} is set by the service", index=index)
    return flat


def _flatten_object(value: Event, depth: int, taken: Collection[str] = ()) -> Event:
    """One object flattened, without its nulls, which claim no name: they are as good as absent.

    A nested object that would claim a name twice stays as it is, under its own name. The name of an object that stays
    may itself meet another's, so this repeats until no two meet; at the latest when every nested object stays.
    """
    value = {key: child for key, child in value.items() if child is not None}
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
