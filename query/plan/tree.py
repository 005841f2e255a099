"""The bound tree: a query whose every name and type is resolved. Engine-neutral: knows no Polars, no sqlglot.

Every column of every relation has an identifier that is unique in the statement (`c12`), so an expression needs no
notion of tables, and a column of an enclosing query is simply one that the relation at hand does not have.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

from query.pg.clock import Clock
from query.pg.types import BOOL, NUMERIC_DIGITS, PgType

Value = object
"""A constant: bool, int, Decimal, float, str, bytes, tuple (array, interval), None; times are integers since 1970."""


@dataclass(frozen=True, slots=True)
class Scalar:
    type: PgType


@dataclass(frozen=True, slots=True)
class Column(Scalar):
    """`position` is where the user wrote it; columns that differ in nothing else are the same."""

    id: str
    position: int | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class Constant(Scalar):
    """`zone`: of an untyped literal, the session's time zone, in which it is read if it becomes an instant; `clock`:
    when it is today."""

    value: Value
    position: int | None = field(default=None, compare=False)
    zone: str = field(default="", compare=False)
    clock: Clock | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Call(Scalar):
    """A function or operator over scalars; `function` is its key in the registry."""

    function: str
    args: tuple[Scalar, ...]
    position: int | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class Cast(Scalar):
    """`lenient`: NULL instead of an error for a value that does not fit (TRY_CAST).

    `modifiers` are those of the type as written; `character` is varchar or bpchar when they are a length.
    """

    value: Scalar
    lenient: bool = False
    explicit: bool = True
    modifiers: tuple[int, ...] = ()
    character: str = ""
    position: int | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class Case(Scalar):
    """The result of the first branch whose condition is true; else `default`. Branches not taken never raise."""

    branches: tuple[tuple[Scalar, Scalar], ...]
    default: Scalar


@dataclass(frozen=True, slots=True)
class Coalesce(Scalar):
    args: tuple[Scalar, ...]


@dataclass(frozen=True, slots=True)
class Logic(Scalar):
    """AND, OR over three-valued operands; an operand after the deciding one never raises."""

    operator: str
    operands: tuple[Scalar, ...]


@dataclass(frozen=True, slots=True)
class Not(Scalar):
    value: Scalar


@dataclass(frozen=True, slots=True)
class IsNull(Scalar):
    value: Scalar


@dataclass(frozen=True, slots=True)
class InList(Scalar):
    """`value IN (items)` with constant items of the value's type; NULL items make a miss unknown."""

    value: Scalar
    items: tuple[Value, ...]
    has_null: bool


@dataclass(frozen=True, slots=True)
class ArrayOf(Scalar):
    items: tuple[Scalar, ...]


@dataclass(frozen=True, slots=True)
class RowOf(Scalar):
    """`table` is the one whose whole row this is; a row that was written out has none. `presence` is NULL where an
    outer join has no row of the table, so that there is no row either."""

    items: tuple[Scalar, ...]
    table: str = ""
    presence: Scalar | None = None
    position: int | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class SortKey:
    value: Scalar
    descending: bool
    nulls_first: bool


@dataclass(frozen=True, slots=True)
class AggregateCall(Scalar):
    """`direct` are the arguments before WITHIN GROUP; `order` the ORDER BY inside or WITHIN GROUP."""

    function: str
    args: tuple[Scalar, ...]
    distinct: bool = False
    where: Scalar | None = None
    order: tuple[SortKey, ...] = ()
    direct: tuple[Scalar, ...] = ()
    position: int | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class Bound:
    """One end of a window frame; `offset` None is UNBOUNDED, 0 with `current` CURRENT ROW."""

    kind: str  # unbounded_preceding, preceding, current, following, unbounded_following
    offset: Scalar | None = None


@dataclass(frozen=True, slots=True)
class Frame:
    """`zone`: on whose clock a RANGE over instants counts months and days; empty: UTC."""

    mode: str  # rows, range, groups
    start: Bound
    end: Bound
    exclude: str = ""  # "", current row, group, ties
    zone: str = ""


@dataclass(frozen=True, slots=True)
class WindowCall(Scalar):
    function: str
    args: tuple[Scalar, ...]
    partition: tuple[Scalar, ...]
    order: tuple[SortKey, ...]
    frame: Frame | None
    where: Scalar | None = None
    position: int | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class Field:
    """A column that a relation has."""

    id: str
    type: PgType

    def ref(self) -> Column:
        return Column(self.type, self.id)


@dataclass(frozen=True, slots=True)
class Relation:
    """Values. `fields` are its columns, in order."""

    fields: tuple[Field, ...]


@dataclass(frozen=True, slots=True)
class Scan(Relation):
    """`names[i]` is the stored name of `fields[i]`."""

    dataset: str
    names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Values(Relation):
    rows: tuple[tuple[Scalar, ...], ...]


