"""How a frame's columns stand in a Parquet file, so that readers of every make understand them. Pure.

- Each column has the field id of Iceberg: its number in the catalogue; so have the elements of a list.
- A time of nanoseconds is a plain INT64, nanoseconds since 1970: Spark and Iceberg have no such timestamps, and who
  declares another one reads other times (docs/decisions/open-files.md, with what was tried).
- The Arrow schema that Polars leaves in the footer would have readers expect large lists and large texts. Ours says the
  usual ones.
"""

import base64
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

import nanoarrow
import polars as pl
from nanoarrow import Type
from nanoarrow.c_array_stream import CArrayStream
from nanoarrow.ipc import StreamWriter

from models.values.column import Schema

# Field ids of list elements: that of the list and this. A dataset never makes so many columns.
ELEMENT_IDS: Final = 1_000_000_000
# The hash of a sample's series; a name that no column of an event can be stored under (models/stored_name.py).
SERIES_HASH: Final = "~series"
SERIES_HASH_ID: Final = 2_000_000_000
# Its form as of now, which the manifest keeps for each file. 0: nanoseconds are timestamps.
FORMAT: Final = 1

_NANOSECONDS: Final = pl.Datetime("ns", "UTC")
_ARROW_KEY: Final = "ARROW:schema"
_FIELD_ID: Final = b"PARQUET:field_id"
_PREFIX_BYTES: Final = 8


@dataclass(frozen=True, slots=True)
class ArrowTypes:
    """The variable-size types of Arrow: as Polars has them, or as other readers expect them."""

    text: Type
    list: Type


_LARGE: Final = ArrowTypes(Type.LARGE_STRING, Type.LARGE_LIST)
_USUAL: Final = ArrowTypes(Type.STRING, Type.LIST)

Columns = tuple[tuple[str, pl.DataType, int], ...]


def in_file(rows: pl.DataFrame) -> pl.DataFrame:
    """The rows with the types of a file. Nothing is copied."""
    times = [each.cast(pl.Int64()) for each in rows if each.dtype == _NANOSECONDS]
    return rows.with_columns(times) if times else rows


def file_types(dtypes: Mapping[str, pl.DataType]) -> dict[str, pl.DataType]:
    """The types that a file of today has of columns of these types."""
    return {name: pl.Int64() if dtype == _NANOSECONDS else dtype for name, dtype in dtypes.items()}


def nanosecond_columns(dtypes: Mapping[str, pl.DataType]) -> list[str]:
    """The columns that a file has as plain integers."""
    return [name for name, dtype in dtypes.items() if dtype == _NANOSECONDS]


def columns_of(rows: pl.DataFrame, schema: Schema) -> Columns:
    """The columns of a file: name, type there and field id."""
    ids = {each.stored: each.id for each in schema.columns} | {SERIES_HASH: SERIES_HASH_ID}
    return tuple((name, dtype, ids[name]) for name, dtype in rows.schema.items())


@lru_cache(maxsize=256)
def arrow_schema(columns: Columns) -> nanoarrow.Schema:
    """The schema to write them by: the types as Polars has them, with field ids."""
    return nanoarrow.struct([_field(name, dtype, number, _LARGE) for name, dtype, number in columns])


@lru_cache(maxsize=256)
def footer_metadata(columns: Columns) -> dict[str, str]:
    """What the footer says of the Arrow types, instead of what Polars would."""
    schema = nanoarrow.struct([_field(name, dtype, None, _USUAL) for name, dtype, _ in columns])
    return {_ARROW_KEY: base64.b64encode(_schema_message(schema)).decode()}


def _field(name: str, dtype: pl.DataType, number: int | None, types: ArrowTypes) -> nanoarrow.Schema:
    metadata = {} if number is None else {"metadata": {_FIELD_ID: str(number).encode()}}
    if isinstance(dtype, pl.List):
        element = _field("element", _inner(dtype), None if number is None else number + ELEMENT_IDS, types)
        return nanoarrow.Schema(types.list, name=name, value_type=element, **metadata)
    if isinstance(dtype, pl.Datetime):
        return nanoarrow.Schema(Type.TIMESTAMP, name=name, unit=dtype.time_unit, timezone="UTC", **metadata)
    return nanoarrow.Schema(_scalar_type(dtype, types), name=name, **metadata)


def _inner(dtype: pl.List) -> pl.DataType:
    inner = dtype.inner
    return inner if isinstance(inner, pl.DataType) else inner()


def _scalar_type(dtype: pl.DataType, types: ArrowTypes) -> Type:
    known: Sequence[tuple[pl.DataType, Type]] = (
        (pl.String(), types.text),
        (pl.Boolean(), Type.BOOL),
        (pl.Int64(), Type.INT64),
        (pl.Float64(), Type.DOUBLE),
        (pl.Date(), Type.DATE32),
    )
    return next(arrow for each, arrow in known if each == dtype)


def _schema_message(schema: nanoarrow.Schema) -> bytes:
    """The schema as the first message of an Arrow IPC stream, which is the form of the footer."""
    stream = io.BytesIO()
    with StreamWriter.from_writable(stream) as writer:
        writer.write_stream(CArrayStream.from_c_arrays([], nanoarrow.c_schema(schema)))
    content = stream.getvalue()
    # The marker of a message and its length, both of four bytes, stand before it.
    return content[: _PREFIX_BYTES + int.from_bytes(content[4:_PREFIX_BYTES], "little")]
