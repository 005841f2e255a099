"""Which names an expression can see, and what they mean."""

import difflib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from sqlglot import exp

from query import fault
from query.allowlist import position_of
from query.bound import Relation, RowOf, Scalar
from query.parse import fold
from query.types import PgType


@dataclass(frozen=True, slots=True)
class Visible:
    """A column by name, as an expression over the FROM clause."""

    name: str
    value: Scalar


@dataclass(frozen=True, slots=True)
class Source:
    """A table of the FROM clause under its alias. `scalar`: a function with one column, which its alias names too;
    `nullable`: an outer join adds rows without any of this table's."""

    alias: str
    columns: tuple[Visible, ...]
    scalar: bool = False
    nullable: bool = False


@dataclass(frozen=True, slots=True)
class FromItem:
    """A bound FROM clause or a part of it. `visible` are the columns of `*`, merged ones (USING) once."""

    relation: Relation
    sources: tuple[Source, ...]
    visible: tuple[Visible, ...]


@dataclass(slots=True)
class Scope:
    """The FROM clause of one query block inside that of the enclosing ones."""

    item: FromItem
    parent: "Scope | None" = None
    outputs: dict[str, Scalar] = field(default_factory=dict)

    def column(self, node: exp.Column) -> Scalar:
        """What a column reference means. Raises 42703, 42702, 42P01."""
        found = self._find(node)
        if found is not None:
            return found
        position = position_of(node)
        if node.args.get("table") is not None:
            raise self._unknown_qualified(node, position)
        name = fold(node.this)
        for source in (source for scope in self._chain() for source in scope.item.sources):
            if source.alias == name:
                return _whole(source, position)
        hint = _near(name, (source for scope in self._chain() for source in scope.item.sources))
        raise fault.invalid(fault.UNDEFINED_COLUMN, f'column "{name}" does not exist', position, hint)

    def _chain(self) -> "Iterator[Scope]":
        scope: Scope | None = self
        while scope is not None:
            yield scope
            scope = scope.parent

    def _find(self, node: exp.Column) -> Scalar | None:
        for scope in self._chain():
            if node.args.get("table") is not None:
                source = scope.source(fold(node.args["table"]))
                if source is not None:
                    return pick(source.columns, node)
                continue
            found = pick(scope.item.visible, node)
            if found is not None:
                return found
        return None

    def source(self, alias: str) -> Source | None:
        """The table with this alias in this block."""
        found = [source for source in self.item.sources if source.alias == alias]
        return found[0] if found else None

    def _unknown_qualified(self, node: exp.Column, position: int | None) -> Exception:
        table = fold(node.args["table"])
        for scope in self._chain():
            source = scope.source(table)
            if source is not None:
                name = fold(node.this)
                hint = _near(name, [source])
                return fault.invalid(fault.UNDEFINED_COLUMN, f"column {table}.{name} does not exist", position, hint)
        message = f'missing FROM-clause entry for table "{table}"'
        aliases = (source.alias for scope in self._chain() for source in scope.item.sources)
        return fault.invalid(fault.UNDEFINED_TABLE, message, position, fault.nearest("table", table, aliases))


def _whole(source: Source, position: int | None) -> Scalar:
    """A table's name as a value: its row, or the value of a function that gives one."""
    if source.scalar:
        return source.columns[0].value
    if source.nullable:
        message = f'the whole row "{source.alias}" of an outer join as a value'
        raise fault.unsupported(message, position, "name its columns")
    items = tuple(column.value for column in source.columns)
    names = tuple(column.name for column in source.columns)
    return RowOf(PgType("record", fields=tuple(item.type for item in items), names=names), items)


def _near(name: str, sources: Iterable[Source]) -> str | None:
    """A hint at the column that was meant, with its table as PostgreSQL writes it."""
    columns = {column.name: source.alias for source in sources for column in source.columns}
    near = difflib.get_close_matches(name, list(columns), 1)
    if not near:
        return None
    table = columns[near[0]]
    shown = f"{table}.{near[0]}" if table else near[0]
    return f'Perhaps you meant to reference the column "{shown}".'


def pick(columns: tuple[Visible, ...], node: exp.Column) -> Scalar | None:
    """The column of this name. An unquoted name that matches none exactly may differ in case, if only one does."""
    identifier = node.this
    name = fold(identifier)
    found = [column for column in columns if column.name == name]
    if not found and not identifier.args.get("quoted"):
        found = [column for column in columns if column.name.lower() == name]
    if len(found) > 1:
        raise fault.invalid(fault.AMBIGUOUS_COLUMN, f'column reference "{name}" is ambiguous', position_of(node))
    return found[0].value if found else None