@dataclass(frozen=True, slots=True)
class Project(Relation):
    """`values[i]` is computed as `fields[i]`."""

    input: Relation
    values: tuple[Scalar, ...]


@dataclass(frozen=True, slots=True)
class Filter(Relation):
    input: Relation
    predicate: Scalar


@dataclass(frozen=True, slots=True)
class Join(Relation):
    """`kind`: inner, left, full, semi, anti. A missing condition is a cross join."""

    left: Relation
    right: Relation
    kind: str
    condition: Scalar | None


@dataclass(frozen=True, slots=True)
class LookupJoin(Relation):
    """Every row of `left` with the rows of `right` that have equal keys, NULL equal to NULL; `kind` left keeps rows
    without any. More than one such row raises 21000 when `single`. A key pairs an expression over the left with a
    column of the right.
    """

    left: Relation
    right: Relation
    keys: tuple[tuple[Scalar, Column], ...]
    kind: str  # left, inner
    single: bool


@dataclass(frozen=True, slots=True)
class Aggregate(Relation):
    """Groups by the columns `keys` (of the input); `fields` are the keys, then one per call."""

    input: Relation
    keys: tuple[Column, ...]
    calls: tuple[AggregateCall, ...]


@dataclass(frozen=True, slots=True)
class Window(Relation):
    """The input's fields, then one per call. Of rows that the calls number beyond `first` any may be left out."""

    input: Relation
    calls: tuple[WindowCall, ...]
    first: int | None = None


@dataclass(frozen=True, slots=True)
class Distinct(Relation):
    """Without `keys` rows differ in any column; with them the first row of each key in the input's order stays."""

    input: Relation
    keys: tuple[Column, ...] | None = None


@dataclass(frozen=True, slots=True)
class Sort(Relation):
    input: Relation
    keys: tuple[SortKey, ...]


@dataclass(frozen=True, slots=True)
class Limit(Relation):
    input: Relation
    count: int | None
    offset: int
    ties: tuple[SortKey, ...] = ()


@dataclass(frozen=True, slots=True)
class TopRows(Relation):
    """The rows that may be among the first `count` of their group in the order of `key`, and some others."""

    input: Relation
    groups: tuple[Column, ...]
    key: SortKey
    count: int


@dataclass(frozen=True, slots=True)
class Materialized(Relation):
    """The input's rows, computed once and kept for everything that reads them."""

    input: Relation


@dataclass(frozen=True, slots=True)
class SetOperation(Relation):
    """UNION, INTERSECT, EXCEPT by position; the branches' columns have the fields' types already."""

    left: Relation
    right: Relation
    operator: str
    all: bool


@dataclass(frozen=True, slots=True)
class Unnest(Relation):
    """The input's rows, each repeated for every element of its arrays `values`, side by side, padded with NULL.

    `fields` are the input's, one per array, and a counter from 1 if `ordinality`. `outer` keeps rows without elements.
    """

    input: Relation
    values: tuple[Scalar, ...]
    ordinality: bool = False
    outer: bool = False


@dataclass(frozen=True, slots=True)
class Recursive(Relation):
    """WITH RECURSIVE: `base`, then `step` over the rows that the previous round added, until none come, or there are as
    many as the `first` that are read."""

    base: Relation
    step: Relation
    table: str
    all: bool
    first: int | None = None


@dataclass(frozen=True, slots=True)
class WorkTable(Relation):
    """The rows of the previous round of the recursion named `table`; `source` are its columns there."""

    table: str
    source: tuple[Field, ...]


@dataclass(frozen=True, slots=True)
class CteRef(Relation):
    """A relation used under several names: `input` computed once, its columns renamed."""

    input: Relation


@dataclass(frozen=True, slots=True)
class Output:
    """A column of the answer."""

    name: str
    field: Field


@dataclass(frozen=True, slots=True)
class Query:
    """`relation` in order; the answer is its `outputs`, which may leave out columns used for sorting only.

    `repeatable`: the same rows give the same answer, whenever it is asked.
    """

    relation: Relation
    outputs: tuple[Output, ...]
    repeatable: bool = False


Rewrite = Callable[[Scalar], Scalar | None]


def is_endless(value: Scalar) -> bool:
    """Whether it is an infinite date or time, or a numeric that is none, whose value is a float."""
    if not isinstance(value, Constant) or not isinstance(value.value, float):
        return False
    return value.type.category == "D" or value.type.name == "numeric"


def is_large(value: Scalar) -> bool:
    """Whether it is a numeric that is larger than any that a column holds."""
    if not isinstance(value, Constant) or not isinstance(value.value, int) or value.type.name != "numeric":
        return False
    return bool(abs(value.value) >= 10 ** (NUMERIC_DIGITS + value.type.scale))


def truth(value: bool | None) -> Constant:
    return Constant(BOOL, value)
