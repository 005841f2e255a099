"""What the events of a sender are like: the schema that Polars reads them under, and the columns they become.

Knows how events are flattened, but no text.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import compress, starmap
from typing import Any

import polars as pl

from columns import POLARS_TYPES, Batch, ColumnType, Field
from ingest.builder import fault_of_name
from ingest.flatten import Event
from ingest.routing import Kind, RoutedColumn

Keys = tuple[Any, ...]
"""The keys of an event in their order, each nested object as a pair of its key and its own keys."""


def keys_of(event: Event, depth: int) -> Keys:
    """The keys down to that depth. What is below it is kept as JSON, and so has no form."""
    return tuple(
        (key, keys_of(value, depth - 1)) if type(value) is dict and depth else key for key, value in event.items()
    )


@dataclass(frozen=True, slots=True)
class Form:
    """The form of events with certain keys.

    `fields` are the columns that such events are flattened to; those at `lists` hold lists.
    """

    schema: Mapping[str, pl.DataType]
    fields: tuple[Field, ...]
    lists: Sequence[int]

    def batch(self, frame: pl.DataFrame) -> Batch | None:
        """The events that were read under the schema; None if lists have no element that tells their type."""
        columns = tuple(_leaves(frame, self.schema.values()))
        if any(_lacks_elements(columns[place]) for place in self.lists):
            return None
        height = frame.height
        filled = [column.null_count() < height for column in columns]
        if all(filled):
            return Batch(self.fields, columns, height)
        return Batch(tuple(compress(self.fields, filled)), tuple(compress(columns, filled)), height)


def form_of(first: Event, columns: Sequence[RoutedColumn]) -> Form | None:
    """The form of events like the first one, of which the exact path made these columns; None if they have none.

    Those are events whose columns are not simply the members of the first event, of one type each: with collisions of
    names, objects below the greatest depth, values that are kept as JSON, or names that are refused.
    """
    kinds = {name: kind for name, variants in columns if (kind := _only(variants)) is not None}
    if not kinds or len(kinds) < len(columns) or list(_names(first)) != list(kinds) or any(map(fault_of_name, kinds)):
        return None
    schema = {key: _dtype(key, value, kinds) for key, value in first.items()}
    lists = [place for place, kind in enumerate(kinds.values()) if isinstance(POLARS_TYPES[kind], pl.List)]
    return Form(schema, tuple(starmap(Field, kinds.items())), lists)


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


def _leaves(frame: pl.DataFrame, dtypes: Iterable[object]) -> Iterator[pl.Series]:
    """The columns, and in place of each object the columns of its members. `dtypes`: those of the columns."""
    for column, dtype in zip(frame.get_columns(), dtypes, strict=True):
        if isinstance(dtype, pl.Struct):
            yield from _leaves(column.struct.unnest(), (field.dtype for field in dtype.fields))
        else:
            yield column


def _lacks_elements(lists: pl.Series) -> bool:
    """Whether there are lists, but no element that tells their type (`ingest.routing.EMPTY_LIST`)."""
    first = lists.first(ignore_nulls=True)
    if isinstance(first, list) and any(element is not None for element in first):
        return False  # most often, and 40 us cheaper than a look at all
    elements = lists.explode()
    return elements.null_count() == len(elements) and lists.null_count() < len(lists)
