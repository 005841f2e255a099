"""The order of a file's rows: by time; of samples by metric, labels and time, so that a series lies together. Pure.

A query of one metric then reads the few row groups that have it (docs/decisions/open-files.md).
"""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Final

import polars as pl

from errors import InternalError
from metric_columns import METRIC_NAME, METRICS, labels_of
from models.values.column import Schema
from models.values.dataset import Dataset
from storage.exactly import exactly
from storage.files.file_schema import SERIES_HASH

# Two label sets of one file with one hash are as likely as one in a billion files; with three salts, never.
_SALTS: Final = 3
# A helper column; no column can be stored under a name with a NUL.
_SERIES: Final = "\0series"


def in_order(rows: pl.DataFrame, target: Dataset, schema: Schema) -> pl.DataFrame:
    """The rows in the order of their dataset's files; samples with the hash of their series, `SERIES_HASH`.

    In one file two rows have the same hash exactly if they have the same metric name and labels.
    """
    if target.telemetry_type == METRICS and METRIC_NAME in rows.columns:
        return _by_series(rows, identity_columns(schema, rows.columns), target.time_stored)
    is_sorted = rows.get_column(target.time_stored).is_sorted()
    return rows if is_sorted else rows.sort(target.time_stored, maintain_order=True)


def identity_columns(schema: Schema, present: Sequence[str]) -> dict[str, str]:
    """The metric name and the labels among the stored columns that are present: stored name to name, in order."""
    types = {each.name: each.type for each in schema.columns}
    names = [METRIC_NAME, *labels_of(types)]
    stored = {schema.by_name[name].stored: name for name in names if name in schema.by_name}
    return {column: name for column, name in stored.items() if column in present}


def series_hash(columns: Mapping[str, str], salt: int = 0) -> pl.Expr:
    """The hash of each row's series: of its metric name and its labels, whatever other columns the frame has.

    `columns`: as `identity_columns` gives them. The hash of a text is Polars', which another version may compute in
    another way: rows of two files are of one series if their labels are the same, whatever their hashes.
    """
    parts = [
        pl.when(exactly(stored).is_null()).then(0).otherwise(exactly(stored).hash(_seed(name, salt)))
        for stored, name in columns.items()
    ]
    # The sum wraps around, and so does not depend on the order of labels.
    return pl.sum_horizontal(parts).reinterpret(signed=True)


@lru_cache(maxsize=4096)
def _seed(name: str, salt: int) -> int:
    return int.from_bytes(hashlib.blake2b(name.encode(), digest_size=8, salt=bytes([salt])).digest(), "little")


def _by_series(rows: pl.DataFrame, columns: Mapping[str, str], time_column: str) -> pl.DataFrame:
    for salt in range(_SALTS):
        hashes = rows.select(series_hash(columns, salt).alias(SERIES_HASH)).to_series()
        labels = rows.select(*map(exactly, columns), hashes)
        first_rows = labels.unique(SERIES_HASH, keep="first", maintain_order=True).with_row_index(_SERIES)
        numbers = hashes.to_frame().join(first_rows, on=SERIES_HASH, how="left", maintain_order="left")[_SERIES]
        if _are_series(labels, first_rows, numbers, columns):
            places = _places(first_rows, columns).gather(numbers)
            keyed = rows.with_columns(hashes, places.alias(_SERIES))
            return keyed.sort(_SERIES, exactly(time_column), maintain_order=True).drop(_SERIES)
    raise InternalError(f"{_SALTS} hashes are the same for different series")


def _are_series(labels: pl.DataFrame, first_rows: pl.DataFrame, numbers: pl.Series, columns: Iterable[str]) -> bool:
    """Whether every row has the labels of the first row with its hash. `numbers`: which that is, by row."""
    return all(labels[name].eq_missing(first_rows[name].gather(numbers)).all() for name in columns)


def _places(first_rows: pl.DataFrame, columns: Iterable[str]) -> pl.Series:
    """The place of each series in the order of metric name and labels."""
    order = first_rows.sort([exactly(name) for name in columns])[_SERIES]
    return order.arg_sort()
