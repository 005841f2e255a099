"""Which names an expression can see, and what they mean."""

import difflib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from sqlglot import exp

from query import fault
from query.bind.lookups import PendingLookup
from query.pg.types import PgType
from query.plan.environment import CommonTables
from query.plan.traverse import columns
from query.plan.tree import AggregateCall, Call, Column, Relation, RowOf, Scalar
from query.syntax.identifiers import fold
from query.syntax.positions import position_of


@dataclass(frozen=True, slots=True)
class Visible:
    """A column by name, as an expression over the FROM clause."""

    name: str
    value: Scalar


@dataclass(frozen=True, slots=True)
class Source:
    """A table of the FROM clause under its alias. `scalar`: a function with one column, which its alias names too;
    `nullable`: an outer join adds rows without any of this table's, where `presence` is NULL if it is there. A whole
    row keeps `own_names`, those that a dataset has for its columns, whatever the alias calls them."""

    alias: str
    columns: tuple[Visible, ...]
    own_names: tuple[str, ...] = ()
    scalar: bool = False
    nullable: bool = False
    presence: Scalar | None = None


@dataclass(frozen=True, slots=True)
class FromItem:
    """A bound FROM clause or a part of it. `visible` are the columns of `*`, merged ones (USING) once."""

    relation: Relation
    sources: tuple[Source, ...]
    visible: tuple[Visible, ...]

    def identifiers(self) -> set[str]:
        """The identifiers of all columns that its names refer to."""
        own_columns = (*self.visible, *(column for source in self.sources for column in source.columns))
        return {column.id for visible in own_columns for column in columns(visible.value)}


@dataclass(slots=True)
class Scope:
    """The FROM clause of one query block inside that of the enclosing ones. `collect` takes an aggregate over the
    block's rows, and the subqueries in its arguments, and gives the column of its value; None while FROM itself is
    bound. `aggregated` are the columns of such values, `looked_up` those of the subqueries, `tables` what WITH names
    for the block."""

    item: FromItem
    parent: "Scope | None" = None
    collect: Callable[[AggregateCall, Sequence[PendingLookup]], Column] | None = None
    note_grouping: Callable[[Call, Scalar], bool] | None = None
    outputs: dict[str, Scalar] = field(default_factory=dict)
    aggregated: set[str] = field(default_factory=set)
    looked_up: set[str] = field(default_factory=set)
    tables: CommonTables = field(default_factory=dict)

    def column(self, node: exp.Column) -> Scalar:
        """Resolve a column reference. Raises 42703, 42702, 42P01."""
        if node.args.get("table") is not None:
            return self._find_qualified(node)
        name, position = fold(node.this), position_of(node)
        column = self._found(node)
        if column is not None:
            return column
        _refuse_system_column(name, position)
        hint = _near(name, (source for scope in self._chain() for source in scope.item.sources)) or _quoted(node)
        raise fault.invalid(fault.UNDEFINED_COLUMN, f'column "{name}" does not exist', position, hint)

    def has_column(self, node: exp.Column) -> bool:
        """Whether the name means something here."""
        return self._found(node) is not None

    def _found(self, node: exp.Column) -> Scalar | None:
        picked = (pick(scope.item, node) for pick in (_exact, _whole_row, _nearly) for scope in self._chain())
        return next((column for column in picked if column is not None), None)

    def level_of(self, column_ids: set[str]) -> "Scope":
        """The innermost block that has one of these columns, or else this one."""
        if self.parent is None:
            return self
        for scope in self._chain():
            if not column_ids.isdisjoint(scope.item.identifiers() | scope.looked_up | scope.aggregated):
                return scope
        return self

    def _chain(self) -> "Iterator[Scope]":
        scope: Scope | None = self
        while scope is not None:
            yield scope
            scope = scope.parent

    def _find_qualified(self, node: exp.Column) -> Scalar:
        table, name = fold(node.args["table"]), fold(node.this)
        source = self.table(table, position_of(node))
        if isinstance(node.this, exp.Star):
            return _whole(replace(source, scalar=False), position_of(node))
        column = _pick(source.columns, node) or _pick(source.columns, node, by_case=False)
        if column is not None:
            return column
        _refuse_system_column(name, position_of(node))
        message, hint = f"column {table}.{name} does not exist", _near(name, [source])
        raise fault.invalid(fault.UNDEFINED_COLUMN, message, position_of(node), hint)

    def table(self, alias: str, position: int | None) -> Source:
        """The table with this alias, of the innermost block that has one. Raises 42P01."""
        for scope in self._chain():
            found = [source for source in scope.item.sources if source.alias == alias]
            if len(found) > 1:
                raise fault.invalid("42P09", f'table reference "{alias}" is ambiguous', position)
            if found:
                return found[0]
        sources = [source for scope in self._chain() for source in scope.item.sources]
        message = f'missing FROM-clause entry for table "{alias}"'
        hint = fault.nearest("table", alias, (source.alias for source in sources))
        raise fault.invalid(fault.UNDEFINED_TABLE, message, position, hint)


