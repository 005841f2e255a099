"""The state that the binder of one statement shares: schemas, the clock, WITH entries, fresh identifiers."""

import itertools
from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime

import polars as pl

from query.pg.time_zones import zone_named
from query.pg.types import JSONB, TEXT, PgType, from_polars
from query.plan.tree import Constant, Field, Relation, Scalar


@dataclass(frozen=True, slots=True)
class Schema:
    """A dataset's columns: names and types. `stored`: what the frame of its rows calls them; nothing: the same."""

    columns: tuple[tuple[str, PgType], ...]
    stored: tuple[str, ...] = ()


def schema_of(columns: Iterable[tuple[str, pl.DataType]], json_columns: Container[str]) -> Schema:
    """The schema of a dataset with these columns."""
    typed_columns = ((name, JSONB if name in json_columns else from_polars(dtype) or TEXT) for name, dtype in columns)
    return Schema(tuple(typed_columns))


@dataclass(frozen=True, slots=True)
class CommonTable:
    """A bound WITH entry: its relation and the names of its columns."""

    relation: Relation
    names: tuple[str, ...]


def unchanged(scalar: Scalar) -> Scalar:
    """What a session in UTC does to what depends on its time zone."""
    return scalar


@dataclass(slots=True)
class Environment:
    """`moment` is what `now()` gives; a statement that never asks for it is `timeless`.

    `zone` is the session's time zone as PostgreSQL names it, empty for UTC. `fold` computes an expression of constants;
    `localise` says where the zone decides, which `fold` does as well; `bind_scalar` and `bind_query` are the binder's
    own entry points.
    """

    schemas: Mapping[str, Schema]
    moment: datetime
    fold: Callable[[Scalar], Scalar]
    bind_scalar: Callable[..., Scalar]
    bind_query: Callable[..., "BoundQuery"]
    counter: "Iterator[int]" = field(default_factory=itertools.count)
    timeless: bool = True
    zone: str = ""
    localise: Callable[[Scalar], Scalar] = unchanged

    @property
    def now(self) -> datetime:
        """The moment; from here on the statement depends on it."""
        self.timeless = False
        return self.moment

    @property
    def local_now(self) -> datetime:
        """What the session's wall clock shows at that moment, as if it were UTC."""
        now = self.now
        return now.astimezone(zone_named(self.zone).rules).replace(tzinfo=UTC) if self.zone else now

    def field(self, pg_type: PgType) -> Field:
        """A new column, with an identifier of its own."""
        return Field(f"c{next(self.counter)}", pg_type)


@dataclass(frozen=True, slots=True)
class BoundQuery:
    """A query as a relation; `outputs` are the names and columns of its answer, the first fields of the relation.

    `untyped` are the outputs that are bare literals, by position, whose type a set operation may still decide; None
    stands for those of VALUES, one in every row.
    """

    relation: Relation
    outputs: tuple[tuple[str, Field], ...]
    untyped: "Mapping[int, Constant | None]" = field(default_factory=dict)


CommonTables = Mapping[str, CommonTable]
