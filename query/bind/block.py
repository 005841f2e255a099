"""One query block while it is bound: its scope, and what its expressions asked the block to compute for them."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Final

from sqlglot import exp

from query import fault
from query.bind.decorrelate import decorrelate
from query.bind.scope import Scope
from query.bind.type_resolution import coerce
from query.pg.types import BOOL, PgType
from query.plan.environment import BoundQuery, CommonTables, Environment
from query.plan.traverse import columns, free_columns, rewrite
from query.plan.tree import (
    AggregateCall,
    Call,
    Column,
    Constant,
    Field,
    Frame,
    LookupJoin,
    Relation,
    Scalar,
    SortKey,
    Unnest,
    WindowCall,
)
from query.syntax.positions import position_of

GROUP_VALUE = "group value(any)"
"""Marks a direct argument of an aggregate, which is of the group and not of the row."""


@dataclass(frozen=True, slots=True)
class PendingLookup:
    """A subquery whose value an expression uses: joined to the block's rows before they are projected.

    `keys` pair an expression of this block with the column of `relation` it has to equal.
    """

    relation: Relation
    keys: tuple[tuple[Scalar, Column], ...] = ()
    single: bool = False

    def depends_on(self, outer: Relation) -> bool:
        """Whether it refers to columns of these rows."""
        outer_ids = {field.id for field in outer.fields}
        return any(column.id in outer_ids for column in self.references())

    def references(self) -> tuple[Column, ...]:
        """The columns of other relations that it refers to."""
        return (*free_columns(self.relation), *(column for value, _ in self.keys for column in columns(value)))


_REPEATED: Final = (exp.Subquery, exp.Exists, exp.In)
"""Nodes that hold a subquery, of which equal ones are computed once."""


@dataclass(frozen=True, slots=True)
class WindowDefinition:
    """A window definition: after OVER, or after a name in the WINDOW clause."""

    partition: tuple[Scalar, ...] = ()
    order: tuple[SortKey, ...] = ()
    frame: Frame | None = None


@dataclass(slots=True)
class Block:
    """State of one SELECT. `clause` names the clause being bound, for messages; aggregates are refused in some.

    `phase` is what it is computed over: "rows" of FROM (WHERE), the same rows for "groups" (GROUP BY), then "outputs".
    `subqueries` are those bound for groups or outputs, which are the same wherever they are repeated.
    """

    environment: Environment
    tables: CommonTables
    scope: Scope
    clause: str = "SELECT"
    aggregates_allowed: bool = False
    windows_allowed: bool = False
    series_allowed: bool = False
    inside_aggregate: bool = False
    windowing: bool = False
    aggregates: dict[AggregateCall, Field] = field(default_factory=dict)
    windows: dict[WindowCall, Field] = field(default_factory=dict)
    series: list[tuple[Scalar, Field]] = field(default_factory=list)
    group_series: list[tuple[Scalar, Field]] = field(default_factory=list)
    phase: str = "rows"
    lookups: list[PendingLookup] = field(default_factory=list)
    inner_lookups: list[PendingLookup] = field(default_factory=list)
    window_names: dict[str, WindowDefinition] = field(default_factory=dict)
    subqueries: dict[exp.Expr, Scalar] = field(default_factory=dict)
    frame_offsets: dict[tuple[exp.Expr, str, str], tuple[Column, PendingLookup]] = field(default_factory=dict)
    """Frame offsets that are no constants: the column of each, and the lookup that computes it."""
    grouping: list[Call] = field(default_factory=list)
    group_keys: list[Scalar] = field(default_factory=list)
    repeated_keys: dict[int, tuple[Field, Scalar]] = field(default_factory=dict)
    """Outputs that repeat an earlier one and are grouped by on their own, each as a column of the rows."""

    @contextmanager
    def binding(
        self, clause: str, aggregates: bool = False, windows: bool = False, series: bool = False
    ) -> Iterator[None]:
        """While a clause is bound: what its expressions may contain."""
        before = (self.clause, self.aggregates_allowed, self.windows_allowed, self.series_allowed)
        self.clause, self.aggregates_allowed, self.windows_allowed, self.series_allowed = (
            clause,
            aggregates,
            windows,
            series,
        )
        try:
            yield
        finally:
            self.clause, self.aggregates_allowed, self.windows_allowed, self.series_allowed = before

    @contextmanager
    def without_series(self, clause: str) -> Iterator[None]:
        """Inside CASE and COALESCE no function may return a set."""
        before = (self.clause, self.series_allowed)
        self.clause, self.series_allowed = clause, False
        try:
            yield
        finally:
            self.clause, self.series_allowed = before

    @contextmanager
    def arguments_of(self, name: str, windowing: bool = True) -> Iterator[None]:
        """While an aggregate's arguments are bound. Those of one that is a window function may hold plain aggregates,
        but its FILTER may not."""
        before = (self.windowing, self.inside_aggregate)
        plain = not self.windowing
        self.windowing, self.inside_aggregate = False, plain
        try:
            if plain or not windowing:
                with self.binding(f"the arguments of {name}" if plain else name):
                    yield
            else:
                yield
        finally:
            self.windowing, self.inside_aggregate = before

    def aggregate(self, call: AggregateCall) -> Column:
        """The column that will hold the aggregate's value, in the block whose rows it is over."""
        localised = self.environment.localise(call)
        call = localised if isinstance(localised, AggregateCall) else call
        level = self.scope.level_of(call)
        if level is self.scope:
            return self._collect(call)
        if level.collect is None:
            message = "aggregate functions are not allowed in FROM clause of their own query level"
            raise fault.invalid(fault.GROUPING_ERROR, message, call.position)
        return level.collect(call)

    def __post_init__(self) -> None:
        if self.clause == "SELECT":
            self.scope.collect = self._collect
            self.scope.note_grouping = self._note_grouping

    def _note_grouping(self, call: Call, argument: Scalar) -> bool:
        """Notes a GROUPING over this block's groups; False for an argument that it is not grouped by."""
        if call not in self.grouping:
            self.grouping.append(call)
        return argument in self.group_keys

    def _collect(self, call: AggregateCall) -> Column:
        """The column of an aggregate over this block's rows; equal calls share one."""
        if not self.aggregates_allowed:
            message = f"aggregate functions are not allowed in {self.clause}"
            raise fault.invalid(fault.GROUPING_ERROR, message, call.position)
        if self.inside_aggregate:
            raise fault.invalid(fault.GROUPING_ERROR, "aggregate function calls cannot be nested", call.position)
        if call not in self.aggregates:
            self.aggregates[call] = self.environment.field(call.type)
        return self.aggregates[call].ref()

    def window(self, call: WindowCall) -> Column:
        """The column that will hold the window function's value."""
        if not self.windows_allowed:
            message = f"window functions are not allowed in {self.clause}"
            raise fault.invalid(fault.WINDOWING_ERROR, message, call.position)
        if call not in self.windows:
            self.windows[call] = self.environment.field(call.type)
        return self.windows[call].ref()

    def rows_of(self, array: Scalar, position: int | None) -> Column:
        """The column that will hold one element of `array` per row; equal arrays share one."""
        if self.clause.startswith("the arguments of ") and not self.series_allowed:
            raise fault.unsupported(f"a set-returning function in {self.clause}", position, "put it into FROM")
        array = self.environment.localise(array)
        if not self.series_allowed or array.type.element is None:
            message = f"set-returning functions are not allowed in {self.clause}"
            raise fault.invalid(fault.FEATURE_NOT_SUPPORTED, message, position)
        for series, element in (*self.group_series, *self.series):
            if series == array:
                return element.ref()
        element = self.environment.field(array.type.element)
        self.series.append((array, element))
        return element.ref()

    def look_up(self, pending: PendingLookup) -> None:
        """Notes a subquery; one inside an aggregate's arguments or a group key is needed before grouping."""
        early = self.inside_aggregate or self.phase == "groups"
        (self.inner_lookups if early else self.lookups).append(pending)

    def attach(self, relation: Relation, lookups: list[PendingLookup]) -> Relation:
        """`relation` joined with the subqueries its next expressions use."""
        outer = relation
        for pending in lookups:
            inner, keys = decorrelate(pending.relation, outer, self.environment)
            fields = (*relation.fields, *inner.fields)
            relation = LookupJoin(fields, relation, inner, (*keys, *pending.keys), "left", pending.single)
        lookups.clear()
        return relation

    def bind(self, node: exp.Expr) -> Scalar:
        """The bound form of an expression; string literals without a context keep type unknown."""
        if self.phase == "rows" or self.inside_aggregate or not isinstance(node, _REPEATED):
            return self.environment.bind_scalar(node, self)
        if node not in self.subqueries:
            self.subqueries[node] = self.environment.bind_scalar(node, self)
        return self.subqueries[node]

    def bind_apart(self, node: exp.Expr) -> tuple[Scalar, list[PendingLookup]]:
        """The bound form of an expression that is not computed over the block's rows, and the lookups it needs."""
        before = self.lookups, self.inner_lookups, self.subqueries
        self.lookups, self.inner_lookups, self.subqueries = [], [], {}
        try:
            return self.bind(node), [*self.inner_lookups, *self.lookups]
        finally:
            self.lookups, self.inner_lookups, self.subqueries = before

    def bind_typed(self, node: exp.Expr, target: PgType, construct: str = "") -> Scalar:
        """The bound expression converted to `target` as PostgreSQL would implicitly."""
        return coerce(self.bind(node), target, position_of(node), construct)

    def bind_boolean(self, node: exp.Expr, construct: str) -> Scalar:
        """An argument of WHERE, AND and the like. Raises 42804 for another type."""
        value = self.bind(node)
        if value.type.name not in ("bool", "unknown"):
            message = f"argument of {construct} must be type boolean, not type {value.type.sql_name}"
            raise fault.invalid(fault.DATATYPE_MISMATCH, message, position_of(node))
        return coerce(value, BOOL, position_of(node))

    def subquery(self, node: exp.Expr) -> BoundQuery:
        """A query inside this block's expressions: it sees the block's columns."""
        return self.environment.bind_query(node, self.environment, self.tables, self.scope)


