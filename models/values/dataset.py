"""A dataset as it was at one moment."""

from dataclasses import dataclass
from datetime import datetime
from typing import Final

from columns import ColumnType, Field
from models.values.column import TIMESTAMP

DEFAULT_TENANT: Final = "default"
ARRIVAL_COLUMNS: Final = (
    Field(TIMESTAMP, ColumnType.TIMESTAMP_US),
    Field("p_src_ip", ColumnType.UTF8),
    Field("p_user_agent", ColumnType.UTF8),
)


@dataclass(frozen=True, slots=True)
class Dataset:
    """A dataset as it was when read. A dataset that is deleted and created again has another `id`.

    A schema that was read when `columns_dropped` was another number may name columns that are gone.
    `is_lookup`: its rows have no time of their own, so neither a query's range nor retention applies to them.
    `time_stored`: what files call the time column. `times_from`: where they have the times of rows that were stored
    before the dataset had a time column of its own (storage/write/event_time.py).
    `indexed_columns`: those whose texts are indexed; None: they are chosen by their texts.
    `deduplication_seconds`: for how long a body that its sender repeats is recognised; None: not at all.
    """

    id: int
    tenant: str
    name: str
    time_column: str
    custom_partition: str | None
    static_schema: bool
    telemetry_type: str
    created_at: datetime
    columns_dropped: int = 0
    is_lookup: bool = False
    time_stored: str = ""
    times_from: str | None = None
    indexed_columns: tuple[str, ...] | None = None
    deduplication_seconds: int | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "time_stored", self.time_stored or self.time_column)
