"""The verified fast path: Polars reads events with the same keys under a cached schema, and a round trip verifies them.

The rows that Polars reads are accepted only if they, written as JSON again, are the same text
(`ingest.json.round_trip`): then no key was missing or repeated, and each value has its column's type and all its
digits. All other events take the exact path, which is half as fast; the cache learns their schema from its result.
"""

import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from typing import Final

import orjson
import polars as pl

from columns import Batch
from ingest.batch_builder import MAX_CELLS, SERVICE_COLUMNS
from ingest.column_values import RoutedColumn
from ingest.flatten import Event, Rules
from ingest.json.event_schema import EventSchema, Keys, event_schema_of, keys_of
from ingest.json.round_trip import is_same_json, without_fractions, write

MOST_SHAPES: Final = 256
"""The largest number of schemas in a cache. The bound is for senders of endless ones."""

FIRST_BYTES: Final = 16 * 1024
"""The longest event that a shape is taken from: with `MOST_SHAPES`, a bound on the memory of their names."""

GUESSES: Final = 4
"""Places tried for the end of the first event: what stands between two events may stand in a string, too."""

LONGEST_REST: Final = 64
"""A shape whose texts keep failing the proof is tried once in so many."""

_LEAST_EVENT: Final = len(b"{},")
_BETWEEN: Final = re.compile(rb"\}[ \t\n\r]*,[ \t\n\r]*\{")


@dataclass(slots=True)
class _CachedSchema:
    """An event schema, and how often lately events with its keys failed the verification."""

    form: EventSchema
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

    def relearn(self, form: EventSchema | None) -> None:
        """Take over what the text that failed was like, if that is a form."""
        self.form = form or self.form
        self.is_doubtful = False


class SchemaCache:
    """The event schemas seen under one set of rules of flattening. Safe for any number of threads."""

    def __init__(self, rules: Rules) -> None:
        self._rules = rules
        self._shapes: dict[Keys, _CachedSchema] = {}

    def read(self, text: bytes) -> Batch | None:
        """The events of a JSON array, if they have a known shape; None for any text that the exact path has to read."""
        shape = self._shape(text)
        return None if shape is None else _try_schema(text, shape)

    def read_parts(self, parts: Sequence[bytes]) -> tuple[Batch, list[int]] | None:
        """The events of several texts, each an object or objects between commas, and how many each text has.

        None as in `read`, and where it cannot be told in which text an event is.
        """
        if {part[:1] for part in parts} != {b"{"}:
            return None
        text = b"[" + b",".join(parts) + b"]"
        shape = self._shape(text)
        batch = None if shape is None else _try_schema(text, shape)
        if shape is None or batch is None:
            return None
        counts = _counts(parts, batch.height, has_braces=text.count(b"{") > batch.height)
        return None if counts is None else (batch, counts)

    def read_joined(self, pieces: Sequence[bytes]) -> Batch | None:
        """The events of `{...}{...}` that was cut at each `}{`, if those were the borders of all events, and no others.

        None as in `read`. If nothing in the array but its joints looks like a joint, in strings neither, they are the
        separators of its events, which are as many.
        """
        text = b"},{".join(pieces).join((b"[", b"]"))
        batch = self.read(text)
        if batch is None or not batch.height == len(pieces) == len(_BETWEEN.findall(text)) + 1:
            return None
        return batch

    def learn(self, events: Sequence[Event], columns: Sequence[RoutedColumn]) -> None:
        """Remember the shape of the first of the events, of which the exact path made these columns."""
        keys = keys_of(events[0], self._rules.max_depth) if events else ()
        cached = self._shapes.get(keys)
        if cached is not None and not cached.is_doubtful:
            return
        form = event_schema_of(events[0], columns) if keys else None
        if cached is not None:
            cached.relearn(form)
        elif form is not None:
            if len(self._shapes) >= MOST_SHAPES:
                self._shapes.clear()
            self._shapes[keys] = _CachedSchema(form)

    def _shape(self, text: bytes) -> _CachedSchema | None:
        """The shape of the first event, if it is known and does not rest."""
        first = _first_event(text)
        shape = None if first is None else self._shapes.get(keys_of(first, self._rules.max_depth))
        return None if shape is None or shape.rests() else shape


@lru_cache(maxsize=16)
def shapes(rules: Rules) -> SchemaCache:
    """The shapes that this process has seen under those rules."""
    return SchemaCache(rules)


def _first_event(text: bytes) -> Event | None:
    """The first event of an array; None if it is long, or not easily told from the next."""
    for between in islice(_BETWEEN.finditer(text, 0, FIRST_BYTES), GUESSES):
        with suppress(orjson.JSONDecodeError):
            return _event(text[1 : between.start() + 1])
    return _only_event(text) if len(text) <= FIRST_BYTES else None


def _only_event(text: bytes) -> Event | None:
    with suppress(orjson.JSONDecodeError):
        return _event(text[1:-1])
    return None


def _event(text: bytes) -> Event | None:
    value = orjson.loads(text)
    return value if type(value) is dict else None


def _try_schema(text: bytes, shape: _CachedSchema) -> Batch | None:
    batch = _read_verified(text, shape.form)
    shape.tried(succeeded=batch is not None)
    return batch


def _read_verified(text: bytes, form: EventSchema) -> Batch | None:
    """The events of the text if they, written as JSON again, are the same text; else None."""
    if len(text) // _LEAST_EVENT * (len(form.fields) + SERVICE_COLUMNS) > MAX_CELLS:
        # As many rows as the text may have would be a bomb.
        return None
    try:
        frame = pl.read_json(text, schema=form.schema)
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException):
        return None
    columns, written = form.columns(frame), write(frame)
    if is_same_json(written, text):
        return form.batch(columns, frame.height)
    numbers = form.sent_numbers(columns)
    whole = sum(type(value) is int for values in numbers.values() for value in values)
    shorter = without_fractions(written, whole, form.numbers.values()) if whole else None
    return form.batch(columns, frame.height, numbers) if shorter and is_same_json(shorter, text) else None


def _counts(parts: Sequence[bytes], height: int, *, has_braces: bool) -> list[int] | None:
    """How many events each part has of an array of events that are alike; None if that cannot be told.

    The array was joined by commas. If it has no `{` but those that begin its events, each part, which begins with one,
    begins with an event. Else (`has_braces`) whatever may stand between two events is counted, in strings too: events
    that are alike have no lists of objects, so if the sum is right, none was in a string, and so was no joint.
    """
    if not has_braces:
        return [1] * height if len(parts) == height else [part.count(b"{") for part in parts]
    counts = [1 + len(_BETWEEN.findall(part)) for part in parts]
    return counts if sum(counts) == height else None
