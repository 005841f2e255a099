"""The FROM clause: tables, joins, subqueries, functions, LATERAL."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from sqlglot import exp

from query import fault
from query.allowlist import position_of
from query.bind import resolve
from query.bind.block import Block
from query.bind.decorrelate import decorrelated
from query.bind.environment import CommonTable, CommonTables, Environment
from query.bind.expressions import SERIES_FUNCTIONS, arguments, series
from query.bind.operators import comparison
from query.bind.resolve import coerce
from query.bind.scope import FromItem, Scope, Source, Visible
from query.bind.traverse import columns
from query.bound import (
    ArrayOf,
    Coalesce,
    Field,
    Filter,
    Join,
    Logic,
    Lookup,
    Project,
    Relation,
    Rows,
    Scalar,
    Scan,
    Shared,
    Unnest,
    WorkTable,
)
from query.parse import fold
from query.types import BOOL, INT8, TEXT, PgType, array_of

_PAIRS: Final = {"jsonb_each": "jsonb", "json_each": "json", "jsonb_each_text": "text", "json_each_text": "text"}
NOTHING: Final = FromItem(Rows((), ((),)), (), ())


class FromBinder:
    """Binds the FROM clause of one block."""

    def __init__(self, environment: Environment, tables: CommonTables, parent: Scope | None) -> None:
        self._environment = environment
        self._tables = tables
        self._parent = parent

    def bind(self, select: exp.Expr) -> FromItem:
        """The rows of FROM and the names they bring."""
        clause = select.args.get("from_")
        if clause is None:
            return NOTHING
        if _lateral(clause.this) is not None:
            item = self._lateral_join(NOTHING, clause.this, exp.Join(), "")
        else:
            item = self._table_with_joins(clause.this, None)
        for join in select.args.get("joins") or []:
            item = self._join(item, join)
        if select.args.get("laterals"):
            raise fault.unsupported("LATERAL VIEW", position_of(select))
        _check_aliases(item, clause)
        return item

    def _table_with_joins(self, node: exp.Expr, left: FromItem | None) -> FromItem:
        item = self._item(node, left)
        for join in node.args.get("joins") or []:
            item = self._join(item, join)
        return item

    def _item(self, node: exp.Expr, left: FromItem | None) -> FromItem:
        if isinstance(node, exp.Table) and isinstance(node.this, exp.Identifier):
            return self._table(node)
        if isinstance(node, exp.Subquery) and isinstance(node.this, exp.Table):
            return self._bracketed(node, left)
        if isinstance(node, exp.Subquery):
            return self._subquery(node, None)
        if isinstance(node, exp.Values):
            return self._subquery(node, None)
        raise fault.unsupported(f"{type(node).__name__} in FROM", position_of(node))

    def _bracketed(self, node: exp.Subquery, left: FromItem | None) -> FromItem:
        if node.args.get("alias") is not None:
            raise fault.unsupported("an alias on a bracketed join", position_of(node))
        return self._table_with_joins(node.this, left)

    def _table(self, node: exp.Table) -> FromItem:
        name = fold(node.this)
        if name in self._tables:
            return self._common(name, self._tables[name], node)
        schema = self._environment.schemas.get(name)
        if schema is None:
            raise fault.invalid(fault.UNDEFINED_TABLE, f'relation "{name}" does not exist', position_of(node))
        fields = tuple(self._environment.field(kind) for _, kind in schema.columns)
        names = tuple(stored for stored, _ in schema.columns)
        return self._named(Scan(fields, name, names), names, fields, node.args.get("alias"), name)

    def _common(self, name: str, table: CommonTable, node: exp.Table) -> FromItem:
        made = tuple(self._environment.field(field.type) for field in table.relation.fields)
        relation: Relation = Shared(made, table.relation)
        if isinstance(table.relation, WorkTable):
            relation = WorkTable(made, table.relation.table, table.relation.source)
        return self._named(relation, table.names, made[: len(table.names)], node.args.get("alias"), name)

    def _subquery(self, node: exp.Expr, scope: Scope | None) -> FromItem:
        query = self._environment.bind_query(
            node.this if isinstance(node, exp.Subquery) and not _has_tail(node) else _bare(node),
            self._environment,
            self._tables,
            scope if scope is not None else self._parent,
        )
        names = tuple(name for name, _ in query.outputs)
        fields = tuple(made for _, made in query.outputs)
        return self._named(query.relation, names, fields, node.args.get("alias"), "")

    def _named(
        self, relation: Relation, names: Sequence[str], fields: Sequence[Field], alias: exp.Expr | None, default: str
    ) -> FromItem:
        """A table under its alias, its columns renamed by the alias's list."""
        listed = [fold(column) for column in alias.args.get("columns") or []] if alias is not None else []
        name = fold(alias.this) if alias is not None and alias.this is not None else default
        if len(listed) > len(names):
            message = f'table "{name}" has {len(names)} columns available but {len(listed)} columns specified'
            raise fault.invalid(fault.INVALID_COLUMN_REFERENCE, message, position_of(alias) if alias else None)
        shown = [*listed, *names[len(listed) :]]
        visible = tuple(Visible(shown_name, made.ref()) for shown_name, made in zip(shown, fields, strict=True))
        return FromItem(relation, (Source(name, visible),), visible)

    # --- joins -------------------------------------------------------------------------------------------------

    def _join(self, left: FromItem, node: exp.Expr) -> FromItem:
        side, kind = str(node.args.get("side") or "").lower(), str(node.args.get("kind") or "").lower()
        if kind not in ("", "inner", "outer", "cross") or side not in ("", "left", "right", "full"):
            raise fault.unsupported(f"{kind} join".strip(), position_of(node))
        right_node = node.this
        lateral = _lateral(right_node)
        if lateral is not None:
            return self._lateral_join(left, lateral, node, side)
        right = self._table_with_joins(right_node, left)
        return self._joined(left, right, node, side)

    def _joined(self, left: FromItem, right: FromItem, node: exp.Expr, side: str) -> FromItem:
        sources = (*_outer(left.sources, side in ("right", "full")), *_outer(right.sources, side in ("left", "full")))
        method = str(node.args.get("method") or "").lower()
        using = [fold(column) for column in node.args.get("using") or []]
        if method == "natural":
            names = [column.name for column in right.visible]
            using = [column.name for column in left.visible if column.name in names]
        elif method:
            raise fault.unsupported(f"{method} join", position_of(node))
        if using or method == "natural":
            return self._using(left, right, using, side, node)
        combined = FromItem(left.relation, sources, (*left.visible, *right.visible))
        condition = self._condition(node, combined)
        if condition is None and side:
            raise fault.invalid(fault.SYNTAX_ERROR, "a join needs ON or USING", position_of(node))
        relation = _join_relation(left.relation, right.relation, side, condition)
        return replace(combined, relation=relation)

    def _condition(self, node: exp.Expr, item: FromItem) -> Scalar | None:
        if node.args.get("on") is None:
            return None
        block = Block(self._environment, self._tables, Scope(item, self._parent), "JOIN conditions")
        condition = block.bind_boolean(node.args["on"], "JOIN/ON")
        if block.lookups:
            raise fault.unsupported("a subquery in a join condition", position_of(node), "move it to WHERE")
        return condition

    def _using(self, left: FromItem, right: FromItem, names: list[str], side: str, node: exp.Expr) -> FromItem:
        """USING and NATURAL: the named columns come first, once; of a full join, whichever side has a value."""
        pairs = [(_only(left, name, node, "left"), _only(right, name, node, "right")) for name in names]
        tests = tuple(comparison("=", a.value, b.value, position_of(node)) for a, b in pairs)
        condition = None if not tests else tests[0] if len(tests) == 1 else Logic(BOOL, "and", tests)
        relation = _join_relation(left.relation, right.relation, side, condition)
        merged = tuple(
            Visible(a.name, _merged(a.value, b.value, test, side)) for (a, b), test in zip(pairs, tests, strict=True)
        )
        rest = tuple(column for column in left.visible if column.name not in names)
        others = tuple(column for column in right.visible if column.name not in names)
        sources = (*_outer(left.sources, side in ("right", "full")), *_outer(right.sources, side in ("left", "full")))
        return FromItem(relation, sources, (*merged, *rest, *others))

    # --- functions and LATERAL ---------------------------------------------------------------------------------

    def _lateral_join(self, left: FromItem, node: exp.Expr, join: exp.Expr, side: str) -> FromItem:
        if side in ("right", "full"):
            message = "invalid reference to FROM-clause entry: LATERAL cannot be used on this side of the join"
            raise fault.invalid(fault.INVALID_COLUMN_REFERENCE, message, position_of(node))
        if join.args.get("using") or join.args.get("method"):
            raise fault.unsupported("USING with LATERAL", position_of(join))
        scope = Scope(left, self._parent)
        query = node.this if isinstance(node, exp.Lateral) else node
        if isinstance(query, exp.Subquery):
            bare = exp.Subquery(this=query.this, alias=node.args.get("alias"))
            item = self._subquery(bare, scope)
            return self._dependent(left, item, join, side)
        return self._function(left, node, join, side, scope)

    def _dependent(self, left: FromItem, item: FromItem, join: exp.Expr, side: str) -> FromItem:
        """LATERAL (SELECT ...): the subquery once per distinct row of what it refers to."""
        sources = (*left.sources, *_outer(item.sources, side == "left"))
        combined = FromItem(left.relation, sources, (*left.visible, *item.visible))
        relation = item.relation
        condition = self._condition(join, combined)
        if condition is not None:
            relation = Filter(relation.fields, relation, condition)
        inner, keys = decorrelated(relation, left.relation, self._environment)
        fields = (*left.relation.fields, *inner.fields)
        joined = Lookup(fields, left.relation, inner, keys, "left" if side == "left" else "inner", False)
        return replace(combined, relation=joined)

    def _function(self, left: FromItem, node: exp.Expr, join: exp.Expr, side: str, scope: Scope) -> FromItem:
        block = Block(self._environment, self._tables, scope, "functions in FROM")
        call = _called(node)
        arrays, names = self._arrays(call, block)
        if block.lookups:
            raise fault.unsupported("a subquery as argument of a function in FROM", position_of(node))
        ordinality = bool(node.args.get("ordinality")) or bool(_offset(node))
        made = tuple(self._environment.field(array.type.element or TEXT) for array in arrays)
        counter = (self._environment.field(INT8),) if ordinality else ()
        alias = _alias(node)
        default = str(call.this).lower() if isinstance(call, exp.Anonymous) else "unnest"
        if alias is not None and alias.this is not None and len(arrays) == 1 and names == [default]:
            names = [fold(alias.this)]
        item_names = [*names, *(["ordinality"] if ordinality else [])]
        independent = not any(_has_columns(array) for array in arrays)
        base = NOTHING.relation if independent and side != "left" else left.relation
        relation = Unnest((*base.fields, *made, *counter), base, tuple(arrays), ordinality, side == "left")
        item = self._named(relation, item_names, (*made, *counter), alias, default)
        if len(made) + len(counter) == 1:
            item = replace(item, sources=tuple(replace(source, scalar=True) for source in item.sources))
        if base is NOTHING.relation and left is not NOTHING:
            return self._joined(left, item, join, side)
        if join.args.get("on") is not None and not _is_true(join.args["on"]):
            if side == "left":
                raise fault.unsupported("a condition on LEFT JOIN LATERAL of a function", position_of(join))
            combined = FromItem(relation, (*left.sources, *item.sources), (*left.visible, *item.visible))
            condition = self._condition(join, combined)
            if condition is not None:
                relation = Filter(relation.fields, relation, condition)  # type: ignore[assignment]
        return FromItem(relation, (*left.sources, *item.sources), (*left.visible, *item.visible))

    def _arrays(self, call: exp.Expr, block: Block) -> tuple[list[Scalar], list[str]]:
        """The arrays whose elements are the function's columns, and the columns' names."""
        if isinstance(call, exp.Unnest):
            values = [block.bind(argument) for argument in call.expressions]
            for value in values:
                if value.type.element is None:
                    message = f"function unnest({value.type.sql_name}) does not exist"
                    raise fault.invalid(fault.UNDEFINED_FUNCTION, message, position_of(call))
            return values, ["unnest"] * len(values)
        name = str(call.this).lower()
        if name in _PAIRS:
            return self._pairs(name, call, block), ["key", "value"]
        if name in SERIES_FUNCTIONS:
            element = "value" if "array_elements" in name else name
            return [series(call, block)], [element]
        value = block.bind(call)
        return [ArrayOf(array_of(value.type), (value,))], [name]

    def _pairs(self, name: str, call: exp.Expr, block: Block) -> list[Scalar]:
        json_kind = name.split("_", 1)[0]
        value = coerce(arguments(call, block)[0], PgType(json_kind), position_of(call))
        return [resolve.call(f"{json_kind}_object_keys", [value]), resolve.call(f"{name} values", [value])]