_SYSTEM_COLUMNS: Final = ("cmax", "cmin", "ctid", "tableoid", "xmax", "xmin")


def _refuse_system_column(name: str, position: int | None) -> None:
    """Raises 0A000 for what every table of PostgreSQL has beside its columns, and no dataset."""
    if name in _SYSTEM_COLUMNS:
        raise fault.unsupported(f"the system column {name}", position)


def _exact(item: FromItem, node: exp.Column) -> Scalar | None:
    return _pick(item.visible, node)


def _nearly(item: FromItem, node: exp.Column) -> Scalar | None:
    """Our own addition: an unquoted name that is nowhere exactly may differ in case, if only one column does."""
    return _pick(item.visible, node, by_case=False)


def _whole_row(item: FromItem, node: exp.Column) -> Scalar | None:
    for source in item.sources:
        if source.alias == fold(node.this):
            return _whole(source, position_of(node))
    return None


def _whole(source: Source, position: int | None) -> Scalar:
    """A table's name as a value: its row, or the value of a function that gives one."""
    if source.scalar:
        return source.columns[0].value
    if source.nullable and source.presence is None:
        message = f'the whole row "{source.alias}" of an outer join as a value'
        raise fault.unsupported(message, position, "name its columns")
    items = tuple(column.value for column in source.columns)
    names = source.own_names or tuple(column.name for column in source.columns)
    record_type = PgType("record", fields=tuple(item.type for item in items), names=names)
    return RowOf(record_type, items, source.alias, source.presence, position)


def _near(name: str, sources: Iterable[Source]) -> str | None:
    """A hint at the column that was meant, with its table as PostgreSQL writes it."""
    tables = {column.name: source.alias for source in sources for column in source.columns}
    near = difflib.get_close_matches(name, list(tables), 1)
    if not near:
        return None
    table = tables[near[0]]
    qualified_name = f"{table}.{near[0]}" if table else near[0]
    return f'Perhaps you meant to reference the column "{qualified_name}".'


def _quoted(node: exp.Column) -> str | None:
    """A hint at text in double quotes: a quoted name that stands where values are compared."""
    compared = isinstance(node.parent, exp.Predicate) and not isinstance(node.parent, exp.SubqueryPredicate)
    if not compared or not node.this.args.get("quoted"):
        return None
    text = node.this.name.replace("'", "''")
    return f"text is written with single quotes: '{text}'"


def _pick(visible: tuple[Visible, ...], node: exp.Column, by_case: bool = True) -> Scalar | None:
    """The column of this name. Raises 42702 for several."""
    name = fold(node.this)
    if by_case:
        columns = [column for column in visible if column.name == name]
    else:
        quoted = node.this.args.get("quoted")
        columns = [] if quoted else [column for column in visible if column.name.lower() == name.lower()]
    if len(columns) > 1:
        raise fault.invalid(fault.AMBIGUOUS_COLUMN, f'column reference "{name}" is ambiguous', position_of(node))
    return columns[0].value if columns else None
