"""The arrival columns that the server adds to every event: when and from where it came, and its headers. Pure."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import lru_cache
from itertools import chain, repeat
from types import MappingProxyType
from typing import Final, TypeVar

import polars as pl

from columns import POLARS_TYPES, Batch, ColumnType, Field
from models.values.column import TIMESTAMP
from storage.times import to_us

T = TypeVar("T")

TIMES: Final = Field(TIMESTAMP, ColumnType.TIMESTAMP_US)
TIME: Final = POLARS_TYPES[ColumnType.TIMESTAMP_US]
# This many header values, up to 8 KB each, are kept as columns.
KEPT_TEXTS: Final = 256


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
    # The request's claim, if it made one (storage.write.idempotency); it is stored with the events.
    claim_id: bytes = b""
    # New columns count as this sender's for `Limits.own`; None: Weir itself, whose columns are not counted.
    sender: str | None = None


@dataclass(frozen=True, slots=True)
class Share:
    """The next `rows` rows of a batch came with this arrival."""

    arrival: Arrival
    rows: int


def stamp(batch: Batch, shares: Sequence[Share]) -> Batch:
    """The batch with the columns of its arrivals in front; the shares' rows add up to its height.

    An event's own field of one of their names moves to the sibling `<name>_<type>`, so neither value is lost.
    """
    added = list(_columns([each.arrival for each in shares], [each.rows for each in shares]))
    fields = _beside([each.name for each, _ in added], batch.fields)
    return Batch(
        (*(each for each, _ in added), *fields), (*(values for _, values in added), *batch.columns), batch.height
    )


def _columns(arrivals: Sequence[Arrival], rows: Sequence[int]) -> Iterator[tuple[Field, pl.Series]]:
    yield TIMES, _times([to_us(each.timestamp) for each in arrivals], rows)
    yield _texts("p_src_ip", [each.src_ip for each in arrivals], rows)
    yield _texts("p_user_agent", [each.user_agent for each in arrivals], rows)
    for name in dict.fromkeys(chain.from_iterable(each.extra for each in arrivals)):
        yield _texts(name, [each.extra.get(name) for each in arrivals], rows)


def _times(values: Sequence[int], rows: Sequence[int]) -> pl.Series:
    # Polars builds a column from numbers in an eighth of the time that datetimes take.
    if len(values) > 1:
        return pl.Series(TIMESTAMP, _repeated(values, rows), pl.Int64).cast(TIME)
    return pl.Series(TIMESTAMP, values, pl.Int64).cast(TIME).new_from_index(0, rows[0])


def _texts(name: str, values: Sequence[str | None], rows: Sequence[int]) -> tuple[Field, pl.Series]:
    first = values[0]
    if all(value == first for value in values):
        return Field(name, ColumnType.UTF8), _text(name, first).new_from_index(0, sum(rows))
    return Field(name, ColumnType.UTF8), pl.Series(name, _repeated(values, rows), pl.String)


@lru_cache(maxsize=KEPT_TEXTS)
def _text(name: str, value: str | None) -> pl.Series:
    """A column of one row. Cached, since nearly all requests come from few senders."""
    return pl.Series(name, [value], pl.String)


def _repeated(values: Sequence[T], rows: Sequence[int]) -> list[T]:
    """Each value, as often as it has rows."""
    return list(chain.from_iterable(repeat(value, count) for value, count in zip(values, rows, strict=True)))


def _beside(added: Sequence[str], fields: tuple[Field, ...]) -> tuple[Field, ...]:
    """The fields, renamed where an added column has their name."""
    names = {each.name for each in fields}
    if names.isdisjoint(added):
        return fields
    names.update(added)
    return tuple(_moved(each, names) if each.name in added else each for each in fields)


def _moved(field: Field, names: set[str]) -> Field:
    name = f"{field.name}_{field.type}"
    while name in names:
        name = f"{name}_{field.type}"
    names.add(name)
    return Field(name, field.type)
