"""A Parquet file as the manifest knows it."""

from dataclasses import dataclass, field
from typing import Final

HOUR_NS: Final = 3_600 * 10**9

Value = str | int | float | bool | None
# Least and greatest value (or bounds of them; null: unknown) and the number of nulls of a column.
Bounds = tuple[Value, Value, int]


@dataclass(frozen=True, slots=True)
class File:
    """A Parquet file: path below the data directory; first and last time in it (ns since 1970, both inclusive).

    `stats` has the columns that were asked for when the file was looked up, all of them when it was made. `format`
    says in which form its columns are (storage/files/file_schema.py), and `widened` up to which of its dataset's
    widened columns have their wider type in it (`Column.widened`). Of `bytes` the `index_bytes` from `index_start` on
    are its text index (storage/files/text_index.py); 0: it has none.
    """

    path: str
    dataset_id: int
    tmin: int
    tmax: int
    rows: int
    bytes: int
    body_bytes: int = 0
    level: int = 0
    format: int = 0
    widened: int = 0
    index_start: int = 0
    index_bytes: int = 0
    stats: dict[str, Bounds] = field(default_factory=dict, hash=False)

    @property
    def directory(self) -> str:
        return self.path.rpartition("/")[0]
