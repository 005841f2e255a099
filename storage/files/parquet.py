"""Parquet files: written whole, durable before anybody is told of them, never changed. Asks no database."""

import io
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import polars as pl

from columns import POLARS_TYPES
from models.values.column import Schema
from models.values.dataset import Dataset
from models.values.file import HOUR_NS, File
from storage.context import Layout
from storage.exactly import exactly
from storage.files.file_schema import (
    FORMAT,
    arrow_schema,
    columns_of,
    file_types,
    footer_metadata,
    in_file,
    nanosecond_columns,
)
from storage.files.row_order import in_order
from storage.files.row_range import RowRange
from storage.files.statistics import summarize
from storage.files.store import allows_http, open_store
from storage.files.text_index import Chosen, RowGroups, add_index
from storage.names import PARQUET_SUFFIX, unique
from storage.times import UNIT_NS, span

# Level 3 costs 1.7 times the CPU for no smaller files on telemetry (docs/decisions/storage.md).
ZSTD_LEVEL: Final = 1
# What a text index says, and what is read of a file for one row: half the rows cost half, and a scan no more.
ROW_GROUP_ROWS: Final = 32_768
# Pages that are not wanted are not decompressed. Smaller ones make the file no larger.
PAGE_BYTES: Final = 128 * 1024
# A partition field with more values than this in one segment and hour does not divide it: it would make a file each.
MOST_VALUES: Final = 64
# A directory's name has at most 255 bytes: the field, `=` and the value, of which each byte may become three.
LONGEST_NAME_BYTES: Final = 40


@dataclass(frozen=True, slots=True)
class Origin:
    """What a file's rows are, besides the rows themselves. `body_bytes`: the bodies they came in.


    `schema` names at least the columns of the rows, which have its types.
    """

    target: Dataset
    schema: Schema
    body_bytes: int = 0
    level: int = 0


