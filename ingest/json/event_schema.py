"""What the events of a sender are like: the schema that Polars reads them under, and the columns they become.

Knows how events are flattened, but no text.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import compress, starmap
from typing import Any, Final

import orjson
import polars as pl

from columns import POLARS_TYPES, Batch, ColumnType, Field
from ingest.batch_builder import fault_of_name
from ingest.column_values import Kind, Oversized, RoutedColumn
from ingest.flatten import Event

_LEAST_WITH_EXPONENT: Final = 1e16
"""Polars writes floats of this size as `1e+16`."""

Keys = tuple[Any, ...]
"""The keys of an event in their order, each nested object as a pair of its key and its own keys."""


def keys_of(event: Event, depth: int) -> Keys:
    """The keys down to that depth. What is below it is kept as JSON, and so has no form."""
    return tuple(
        (key, keys_of(value, depth - 1)) if type(value) is dict and depth else key for key, value in event.items()
    )


Nesting = tuple["Nesting | None", ...]
"""For each member of an object, that of the object it is, if it is one."""


@dataclass(frozen=True, slots=True)
class EventSchema:
    """The schema of events that have the same keys.

    `nesting` says which columns of `schema` are objects. `fields` are the columns that such events are flattened to.
    `lists` are the positions of columns that hold lists. `numbers` are the positions of columns that hold integers and
    floats, all read as floats; each has the bytes that follow its values in any text.
    """

    schema: Mapping[str, pl.DataType]
    nesting: Nesting
    fields: tuple[Field, ...]
    lists: Sequence[int]
    numbers: Mapping[int, bytes]

    def columns(self, frame: pl.DataFrame) -> list[pl.Series]:
        """The columns of the events that were read under the schema."""
        return list(_leaves(frame, self.nesting))

    def sent_numbers(self, columns: Sequence[pl.Series]) -> Mapping[int, list[Any]]:
        """The values at each of `numbers`, if their sender writes `5` for 5.0."""
        return {place: _as_sent(columns[place].to_list()) for place in self.numbers}

    def batch(
        self, columns: Sequence[pl.Series], height: int, numbers: Mapping[int, list[Any]] | None = None
    ) -> Batch | None:
        """The columns by their types; None if there are lists, but no element that tells theirs.

        `numbers`: the values of columns that have integers among their floats.
        """
        if any(_lacks_elements(columns[place]) for place in self.lists):
            return None
        has_values = [column.null_count() < height for column in columns]
        if all(has_values) and not numbers:
            return Batch(self.fields, tuple(columns), height)
        typed: list[tuple[Field, pl.Series]] = []
        for place in compress(range(len(columns)), has_values):
            field = self.fields[place]
            typed += (
                _variants(field.name, numbers[place]) if numbers and place in numbers else [(field, columns[place])]
            )
        return Batch(tuple(field for field, _ in typed), tuple(column for _, column in typed), height)


def event_schema_of(first: Event, columns: Sequence[RoutedColumn]) -> EventSchema | None:
    """The form of events like the first one, of which the exact path made these columns; None if they have none.

    Those are events whose columns are not simply the members of the first event, of one type each: with collisions of
    names, objects below the greatest depth, values that are kept as JSON, or names that are refused.
    """
    kinds = {name: kind for name, variants in columns if (kind := _only(variants)) is not None}
    if not kinds or len(kinds) < len(columns) or list(_names(first)) != list(kinds) or any(map(fault_of_name, kinds)):
        return None
    schema = {key: _dtype(key, value, kinds) for key, value in first.items()}
    lists = [place for place, kind in enumerate(kinds.values()) if isinstance(POLARS_TYPES[kind], pl.List)]
    behind = [text.partition(b'":')[0] for text in _skeleton(first).split(b"\0")[1:]]
    numbers = {place: behind[place] for place, (_, variants) in enumerate(columns) if len(variants) > 1}
    return EventSchema(schema, _nesting(first), tuple(starmap(Field, kinds.items())), lists, numbers)


def _only(variants: Mapping[Kind, pl.Series]) -> ColumnType | None:
    """The one type of a column. Of a column without any value, text: if others come, they fail the proof.

    Floats stand for integers among them, as JavaScript and Go write those that have no fraction.
    """
    kinds = set(variants) or {ColumnType.UTF8}
    if kinds == {ColumnType.INT64, ColumnType.FLOAT64}:
        return ColumnType.FLOAT64
    kind = kinds.pop()
    return None if kinds or kind is ColumnType.JSON or isinstance(kind, Oversized) else kind


def _names(event: Event, prefix: str = "") -> Iterator[str]:
    for key, value in event.items():
        if type(value) is dict:
            yield from _names(value, f"{prefix}{key}_")
        else:
            yield prefix + key


def _skeleton(event: Event) -> bytes:
    """The text of such an event, with a NUL for each value that is no object."""
    members = (
        orjson.dumps(key) + b":" + (_skeleton(value) if type(value) is dict else b"\0") for key, value in event.items()
    )
    return b"{" + b",".join(members) + b"}"


def _dtype(name: str, value: Any, kinds: Mapping[str, ColumnType]) -> pl.DataType:
    if type(value) is not dict:
        return POLARS_TYPES[kinds[name]]
    return pl.Struct({key: _dtype(f"{name}_{key}", inner, kinds) for key, inner in value.items()})


def _as_sent(numbers: Iterable[float | None]) -> list[float | int | None]:
    """With an integer for each float that Polars writes as `5.0`: without a fraction and without an exponent."""
    return [
        int(number) if number is not None and number.is_integer() and abs(number) < _LEAST_WITH_EXPONENT else number
        for number in numbers
    ]


def _variants(name: str, numbers: Sequence[float | int | None]) -> list[tuple[Field, pl.Series]]:
    """The integers and the floats, in the order of their first."""
    first = next(type(number) for number in numbers if number is not None)
    kinds = ((int, ColumnType.INT64), (float, ColumnType.FLOAT64))
    columns = [
        (
            Field(name, kind),
            pl.Series([each if type(each) is of else None for each in numbers], dtype=POLARS_TYPES[kind]),
        )
        for of, kind in (kinds if first is int else reversed(kinds))
    ]
    return [(field, column) for field, column in columns if column.null_count() < len(column)]


def _nesting(event: Event) -> Nesting:
    return tuple(_nesting(value) if type(value) is dict else None for value in event.values())


def _leaves(frame: pl.DataFrame, nesting: Nesting) -> Iterator[pl.Series]:
    """The columns, and in place of each object the columns of its members."""
    for column, inner in zip(frame.get_columns(), nesting, strict=True):
        if inner is None:
            yield column
        else:
            yield from _leaves(column.struct.unnest(), inner)


def _lacks_elements(lists: pl.Series) -> bool:
    """Whether there are lists, but no element that tells their type (`ingest.column_values.EMPTY_LIST`)."""
    first = lists.first(ignore_nulls=True)
    if isinstance(first, list) and any(element is not None for element in first):
        return False  # most often, and 40 us cheaper than a look at all
    elements = lists.explode()
    return elements.null_count() == len(elements) and lists.null_count() < len(lists)