def _outer(sources: tuple[Source, ...], nullable: bool) -> tuple[Source, ...]:
    """The tables on a side of a join that may have no row."""
    return tuple(replace(source, nullable=True) for source in sources) if nullable else sources


def _has_columns(array: Scalar) -> bool:
    return next(iter(columns(array)), None) is not None


def _lateral(node: exp.Expr) -> exp.Expr | None:
    """The node if it is LATERAL or a function, both of which see the tables before them."""
    if isinstance(node, exp.Lateral | exp.Unnest):
        return node
    if isinstance(node, exp.Table) and not isinstance(node.this, exp.Identifier):
        return node
    return None


def _called(node: exp.Expr) -> exp.Expr:
    if isinstance(node, exp.Unnest):
        return node
    called: exp.Expr = node.this
    return called


def _offset(node: exp.Expr) -> exp.Expr | None:
    unnest = node if isinstance(node, exp.Unnest) else node.this
    return unnest.args.get("offset") if isinstance(unnest, exp.Unnest) else None


def _alias(node: exp.Expr) -> exp.Expr | None:
    alias = node.args.get("alias")
    if alias is None and isinstance(node.this, exp.Unnest):
        alias = node.this.args.get("alias")
    offset = _offset(node)
    if isinstance(offset, exp.Identifier) and alias is not None:
        alias = alias.copy()
        alias.set("columns", [*(alias.args.get("columns") or []), offset.copy()])
    return alias