def by_hour(rows: pl.DataFrame, time_column: str) -> Iterator[tuple[int, pl.DataFrame]]:
    """The rows of each hour (hours since 1970, UTC), sorted by time."""
    dtype = rows.schema[time_column]
    if not isinstance(dtype, pl.Datetime):
        raise TypeError(f"the time column {time_column!r} is {dtype}")
    # Most segments are in order already, and of one hour.
    ordered = rows if rows.get_column(time_column).is_sorted() else rows.sort(time_column, maintain_order=True)
    hour_units = HOUR_NS // UNIT_NS[dtype.time_unit]
    times = ordered.get_column(time_column).cast(pl.Int64())
    if len(times) and times[0] // hour_units == times[-1] // hour_units:
        yield times[0] // hour_units, ordered
        return
    hours = (times // hour_units).alias("\0hour")
    for (hour,), part in ordered.with_columns(hours).group_by("\0hour", maintain_order=True):
        yield int(str(hour)), part.drop("\0hour")


def by_value(rows: pl.DataFrame, name: str | None) -> Iterator[tuple[tuple[str, str | None] | None, pl.DataFrame]]:
    """The rows of each value of the partition field, with the field and the value as text (None: no value).

    Undivided, with None for both, when there is no such field, or too many values for a file each.
    """
    if name is None or name not in rows.columns or rows.schema[name].is_nested() or _is_long(name):
        yield None, rows
        return
    values = rows.get_column(name).cast(pl.String())
    if values.n_unique() > MOST_VALUES or any(_is_long(value) for value in values.unique().drop_nulls()):
        yield None, rows
        return
    for (value,), part in rows.with_columns(values.alias("\0value")).group_by("\0value", maintain_order=True):
        yield (name, None if value is None else str(value)), part.drop("\0value")


def _is_long(name: str) -> bool:
    return len(name.encode()) > LONGEST_NAME_BYTES


def write(layout: Layout, directory: str, rows: pl.DataFrame, origin: Origin) -> File:
    """The rows, in their order, as a new file in the manifest's `directory`, durable on return.

    Raises OSError, StorageUnavailable.
    """
    path = f"{directory}/{unique()}{PARQUET_SUFFIX}"
    store = open_store(layout)
    unfinished = store.begin(path)
    try:
        ordered = in_order(rows, origin.target, origin.schema)
        encoded = in_file(ordered)
        _encode(encoded, origin.schema, unfinished)
        index = add_index(unfinished, encoded, _row_groups(ordered, origin.target), _indexed(origin))
        size = unfinished.stat().st_size
        store.publish(unfinished, path)
    except Exception:
        unfinished.unlink(missing_ok=True)
        raise
    tmin, tmax = span(rows, origin.target.time_stored)
    return File(
        path=path,
        dataset_id=origin.target.id,
        tmin=tmin,
        tmax=tmax,
        rows=rows.height,
        bytes=size,
        body_bytes=origin.body_bytes,
        level=origin.level,
        index_start=index.start,
        index_bytes=index.bytes,
        stats=summarize(rows),
        format=FORMAT,
        widened=origin.schema.last_widening,
    )


def _encode(rows: pl.DataFrame, schema: Schema, path: Path) -> None:
    columns = columns_of(rows, schema)
    rows.write_parquet(
        path,
        compression="zstd",
        compression_level=ZSTD_LEVEL,
        row_group_size=ROW_GROUP_ROWS,
        data_page_size=PAGE_BYTES,
        arrow_schema=arrow_schema(columns),
        metadata=footer_metadata(columns),
    )


def _row_groups(rows: pl.DataFrame, target: Dataset) -> RowGroups:
    groups = (rows[start : start + ROW_GROUP_ROWS] for start in range(0, rows.height, ROW_GROUP_ROWS))
    return RowGroups(ROW_GROUP_ROWS, tuple(span(group, target.time_stored) for group in groups))


def _indexed(origin: Origin) -> Chosen:
    """The columns, as stored, whose texts the dataset wants indexed."""
    names = origin.target.indexed_columns
    if names is None:
        return Chosen()
    stored = map(origin.schema.stored, names)
    return Chosen(frozenset(name for name in stored if name is not None))


def read(layout: Layout, files: Sequence[File], schema: Schema) -> pl.DataFrame:
    """All rows of the files, which carry all their statistics, in the schema's types: the columns any of them has."""
    present = {name for file in files for name in file.stats}
    wanted = {each.stored: POLARS_TYPES[each.type] for each in schema.columns if each.stored in present}
    store = open_store(layout)
    groups = apart(files, store.copies(files), store.location)
    return pl.concat(scan_files(each, wanted) for each in groups).collect()


@dataclass(frozen=True, slots=True)
class ScanGroup:
    """Where files are that one scan can take: all of one kind of place, and of one format."""

    locations: tuple[str, ...]
    format: int


def apart(files: Sequence[File], copies: Mapping[str, Path], location: Callable[[str], str]) -> list[ScanGroup]:
    """Where the files are, local copies and others apart, and each apart by format."""
    groups: dict[tuple[bool, int], list[str]] = {}
    for file in files:
        copy = copies.get(file.path)
        place = location(file.path) if copy is None else str(copy)
        groups.setdefault((copy is None, file.format), []).append(place)
    return [ScanGroup(tuple(places), kind) for (_, kind), places in sorted(groups.items())]


def types(layout: Layout, path: str) -> dict[str, pl.DataType]:
    """The columns that the file has, and their types there. Raises StorageUnavailable, OSError."""
    source = open_store(layout).location(path)
    rows = pl.scan_parquet(source, glob=False, hive_partitioning=False, storage_options=_options())
    return dict(rows.collect_schema())


def count(layout: Layout, path: str) -> int | None:
    """The number of rows by the file's footer; None if it cannot be read. Raises StorageUnavailable, OSError."""
    store = open_store(layout)
    with suppress(pl.exceptions.PolarsError, OSError):
        return _count(store.location(path))
    # Polars does not say whether the file is damaged or the store is away; reading it whole does.
    content = io.BytesIO(b"".join(store.read(path)))
    with suppress(pl.exceptions.PolarsError):
        return _count(content)
    return None


def _count(source: str | io.BytesIO) -> int:
    rows = pl.scan_parquet(source, glob=False, storage_options=_options() if isinstance(source, str) else None)
    return int(rows.select(pl.len()).collect().item())


def scan_files(
    places: ScanGroup,
    dtypes: Mapping[str, pl.DataType],
    plain_conditions: Sequence[pl.Expr] = (),
    most_rows: int | None = None,
) -> pl.LazyFrame:
    """The files under one schema: columns that a file lacks are null, integers of a widened column become floats.

    `plain_conditions`: what rows have to satisfy, in terms of the integers that times of nanoseconds are in files.
    Other conditions on the result reach the statistics of row groups, but not one on a column that is converted here.
    `most_rows`: only so many, from the first on.
    """
    is_plain = places.format > 0
    rows = pl.scan_parquet(
        list(places.locations),
        schema=file_types(dtypes) if is_plain else dict(dtypes),
        missing_columns="insert",
        extra_columns="ignore",
        cast_options=pl.ScanCastOptions(integer_cast=["upcast", "allow-float"]),
        glob=False,
        hive_partitioning=False,
        storage_options=_options(),
        n_rows=most_rows,
    )
    times = nanosecond_columns(dtypes)
    if not times or not is_plain:
        return rows
    chosen = rows.filter(*plain_conditions) if plain_conditions else rows
    # The same integers: nothing is computed.
    return chosen.with_columns(exactly(name).cast(dtypes[name]) for name in times)


def scan_range(places: ScanGroup, dtypes: Mapping[str, pl.DataType], wanted: RowRange) -> pl.LazyFrame:
    """Rows of the one file of the group, under the schema as by `scan_files`.

    Scans that end at different rows are different to Polars. Of two slices of equal scans it makes one scan that both
    take their rows from, which then reads all rows of the file (polars 1 and 2, "common subplan elimination").
    """
    end = wanted.start + wanted.rows
    return scan_files(places, dtypes, most_rows=end).slice(wanted.start, wanted.rows)


def _options() -> dict[str, str] | None:
    return {"aws_allow_http": "true"} if allows_http() else None
