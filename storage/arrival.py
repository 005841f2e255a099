"""What the server adds to every event: when it arrived, from where, by what. Pure."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from types import MappingProxyType

import polars as pl

from columns import POLARS_TYPES, Batch, ColumnType, Field
from models.column import TIMESTAMP
from storage.times import to_us


@dataclass(frozen=True, slots=True)
class Arrival:
    """One request's arrival. `timestamp`: aware, UTC, one instant for the whole batch.

    `extra` maps column names (`p_<name>` of an `X-P-<Name>` header) to their text. `body_bytes` is the size of the
    events as they were sent, decompressed, which is what the statistics call ingested.
    """

    timestamp: datetime
    src_ip: str | None = None
    user_agent: str | None = None
    extra: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    body_bytes: int = 0


def stamp(batch: Batch, arrival: Arrival) -> Batch:
    """The batch with the arrival's columns in front.

    An event's own field of one of their names moves to the sibling `<name>_<type>`, so neither value is lost.
    """
    added = list(_columns(arrival, batch.height))
    names = {each.name for each, _ in added}
    taken = names | {each.name for each in batch.fields}
    moved = tuple(_moved(each, taken) if each.name in names else each for each in batch.fields)
    return Batch(
        (*(each for each, _ in added), *moved), (*(values for _, values in added), *batch.columns), batch.height
    )


def _columns(arrival: Arrival, height: int) -> Iterator[tuple[Field, pl.Series]]:
    kind = POLARS_TYPES[ColumnType.TIMESTAMP_US]
    # As a number, which Polars takes in an eighth of the time of a datetime.
    instant = pl.Series([to_us(arrival.timestamp)], dtype=pl.Int64()).cast(kind)
    yield Field(TIMESTAMP, ColumnType.TIMESTAMP_US), _repeat(instant, height)
    texts = {"p_src_ip": arrival.src_ip, "p_user_agent": arrival.user_agent, **arrival.extra}
    for name, text in texts.items():
        yield Field(name, ColumnType.UTF8), _repeat(pl.Series([text], dtype=pl.String()), height)


def _repeat(one: pl.Series, height: int) -> pl.Series:
    # A tenth of the time of pl.repeat (70 us), which matters for requests of one event.
    return one if height == 1 else one.new_from_index(0, height)


def _moved(each: Field, taken: set[str]) -> Field:
    name = f"{each.name}_{each.type}"
    while name in taken:
        name = f"{name}_{each.type}"
    taken.add(name)
    return Field(name, each.type)
