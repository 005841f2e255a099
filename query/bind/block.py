"""One query block while it is bound: its scope, and what its expressions asked the block to compute for them."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Final

from sqlglot import exp

from query import fault
from query.bind.decorrelate import decorrelate
from query.bind.lookups import PendingLookup, is_of, outside_tables, used_by
from query.bind.scope import Scope
from query.bind.type_resolution import coerce
from query.pg.types import BOOL, PgType
from query.plan.environment import BoundQuery, CommonTables, Environment
from query.plan.traverse import columns, rewrite
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
        level, lookups = self.level_of(call), used_by(call, self.inner_lookups)
        if level is self.scope:
            return self._collect(call, ())
        if level.collect is None:
            message = "aggregate functions are not allowed in FROM clause of their own query level"
            raise fault.invalid(fault.GROUPING_ERROR, message, call.position)
        self._require_tables(lookups, level, call.position)
        column = level.collect(call, lookups)
        self.inner_lookups = [each for each in self.inner_lookups if not any(each is moved for moved in lookups)]
        return column

    def _require_tables(self, lookups: Sequence[PendingLookup], level: Scope, position: int | None) -> None:
        """Raises 0A000, as PostgreSQL does, for subqueries over WITH entries that are not there in the outer block."""
        references = (each for pending in lookups for each in outside_tables(pending.relation, self.tables))
        if not all(is_of(reference, level.tables) for reference in references):
            raise fault.unsupported("an aggregate of an outer query over a WITH entry of this one", position)

    def level_of(self, call: AggregateCall) -> Scope:
        """The block whose rows an aggregate is over: that of the innermost columns in its arguments, which may be
        subqueries. Raises 42803 if an aggregate of the same block is among them."""
        lookups = used_by(call, self.inner_lookups)
        inner = (column for pending in lookups for column in pending.own_references(self.tables))
        column_ids = {column.id for column in (*columns(call), *inner)}
        level = self.scope.level_of(column_ids)
        if not column_ids.isdisjoint(level.aggregated):
            raise fault.invalid(fault.GROUPING_ERROR, "aggregate function calls cannot be nested", call.position)
        return level

    def __post_init__(self) -> None:
        if self.clause == "SELECT":
            self.scope.collect = self._collect
            self.scope.tables = self.tables
            self.scope.note_grouping = self._note_grouping

    def _note_grouping(self, call: Call, argument: Scalar) -> bool:
        """Notes a GROUPING over this block's groups; False for an argument that it is not grouped by."""
        if call not in self.grouping:
            self.grouping.append(call)
        return argument in self.group_keys

    def _collect(self, call: AggregateCall, lookups: Sequence[PendingLookup]) -> Column:
        """The column of an aggregate over this block's rows; equal calls share one. `lookups` are the subqueries in its
        arguments that an inner block bound."""
        if not self.aggregates_allowed:
            message = f"aggregate functions are not allowed in {self.clause}"
            raise fault.invalid(fault.GROUPING_ERROR, message, call.position)
        if self.inside_aggregate:
            raise fault.invalid(fault.GROUPING_ERROR, "aggregate function calls cannot be nested", call.position)
        self._take_over(lookups)
        if call not in self.aggregates:
            self.aggregates[call] = self.environment.field(call.type)
            self.scope.aggregated.add(self.aggregates[call].id)
        return self.aggregates[call].ref()

    def _take_over(self, lookups: Sequence[PendingLookup]) -> None:
        """Notes subqueries that an inner block bound and that are over this block's rows."""
        self.scope.looked_up.update(field.id for pending in lookups for field in pending.relation.fields)
        self.inner_lookups.extend(lookups)

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
        elsewhere = self.clause.startswith("the arguments of ") or self.clause == "window definitions"
        if elsewhere and not self.series_allowed:
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