def _is_true(node: exp.Expr) -> bool:
    return isinstance(node, exp.Boolean) and bool(node.this)


def _has_tail(node: exp.Expr) -> bool:
    return any(node.args.get(part) for part in ("with_", "order", "limit", "offset"))


def _bare(node: exp.Expr) -> exp.Expr:
    """The query without its alias."""
    bare = node.copy()
    bare.set("alias", None)
    return bare


def _join_relation(left: Relation, right: Relation, side: str, condition: Scalar | None) -> Join | Project:
    fields = (*left.fields, *right.fields)
    if side == "right":
        flipped = Join((*right.fields, *left.fields), right, left, "left", condition)
        return Project(fields, flipped, tuple(made.ref() for made in fields))
    return Join(fields, left, right, side or "inner", condition)


def _only(item: FromItem, name: str, node: exp.Expr, side: str) -> Visible:
    found = [column for column in item.visible if column.name == name]
    if not found:
        message = f'column "{name}" specified in USING clause does not exist in {side} table'
        raise fault.invalid(fault.UNDEFINED_COLUMN, message, position_of(node))
    if len(found) > 1:
        message = f'common column name "{name}" appears more than once in {side} table'
        raise fault.invalid(fault.AMBIGUOUS_COLUMN, message, position_of(node))
    return found[0]


def _merged(left: Scalar, right: Scalar, test: Scalar, side: str) -> Scalar:
    sides = getattr(test, "args", (left, right))
    left, right = sides
    if side == "right":
        return right
    return Coalesce(left.type, (left, right)) if side == "full" else left


def _check_aliases(item: FromItem, node: exp.Expr) -> None:
    seen: set[str] = set()
    for source in item.sources:
        if source.alias and source.alias in seen:
            message = f'table name "{source.alias}" specified more than once'
            raise fault.invalid(fault.DUPLICATE_ALIAS, message, position_of(node))
        seen.add(source.alias)
