"""Events that are all alike, as most of a sender's are: read by Polars under a schema that is known, and proven.

Polars' reader changes without a word what does not fit its schema (docs/decisions/json-decoding.md). So what it has
read is written again, and taken only if that is byte for byte the text that came: then no key was missing or repeated,
and each value is of its column's type and has all its digits. Everything else is left to the exact path, which takes
twice as long; and from what that path makes of events, the schema for the next ones like them is learned.
"""

import io
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final, NamedTuple

import orjson
import polars as pl

from columns import POLARS_TYPES, ColumnType
from ingest.builder import MAX_CELLS
from ingest.flatten import Event, Rules
from ingest.routing import FEW_ROWS, Kind, RoutedColumn

MOST_SHAPES: Final = 256
"""Shapes that are remembered. The bound is for senders of endless ones."""

FIRST_BYTES: Final = 16 * 1024
"""The longest event that a shape is taken from: with `MOST_SHAPES`, a bound on the memory of their names."""

GUESSES: Final = 4
"""Places tried for the end of the first event: what stands between two events may stand in a string, too."""

LONGEST_REST: Final = 64
"""A shape whose texts keep failing the proof is tried once in so many."""

_LEAST_EVENT: Final = len(b"{},")


class Alike(NamedTuple):
    """The events of a text as columns: what `ingest.routing.route` would give for them."""

    columns: Sequence[RoutedColumn]
    height: int


Keys = tuple[Any, ...]
"""The keys of an event in their order, each nested object as a pair of its key and its own keys."""


@dataclass(frozen=True, slots=True)
class _Form:
    """What events were like: their schema, the types of the columns they are flattened to, and those that are lists."""

    schema: Mapping[str, pl.DataType]
    kinds: Mapping[str, ColumnType]
    lists: Sequence[str]


@dataclass(slots=True)
class _Shape:
    """The form of events with certain keys, and how often lately others with these keys were not like that."""

    form: _Form
    failures: int = 0
    resting: int = 0
    is_doubtful: bool = False

    def rests(self) -> bool:
        """Whether a text is not to be tried, because those before it failed."""
        self.resting = max(0, self.resting - 1)
        return self.resting > 0

    def tried(self, *, succeeded: bool) -> None:
        self.failures = 0 if succeeded else self.failures + 1
        self.resting = 0 if succeeded else min(LONGEST_REST, 2**self.failures)
        self.is_doubtful = not succeeded

    def relearn(self, form: _Form | None) -> None:
        """Take over what the text that failed was like, if that is a form."""
        self.form = form or self.form
        self.is_doubtful = False


class Shapes:
    """The shapes of events seen under some rules of flattening. Safe for any number of threads."""

    def __init__(self, rules: Rules) -> None:
        self._rules = rules
        self._shapes: dict[Keys, _Shape] = {}

    def read(self, text: bytes) -> Alike | None:
        """The events of a JSON array, if they have a known shape; None for any text that the exact path has to read."""
        first = _first_event(text)
        shape = None if first is None else self._shapes.get(_keys(first, self._rules.max_depth))
        if shape is None or shape.rests():
            return None
        alike = _proven(text, shape.form)
        shape.tried(succeeded=alike is not None)
        return alike

    def learn(self, events: Sequence[Event], columns: Sequence[RoutedColumn]) -> None:
        """Remember the shape of the first of the events, of which the exact path made these columns."""
        keys = _keys(events[0], self._rules.max_depth) if events else ()
        known = self._shapes.get(keys)
        if known is not None and not known.is_doubtful:
            return
        form = _form(events[0], columns) if keys else None
        if known is not None:
            known.relearn(form)
        elif form is not None:
            if len(self._shapes) >= MOST_SHAPES:
                self._shapes.clear()
            self._shapes[keys] = _Shape(form)


@lru_cache(maxsize=16)
def shapes(rules: Rules) -> Shapes:
    """The shapes that this process has seen under those rules."""
    return Shapes(rules)


