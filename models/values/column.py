"""The columns of a dataset as they were at one moment, and what is wanted of them (models/column.py)."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

from columns import ColumnType, Field

TIMESTAMP: Final = "p_timestamp"
ARRIVAL_PREFIX: Final = "p_"


@dataclass(frozen=True, slots=True)
class Column:
    """A stored column. `holds_large`: it may hold integers beyond ±2^53 and therefore never widens.

    `name` is what people call it and `stored` what files do, by default the same. `id` is never used again in its
    dataset; `added_by` is who sent it first, as `Arrival.sender` says, None: nobody's doing. `widened` numbers the
    columns of a dataset that widened, in the order in which they did; 0: it did not.
    """

    name: str
    type: ColumnType
    holds_large: bool = False
    stored: str = ""
    id: int = 0
    added_by: str | None = None
    widened: int = 0

    def __post_init__(self) -> None:
        object.__setattr__(self, "stored", self.stored or self.name)


@dataclass(frozen=True)
class Schema:
    """The columns of one dataset at one moment, in the order in which `SELECT *` and the schema endpoint show them."""

    dataset_id: int
    columns: tuple[Column, ...]
    by_name: Mapping[str, Column] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "by_name", {column.name: column for column in self.columns})

    @property
    def last_widening(self) -> int:
        """The number of the column that widened last: rows of this schema's types have the wider type of it."""
        return max((column.widened for column in self.columns), default=0)

    def stored(self, name: str | None) -> str | None:
        """What files call the column of that name; None if there is none."""
        column = None if name is None else self.by_name.get(name)
        return None if column is None else column.stored


@dataclass(frozen=True, slots=True)
class Limits:
    """How many columns a dataset may have, how many one request may add, and how many one sender may have added."""

    columns: int = 1000
    new: int = 500
    own: int = 800


@dataclass(frozen=True, slots=True)
class Change:
    """What a batch needs of a schema before it can be stored."""

    add: tuple[Field, ...] = ()
    widen: tuple[str, ...] = ()
    hold_large: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.add or self.widen or self.hold_large)


def arrange(columns: Iterable[Column]) -> tuple[Column, ...]:
    """`p_timestamp`, then what events brought in order of first appearance, then the other `p_` columns."""
    return tuple(sorted(columns, key=_rank))


def _rank(column: Column) -> int:
    if column.name == TIMESTAMP:
        return 0
    return 2 if column.name.startswith(ARRIVAL_PREFIX) else 1
