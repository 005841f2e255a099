"""The FROM clause: tables, subqueries, functions, and what LATERAL lets them see."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final

from sqlglot import exp

from query import fault
from query.bind import type_resolution
from query.bind.arguments import SERIES_FUNCTIONS, arguments, series
from query.bind.block import Block
from query.bind.dimensions import flat
from query.bind.joins import beside, is_comma, join_items, merge_using, with_presence
from query.bind.record_functions import RECORD_FUNCTIONS, definitions, member, objects
from query.bind.scope import FromItem, Scope, Source, Visible
from query.bind.session_values import FROM_WORDS
from query.bind.type_resolution import coerce
from query.pg.types import FLOAT8, INT8, TEXT, PgType, array_of
from query.plan.environment import CommonTable, CommonTables, Environment
from query.plan.tree import (
    ArrayOf,
    Call,
    Constant,
    CteRef,
    Field,
    Filter,
    Project,
    Relation,
    Scalar,
    Scan,
    Unnest,
    Values,
    WorkTable,
)
from query.syntax.construct_names import node_name
from query.syntax.identifiers import fold, is_of_public, qualified_name
from query.syntax.positions import position_of

_PAIRS: Final = {"jsonb_each": "jsonb", "json_each": "json", "jsonb_each_text": "text", "json_each_text": "text"}
_TAILS: Final = ("with_", "order", "limit", "offset")
NOTHING: Final = FromItem(Values((), ((),)), (), ())


class FromBinder:
    """Binds the FROM clause of one block."""

    def __init__(self, environment: Environment, tables: CommonTables, parent: Scope | None) -> None:
        self._environment = environment
        self._tables = tables
        self._parent = parent
        self._whole_rows = frozenset[str]()

    def bind(self, select: exp.Expr) -> FromItem:
        """The rows of FROM and the names they bring."""
        clause = select.args.get("from_")
        if clause is None:
            return NOTHING
        if select.args.get("laterals"):
            raise fault.unsupported("LATERAL VIEW", position_of(select))
        self._whole_rows = _named_alone(select)
        item: FromItem | None = None
        for first, joins in _split_items(clause.this, select.args.get("joins") or []):
            part = self._chain(first, joins, item or NOTHING)
            item = part if item is None else join_items(item, part, "", None, self._environment)
        _check_aliases(item or NOTHING, clause)
        return item or NOTHING

    def _chain(self, first: exp.Expr, joins: Sequence[exp.Expr], lateral: FromItem) -> FromItem:
        """A table of the list and what is joined to it. `lateral` is what LATERAL sees: the items before."""
        item = self._item(first, lateral)
        for join in [*(first.args.get("joins") or []), *joins]:
            item = self._join(item, join, lateral)
        return item

    def _join(self, left: FromItem, node: exp.Expr, lateral: FromItem) -> FromItem:
        side, join_type = str(node.args.get("side") or "").lower(), str(node.args.get("kind") or "").lower()
        method = str(node.args.get("method") or "").lower()
        if join_type not in ("", "inner", "outer", "cross") or side not in ("", "left", "right", "full"):
            raise fault.unsupported(f"{join_type} join".strip(), position_of(node))
        if method not in ("", "natural"):
            raise fault.unsupported(f"{method} join", position_of(node))
        right = self._chain(node.this, (), beside(lateral, left) if lateral is not NOTHING else left)
        if side in ("left", "full"):
            right = with_presence(right, self._whole_rows, self._environment)
        if side in ("right", "full"):
            left = with_presence(left, self._whole_rows, self._environment)
        if method or node.args.get("using"):
            return merge_using(left, right, side, node, self._environment)
        if node.args.get("on") is None:
            return join_items(left, right, side, None, self._environment)
        scope = Scope(beside(left, right), self._parent)
        block = Block(self._environment, self._tables, scope, "JOIN conditions")
        condition = block.bind_boolean(node.args["on"], "JOIN/ON")
        for pending in block.lookups:
            if not pending.depends_on(left.relation):
                right = replace(right, relation=block.attach(right.relation, [pending]))
            elif not pending.depends_on(right.relation):
                left = replace(left, relation=block.attach(left.relation, [pending]))
            else:
                construct = "a subquery over both sides in a join condition"
                raise fault.unsupported(construct, position_of(node), "move it to WHERE")
        return join_items(left, right, side, condition, self._environment)

    # --- items -------------------------------------------------------------------------------------------------

    def _item(self, node: exp.Expr, lateral: FromItem) -> FromItem:
        if isinstance(node, exp.Table) and isinstance(node.this, exp.Identifier):
            return self._table(node)
        if isinstance(node, exp.Subquery) and _is_bracketed(node):
            return self._bind_brackets(node, lateral)
        if isinstance(node, exp.Subquery | exp.Values):
            return self._subquery(node, node.args.get("alias"), self._parent)
        if isinstance(node, exp.Table) and isinstance(node.this, exp.Values):
            return self._subquery(node.this, node.args.get("alias"), self._parent)
        if isinstance(node, exp.Lateral) and isinstance(node.this, exp.Subquery):
            return self._subquery(node.this, node.args.get("alias"), Scope(lateral, self._parent))
        if isinstance(node, exp.Lateral | exp.Unnest | exp.Table):
            return self._function(node, lateral)
        raise fault.unsupported(f"{node_name(node)} in FROM", position_of(node))

    def _bind_brackets(self, node: exp.Subquery, lateral: FromItem) -> FromItem:
        """A join in brackets; an alias hides the names of what is joined."""
        if not node.this.args.get("joins"):
            raise fault.invalid(fault.SYNTAX_ERROR, "brackets in FROM hold a query or a join", position_of(node))
        item = self._chain(node.this, (), lateral)
        _check_aliases(item, node)
        alias = node.args.get("alias")
        if alias is None:
            return item
        columns = _rename_columns(item.visible, alias, fold(alias.this))
        return FromItem(item.relation, (Source(fold(alias.this), columns),), columns)

    def _table(self, node: exp.Table) -> FromItem:
        qualified, name = qualified_name(node), fold(node.this)
        if qualified is None and name in self._tables and not is_of_public(node):
            if node.args.get("sample") is not None:
                message = "TABLESAMPLE clause can only be applied to tables and materialized views"
                raise fault.invalid(fault.FEATURE_NOT_SUPPORTED, message, position_of(node))
            return self._common(name, self._tables[name], node)
        read = qualified or name
        schema = self._environment.schemas.get(read)
        if schema is None:
            if qualified is None and name in FROM_WORDS and not node.this.args.get("quoted"):
                raise fault.unsupported(f"{name} in FROM", position_of(node), "write it in the select list")
            raise fault.invalid(fault.UNDEFINED_TABLE, f'relation "{read}" does not exist', position_of(node))
        fields = tuple(self._environment.field(pg_type) for _, pg_type in schema.columns)
        names = tuple(shown for shown, _ in schema.columns)
        rows: Relation = Scan(fields, read, schema.stored or names)
        if node.args.get("sample") is not None:
            rows = Filter(fields, rows, self._sampled(node.args["sample"]))
        item = _item_named(rows, names, fields, node.args.get("alias"), name)
        return replace(item, sources=tuple(replace(source, own_names=names) for source in item.sources))

    def _sampled(self, node: exp.Expr) -> Scalar:
        """TABLESAMPLE method (percentage) [REPEATABLE (seed)]; rows are chosen one by one by either method."""
        method = str(node.args.get("method") or "").upper()
        if method not in ("BERNOULLI", "SYSTEM"):
            raise fault.unsupported(f"TABLESAMPLE {method}".strip(), position_of(node), "use BERNOULLI or SYSTEM")
        block = Block(self._environment, self._tables, Scope(NOTHING, self._parent), "TABLESAMPLE")
        given = [_sample_number(node.args["percent"], block, "2202H", "TABLESAMPLE")]
        if node.args.get("seed") is not None:
            given.append(_sample_number(node.args["seed"], block, "2202G", "TABLESAMPLE REPEATABLE"))
        return type_resolution.call("rows sampled", given, position_of(node))

    def _common(self, name: str, table: CommonTable, node: exp.Table) -> FromItem:
        fields = tuple(self._environment.field(field.type) for field in table.relation.fields)
        relation: Relation = CteRef(fields, table.relation)
        if isinstance(table.relation, WorkTable):
            relation = WorkTable(fields, table.relation.table, table.relation.source)
        return _item_named(relation, table.names, fields[: len(table.names)], node.args.get("alias"), name)

    def _subquery(self, node: exp.Expr, alias: exp.Expr | None, scope: Scope | None) -> FromItem:
        bare = node.this if isinstance(node, exp.Subquery) and not _has_tail(node) else node
        query = self._environment.bind_query(bare, self._environment, self._tables, scope)
        names = tuple(name for name, _ in query.outputs)
        fields = tuple(field for _, field in query.outputs)
        return _item_named(query.relation, names, fields, alias, "")

    # --- functions ---------------------------------------------------------------------------------------------

    def _function(self, node: exp.Expr, lateral: FromItem) -> FromItem:
        """The rows of a function, whose arguments may name what stands before it."""
        block = Block(self._environment, self._tables, Scope(lateral, self._parent), "functions in FROM")
        call = _function_call(node)
        if isinstance(call, exp.Window | exp.Filter | exp.WithinGroup):
            raise fault.invalid(
                fault.SYNTAX_ERROR, "a function in FROM has no OVER, FILTER or WITHIN GROUP", position_of(call)
            )
        if isinstance(call, exp.Anonymous) and str(call.this).lower() in RECORD_FUNCTIONS:
            return self._records(node, call, block)
        arrays, names = self._arrays(call, block)
        base = block.attach(NOTHING.relation, block.lookups)
        ordinality = bool(node.args.get("ordinality")) or bool(_offset(node))
        fields = tuple(self._environment.field(array.type.element or TEXT) for array in arrays)
        counter = (self._environment.field(INT8),) if ordinality else ()
        alias = _alias(node)
        if alias is not None and _defines_columns(alias) and any(field.type.name == "record" for field in fields):
            raise fault.unsupported("a column definition list for this function", position_of(node))
        default = str(call.this).lower() if isinstance(call, exp.Anonymous) else "unnest"
        if alias is not None and alias.this is not None and len(arrays) == 1 and names == [default]:
            names = [fold(alias.this)]
        item_names = [*names, *(["ordinality"] if ordinality else [])]
        relation = Unnest((*base.fields, *fields, *counter), base, tuple(arrays), ordinality)
        item = _item_named(relation, item_names, (*fields, *counter), alias, default)
        if len(fields) + len(counter) > 1:
            return item
        return replace(item, sources=tuple(replace(source, scalar=True) for source in item.sources))

    def _records(self, node: exp.Expr, call: exp.Expr, block: Block) -> FromItem:
        """The rows of a function whose columns are defined beside it."""
        alias = _alias(node)
        columns = definitions(alias, call)
        array = objects(call, block)
        base = block.attach(NOTHING.relation, block.lookups)
        document = self._environment.field(array.type.element or TEXT)
        counter = (self._environment.field(INT8),) if node.args.get("ordinality") else ()
        rows = Unnest((*base.fields, document, *counter), base, (array,), bool(counter))
        values = tuple(member(document.ref(), name, target, position_of(call)) for name, target in columns)
        fields = tuple(self._environment.field(value.type) for value in values)
        relation = Project((*fields, *counter), rows, (*values, *(field.ref() for field in counter)))
        names = [*(name for name, _ in columns), *(["ordinality"] if counter else [])]
        name = exp.TableAlias(this=alias.this) if alias is not None and alias.this is not None else None
        return _item_named(relation, names, (*fields, *counter), name, str(call.this).lower())

    def _arrays(self, call: exp.Expr, block: Block) -> tuple[list[Scalar], list[str]]:
        """The arrays whose elements are the function's columns, and the columns' names."""
        if isinstance(call, exp.Unnest):
            values = [block.bind(argument) for argument in call.expressions]
            for value in values:
                if value.type.element is None:
                    message = f"function unnest({value.type.sql_name}) does not exist"
                    raise fault.invalid(fault.UNDEFINED_FUNCTION, message, position_of(call))
            return [flat(value) for value in values], ["unnest"] * len(values)
        name = str(call.this).lower()
        if name in _PAIRS:
            return self._pairs(name, call, block), ["key", "value"]
        if name in SERIES_FUNCTIONS:
            element = "value" if "array_elements" in name else name
            return [self._environment.localise(series(call, block))], [element]
        value = block.bind(call)
        if value.type.element is not None:
            return [Call(array_of(value.type), "row of(anyarray)", (value,))], [name]
        return [ArrayOf(array_of(value.type), (value,))], [name]

    def _pairs(self, name: str, call: exp.Expr, block: Block) -> list[Scalar]:
        json_kind = name.split("_", 1)[0]
        value = coerce(arguments(call, block)[0], PgType(json_kind), position_of(call))
        return [
            type_resolution.call(f"{json_kind}_object_keys", [value]),
            type_resolution.call(f"{name} values", [value]),
        ]


def _sample_number(node: exp.Expr, block: Block, state: str, clause: str) -> Scalar:
    """A parameter of TABLESAMPLE. Raises 42804 for another type, `state` for NULL, 0A000 for what is no constant."""
    value = block.bind_typed(node, FLOAT8, clause)
    if not isinstance(value, Constant):
        raise fault.unsupported(f"{clause} with what is no constant", position_of(node))
    if value.value is None:
        raise fault.invalid(state, f"{clause} parameter cannot be null", position_of(node))
    return value


def _split_items(first: exp.Expr, joins: Sequence[exp.Expr]) -> Iterator[tuple[exp.Expr, list[exp.Expr]]]:
    """The items between the commas of FROM, each with its joins: JOIN binds tighter than the comma."""
    item, own = first, []
    for join in joins:
        if not is_comma(join):
            own.append(join)
            continue
        yield item, own
        item, own = join.this, []
    yield item, own


def _is_bracketed(node: exp.Subquery) -> bool:
    """True for brackets around a table or a join; a query in brackets has no alias of its own inside them."""
    inner = node.this
    item = isinstance(inner, exp.Subquery | exp.Values | exp.Lateral | exp.Unnest)
    return isinstance(inner, exp.Table) or (item and bool(inner.args.get("joins") or inner.args.get("alias")))


def _has_tail(node: exp.Expr) -> bool:
    return any(node.args.get(part) for part in _TAILS)


def _item_named(
    relation: Relation, names: Sequence[str], fields: Sequence[Field], alias: exp.Expr | None, default: str
) -> FromItem:
    """A table under its alias, its columns renamed by the alias's list."""
    name = fold(alias.this) if alias is not None and alias.this is not None else default
    columns = tuple(Visible(column, field.ref()) for column, field in zip(names, fields, strict=True))
    columns = columns if alias is None else _rename_columns(columns, alias, name)
    return FromItem(relation, (Source(name, columns),), columns)