def _first_event(text: bytes) -> Event | None:
    """The first event of an array; None if it is long, or not easily told from the next."""
    end = 0
    for _ in range(GUESSES):
        between = text.find(b"},{", end, FIRST_BYTES)
        end = between + 1 if between >= 0 else len(text) - 1
        if end > FIRST_BYTES:
            return None
        with suppress(orjson.JSONDecodeError):
            first = orjson.loads(text[1:end])
            return first if type(first) is dict else None
    return None


def _keys(event: Event, depth: int) -> Keys:
    """The keys down to that depth. What is below it is kept as JSON, and so has no form."""
    return tuple(
        (key, _keys(value, depth - 1)) if type(value) is dict and depth else key for key, value in event.items()
    )


def _form(first: Event, columns: Sequence[RoutedColumn]) -> _Form | None:
    """The form of events like the first one; None if Polars has no schema for them.

    Those are events whose columns are not simply the members of the first event, of one type each: with collisions of
    names, objects below the greatest depth, or values that are kept as JSON.
    """
    kinds = {name: kind for name, variants in columns if (kind := _only(variants)) is not None}
    if not kinds or len(kinds) < len(columns) or list(_names(first)) != list(kinds):
        return None
    schema = {key: _dtype(key, value, kinds) for key, value in first.items()}
    return _Form(schema, kinds, [name for name, kind in kinds.items() if isinstance(POLARS_TYPES[kind], pl.List)])


def _only(variants: Mapping[Kind, pl.Series]) -> ColumnType | None:
    """The one type of a column. Of a column without any value, text: if others come, they fail the proof."""
    kinds = set(variants) or {ColumnType.UTF8}
    kind = kinds.pop()
    return None if kinds or kind is ColumnType.JSON else kind


def _names(event: Event, prefix: str = "") -> Iterator[str]:
    for key, value in event.items():
        if type(value) is dict:
            yield from _names(value, f"{prefix}{key}_")
        else:
            yield prefix + key


def _dtype(name: str, value: Any, kinds: Mapping[str, ColumnType]) -> pl.DataType:
    if type(value) is not dict:
        return POLARS_TYPES[kinds[name]]
    return pl.Struct({key: _dtype(f"{name}_{key}", inner, kinds) for key, inner in value.items()})


def _proven(text: bytes, form: _Form) -> Alike | None:
    """The events of the text, if it is what they are written as."""
    if len(text) // _LEAST_EVENT * len(form.kinds) > MAX_CELLS:
        # As many rows as the text may have would be a bomb.
        return None
    try:
        frame = pl.read_json(text, schema=form.schema)
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException):
        return None
    written = io.BytesIO()
    frame.write_json(written)
    if written.getvalue() != text:
        return None
    return _routed(frame, form)


def _routed(frame: pl.DataFrame, form: _Form) -> Alike | None:
    columns = dict(zip(form.kinds, _leaves(frame, form.schema.values()), strict=True))
    if any(_lacks_elements(columns[name]) for name in form.lists):
        return None
    routed: list[RoutedColumn] = [
        (name, {} if column.null_count() == frame.height else {form.kinds[name]: column})
        for name, column in columns.items()
    ]
    return Alike(routed, frame.height)


def _leaves(frame: pl.DataFrame, dtypes: Iterable[object]) -> Iterator[pl.Series]:
    """The columns, and in place of each object the columns of its members. `dtypes`: those of the columns."""
    for column, dtype in zip(frame.get_columns(), dtypes, strict=True):
        if isinstance(dtype, pl.Struct):
            yield from _leaves(column.struct.unnest(), (field.dtype for field in dtype.fields))
        else:
            yield column


def _lacks_elements(lists: pl.Series) -> bool:
    """Whether there are lists, but no element that tells their type (`ingest.routing.EMPTY_LIST`)."""
    if len(lists) > FEW_ROWS:
        elements = lists.explode()
        return elements.null_count() == len(elements) and lists.null_count() < len(lists)
    some = [each for each in lists.to_list() if each is not None]
    return bool(some) and all(element is None for each in some for element in each)
