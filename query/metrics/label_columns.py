"""Which columns of a metrics dataset are labels, and under which names Prometheus knows them. Pure."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

import metric_columns
from columns import ColumnType
from promql.labels import METRIC_NAME
from storage.read.contents import Column

NAME_COLUMN: Final = metric_columns.METRIC_NAME
TIME_COLUMN: Final = "time_unix_nano"
VALUE_COLUMN: Final = "data_point_value"
ARRIVAL_COLUMN: Final = "p_timestamp"


@dataclass(frozen=True, slots=True)
class LabelColumn:
    """A label and the stored column of its values."""

    label: str
    stored: str
    type: ColumnType


def label_columns(columns: Iterable[Column]) -> tuple[LabelColumn, ...]:
    """The metric's name and the labels, by the names that Prometheus knows them under, in their order.

    A label has two columns where its values have two types: the column of the name stands before its sibling.
    """
    by_name = {each.name: each for each in columns}
    labels = metric_columns.labels_of({name: each.type for name, each in by_name.items()})
    found = [LabelColumn(label, by_name[name].stored, by_name[name].type) for name, label in labels.items()]
    if NAME_COLUMN in by_name:
        named = by_name[NAME_COLUMN]
        found.append(LabelColumn(METRIC_NAME, named.stored, named.type))
    return tuple(sorted(found, key=lambda each: each.label))


def stored_names(columns: Sequence[Column]) -> dict[str, str]:
    """Where the columns are stored, by their names."""
    return {each.name: each.stored for each in columns}