def unfold_series(relation: Relation, series: Sequence[tuple[Scalar, Field]]) -> Relation:
    """`relation` with the rows of its set-returning functions, side by side; those of one whose arguments have rows of
    others after these. Each is unfolded as early as it can be (ProjectSet)."""
    while series:
        waiting = {field.id for _, field in series}
        ready = [each for each in series if not any(column.id in waiting for column in columns(each[0]))]
        fields = (*relation.fields, *(field for _, field in ready))
        relation = Unnest(fields, relation, tuple(array for array, _ in ready))
        series = [each for each in series if each not in ready]
    return relation


def require_grouped(value: Scalar, block: Block) -> None:
    """Raises 42803 for a column of the block's rows that is not the same in all rows of a group."""
    keys, own = set(block.group_keys), block.scope.item.identifiers()
    rest = rewrite(value, lambda part: Constant(part.type, None) if part in keys else None)
    for column in columns(rest):
        if column.id in own:
            raise ungrouped_error(column_namer(block)(column.id), column.position)


def ungrouped_error(name: str, position: int | None) -> Exception:
    """42803: the column differs within a group."""
    message = f'column "{name}" must appear in the GROUP BY clause or be used in an aggregate function'
    return fault.invalid(fault.GROUPING_ERROR, message, position)


def column_namer(block: Block) -> Callable[[str], str]:
    """Tells the names of columns by their identifiers."""
    names = {
        visible.value.id: f"{source.alias}.{visible.name}" if source.alias else visible.name
        for source in block.scope.item.sources
        for visible in source.columns
        if isinstance(visible.value, Column)
    }
    return lambda identifier: names.get(identifier, identifier)
