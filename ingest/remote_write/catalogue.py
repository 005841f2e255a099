"""Remembers the labels of series by their encoded form. A cache: forgetting costs time, nothing else.

Prometheus sends the same series again and again, and all the time of a plain decode goes into their labels. Here
each encoded label set is known by a number, and the labels of all numbers are columns from which a request's rows
are gathered (bench/remote_write_decode.py).
"""

import itertools
from collections.abc import Sequence
from typing import Final, NamedTuple

import polars as pl
from google.protobuf.message import DecodeError

from ingest.batch_builder import require_size
from ingest.proto.remote_write import TimeSeries
from ingest.remote_write.rows import require_columns
from ingest.remote_write.series import METRIC_NAME_LABEL, Refused, label_set

# Columns are rebuilt when the series learnt since are this share of all; until then they are looked at apart.
# Smaller: a new series makes every request copy the whole catalogue. Larger: each request converts more of them.
_RECENT_SHARE: Final = 1 / 16
_RECENT_MINIMUM: Final = 256

# The column that tells which labels a series has. A label cannot be named so: an empty name is refused.
_SHAPE: Final = ""


# Label sets longer than this are not looked up: a small one that is all empty labels takes a hundred times its size.
_LONGEST_LABELS: Final = 64 * 1024


class _Known(NamedTuple):
    """The labels of a series by column, and the number of their names."""

    labels: dict[str, str]
    shape: int


_UNPUBLISHED: Final = _Known({}, 0)


class Generation:
    """The series learnt since the catalogue was last emptied, numbered in order of learning.

    Used by several threads at once and without a lock: a lock of gevent's, over which two threads of its pool
    contend, stands still for ever. Each step is one operation that the interpreter does not divide. A number is
    published last, after its labels; two threads that learn one series give it two numbers, and both are right.
    """

    def __init__(self) -> None:
        self.numbers: dict[bytes, int] = {}
        self.bytes_held = 0
        self._next = itertools.count()
        self._series: dict[int, _Known] = {}
        self._shapes: dict[tuple[str, ...], int] = {}
        self._next_shape = itertools.count()
        self._names: dict[int, tuple[str, ...]] = {}
        self._built = _frame_of([])

    def __len__(self) -> int:
        return len(self._series)

    def number(self, encoded: bytes) -> int | None:
        """The number of an encoded label set, learnt if need be; None if the bytes are not just that."""
        number = self.numbers.get(encoded)
        if number is not None:
            return number
        labels = _labels_of(encoded)
        return None if labels is None else self._learn(encoded, labels)

    def _learn(self, encoded: bytes, labels: dict[str, str]) -> int:
        number = next(self._next)
        self._series[number] = _Known(labels, self._shape(tuple(labels)))
        self.bytes_held += 2 * len(encoded)
        self.numbers[encoded] = number
        return number

    def _shape(self, names: tuple[str, ...]) -> int:
        """The number of a set of label names."""
        shape = self._shapes.get(names)
        if shape is None:
            shape = next(self._next_shape)
            self._names[shape] = names
            self._shapes[names] = shape
        return shape

    def columns(self, numbers: Sequence[int], max_columns: int) -> dict[str, pl.Series]:
        """The labels of these series, by column: one value per number. At least one number.

        The metric name is a column, too. Raises TooManyColumns and, for too many mostly empty columns, TooLarge.
        """
        index = pl.Series(numbers, dtype=pl.UInt32)
        frame = self._frame(max(numbers))
        shapes = frame.get_column(_SHAPE).gather(index).unique().to_list()
        labels = dict.fromkeys(name for shape in shapes for name in self._names[shape])
        require_columns(len(labels.keys() - {METRIC_NAME_LABEL}), max_columns)
        require_size(len(numbers), len(labels))
        if not labels:
            return {}
        gathered = pl.DataFrame([frame.get_column(name) for name in labels])[index]
        return {series.name: series for series in gathered}

    def _frame(self, highest: int) -> pl.DataFrame:
        """Labels by number, for all numbers up to `highest` that are published."""
        published = self._built
        if highest < published.height:
            return published
        recent = [self._series.get(number) for number in range(published.height, highest + 1)]
        frame = pl.concat([published, _frame_of(recent)], how="diagonal", rechunk=False)
        # A number that another thread is about to publish is a row without labels here, which must not stay.
        if len(recent) > max(_RECENT_MINIMUM, published.height * _RECENT_SHARE) and None not in recent:
            self._built = frame = frame.rechunk()
        return frame


class Catalogue:
    """Holds at most `max_series` series in about `max_bytes`; when it is full, it starts again from nothing."""

    def __init__(self, max_series: int = 200_000, max_bytes: int = 128 * 1024 * 1024) -> None:
        self._max_series = max_series
        self._max_bytes = max_bytes
        self._generation = Generation()

    def generation(self) -> Generation:
        """The one to use for the whole of a request."""
        current = self._generation
        if len(current) >= self._max_series or current.bytes_held >= self._max_bytes:
            current = self._generation = Generation()
        return current


def _labels_of(encoded: bytes) -> dict[str, str] | None:
    """Column to value; the metric name is under its label name, which no column has."""
    if len(encoded) > _LONGEST_LABELS:
        return None
    try:
        series = TimeSeries.FromString(encoded)
        name, columns = label_set([(label.name, label.value) for label in series.labels])
    except (DecodeError, Refused):
        return None
    if series.samples or series.histograms or series.exemplars:
        return None
    return columns if name is None else {METRIC_NAME_LABEL: name, **columns}


def _frame_of(series: Sequence[_Known | None]) -> pl.DataFrame:
    known = [each or _UNPUBLISHED for each in series]
    names = dict.fromkeys(name for each in known for name in each.labels)
    columns = {name: pl.Series([each.labels.get(name) for each in known], dtype=pl.String) for name in names}
    return pl.DataFrame({**columns, _SHAPE: pl.Series([each.shape for each in known], dtype=pl.UInt32)})