def _rename_columns(columns: tuple[Visible, ...], alias: exp.Expr, table: str) -> tuple[Visible, ...]:
    """The columns with the names that an alias lists, those that it leaves out under their own."""
    column_names = [fold(column) for column in alias.args.get("columns") or []]
    if _defines_columns(alias):
        message = 'a column definition list is only allowed for functions returning "record"'
        raise fault.invalid(fault.SYNTAX_ERROR, message, position_of(alias))
    if len(column_names) > len(columns):
        message = f'table "{table}" has {len(columns)} columns available but {len(column_names)} columns specified'
        raise fault.invalid(fault.INVALID_COLUMN_REFERENCE, message, position_of(alias))
    return (
        tuple(replace(column, name=name) for column, name in zip(columns, column_names, strict=False))
        + columns[len(column_names) :]
    )


def _defines_columns(alias: exp.Expr) -> bool:
    """Whether an alias has the types of the columns too."""
    return any(isinstance(column, exp.ColumnDef) for column in alias.args.get("columns") or [])


def _function_call(node: exp.Expr) -> exp.Expr:
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


def _check_aliases(item: FromItem, node: exp.Expr) -> None:
    names_seen: set[str] = set()
    for source in item.sources:
        if source.alias and source.alias in names_seen:
            message = f'table name "{source.alias}" specified more than once'
            raise fault.invalid(fault.DUPLICATE_ALIAS, message, position_of(node))
        names_seen.add(source.alias)


def _named_alone(select: exp.Expr) -> frozenset[str]:
    """Names that may be tables whose whole rows are used: `count(t)`, `count(t.*)`."""
    columns = select.find_all(exp.Column)
    found = (node.args.get("table") if isinstance(node.this, exp.Star) else node.this for node in columns)
    return frozenset(fold(name) for name in found if name is not None)
