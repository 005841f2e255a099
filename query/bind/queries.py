"""Whole queries: WITH, set operations, VALUES, brackets, and what follows them (ORDER BY, LIMIT)."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from sqlglot import exp

from query import fault
from query.bind.block import Block
from query.bind.limit import apply_limit
from query.bind.operators import require_hashable, require_sortable
from query.bind.outputs import bind_list
from query.bind.recursion import entry_name, in_order, mentions, recursive_union
from query.bind.scope import FromItem, Scope
from query.bind.select import bind_select
from query.bind.type_resolution import coerce, common, read_numeric_literals
from query.pg.types import PgType, same
from query.plan.environment import BoundQuery, CommonTable, CommonTables, Environment
from query.plan.tree import (
    Constant,
    Field,
    Project,
    Recursive,
    Relation,
    Scalar,
    SetOperation,
    Sort,
    SortKey,
    Values,
    WorkTable,
)
from query.syntax.construct_names import node_name
from query.syntax.identifiers import fold
from query.syntax.positions import position_of

_OPERATORS: dict[type[exp.Expr], str] = {exp.Union: "union", exp.Intersect: "intersect", exp.Except: "except"}
_TAIL: Final = {"order": "ORDER BY", "limit": "LIMIT", "offset": "OFFSET"}
Hints = Sequence[PgType] | None


def bind_query(
    node: exp.Expr, environment: Environment, tables: CommonTables, parent: Scope | None, hints: Hints = None
) -> BoundQuery:
    """A query as a relation. `hints` are types for the columns of VALUES that hold nothing but bare literals."""
    if isinstance(node, exp.Subquery):
        inner = _bare(node)
        return bind_query(inner, environment, _with(node, environment, tables, parent), parent, hints)
    tables = _with(node, environment, tables, parent)
    if isinstance(node, exp.Select):
        return bind_select(node, environment, tables, parent)
    if isinstance(node, exp.Values) and node.args.get("order") is not None:
        return bind_select(_select_from_values(node), environment, tables, parent)
    if isinstance(node, exp.Values):
        return _order_and_limit(node, _values(node, environment, tables, parent, hints), environment, tables, parent)
    if isinstance(node, exp.SetOperation):
        return _order_and_limit(
            node, _bind_set_operation(node, environment, tables, parent), environment, tables, parent
        )
    raise fault.unsupported(node_name(node), position_of(node))


def _bare(node: exp.Subquery) -> exp.Expr:
    """The query in the brackets with the clauses behind them as its own: PostgreSQL sorts before it cuts, wherever the
    brackets stand. Raises 42601 for a clause that it has already."""
    inner: exp.Expr = node.this
    outside = [part for part in _TAIL if node.args.get(part) is not None]
    for part in (*outside, *(["with_"] if node.args.get("with_") is not None else [])):
        if inner.args.get(part) is not None:
            message = f"multiple {_TAIL.get(part, 'WITH')} clauses not allowed"
            raise fault.invalid(fault.SYNTAX_ERROR, message, position_of(node.args[part]))
    if not outside:
        return inner
    whole = inner.copy()
    for part in outside:
        whole.set(part, node.args[part].copy())
    return whole


def _with(node: exp.Expr, environment: Environment, tables: CommonTables, parent: Scope | None) -> CommonTables:
    clause = node.args.get("with_")
    if clause is None:
        return tables
    in_scope = dict(tables)
    own: set[str] = set()
    for entry in clause.expressions:
        name = entry_name(entry)
        if name in own:
            message = f'WITH query name "{name}" specified more than once'
            raise fault.invalid(fault.DUPLICATE_ALIAS, message, position_of(entry))
        own.add(name)
    recursive = bool(clause.args.get("recursive"))
    for entry in in_order(clause.expressions) if recursive else clause.expressions:
        name = entry_name(entry)
        if recursive and mentions(entry.this, name):
            in_scope[name] = _recursive(name, entry, environment, in_scope, parent)
        else:
            query = bind_query(entry.this, environment, in_scope, parent)
            in_scope[name] = CommonTable(query.relation, _names(entry, query))
    return in_scope


def _with_all(query: exp.Expr, environment: Environment, tables: CommonTables, parent: Scope | None) -> CommonTables:
    """The tables in sight within a query in any number of brackets."""
    tables = _with(query, environment, tables, parent)
    return _with_all(query.this, environment, tables, parent) if isinstance(query, exp.Subquery) else tables


def _names(entry: exp.Expr, query: BoundQuery) -> tuple[str, ...]:
    """The column names of a WITH entry: its column list first, then the query's own names."""
    column_names = [fold(column) for column in entry.args["alias"].args.get("columns") or []]
    if len(column_names) > len(query.outputs):
        message = f'WITH query "{entry_name(entry)}" has {len(query.outputs)} columns available'
        raise fault.invalid(fault.INVALID_COLUMN_REFERENCE, message, position_of(entry))
    return (*column_names, *(name for name, _ in query.outputs[len(column_names) :]))


def _recursive(
    name: str, entry: exp.Expr, environment: Environment, tables: CommonTables, parent: Scope | None
) -> CommonTable:
    query = entry.this
    while isinstance(query, exp.Subquery):
        query = _bare(query)
    union = recursive_union(entry, query)
    tables = _with_all(entry.this, environment, tables, parent)
    base = bind_query(union.this, environment, tables, parent)
    names = _names(entry, base)
    pg_types = [field.type for _, field in base.outputs]
    source = tuple(environment.field(pg_type) for pg_type in pg_types)
    inner = {**tables, name: CommonTable(WorkTable(source, name, source), names)}
    step = _apply_types(bind_query(union.args["expression"], environment, inner, parent), pg_types, environment)
    if len(step.outputs) != len(pg_types):
        raise _column_count("UNION", position_of(entry))
    for index, (pg_type, (_, field)) in enumerate(zip(pg_types, step.outputs, strict=True), 1):
        if not same(pg_type, field.type) and common([pg_type, field.type], "UNION") != pg_type:
            message = (
                f'recursive query "{name}" column {index} has type {pg_type.sql_name} in non-recursive term '
                f"but type {field.type.sql_name} overall"
            )
            raise fault.invalid(fault.DATATYPE_MISMATCH, message, _output_position(union.this, index - 1))
    fields = tuple(environment.field(pg_type) for pg_type in pg_types)
    every = not union.args.get("distinct")
    made_step = _convert_outputs(step, pg_types, environment).relation
    return CommonTable(Recursive(fields, base.relation, made_step, name, every), names)


def _values(
    node: exp.Expr, environment: Environment, tables: CommonTables, parent: Scope | None, hints: Hints
) -> BoundQuery:
    block = Block(environment, tables, Scope(_nothing(), parent), "VALUES")
    rows = [bind_list(_items(row), block) for row in node.expressions]
    for row, row_node in zip(rows, node.expressions, strict=True):
        if len(row) != len(rows[0]):
            raise fault.invalid(fault.SYNTAX_ERROR, "VALUES lists must all be the same length", position_of(row_node))
    pg_types: list[PgType] = []
    untyped: dict[int, Constant | None] = {}
    settled_columns = [read_numeric_literals(column, position_of(node)) for column in zip(*rows, strict=True)]
    rows = [list(row) for row in zip(*settled_columns, strict=True)]
    for index, column in enumerate(settled_columns):
        if all(item.type.name == "unknown" for item in column):
            untyped[index] = None
            pg_types.append(hints[index] if hints is not None and index < len(hints) else common([], "VALUES"))
        else:
            positions = [_item_position(row, index) for row in node.expressions]
            pg_types.append(common([item.type for item in column], "VALUES", position_of(node), positions))
    fields = tuple(environment.field(pg_type) for pg_type in pg_types)
    constants = tuple(
        tuple(environment.localise(coerce(item, pg_type)) for item, pg_type in zip(row, pg_types, strict=True))
        for row in rows
    )
    relation = _compute_rows(fields, constants, block) if block.lookups else Values(fields, constants)
    outputs = tuple((f"column{index + 1}", made_field) for index, made_field in enumerate(fields))
    return BoundQuery(relation, outputs, untyped)


def _compute_rows(fields: tuple[Field, ...], rows: Sequence[tuple[Scalar, ...]], block: Block) -> Relation:
    """VALUES whose items contain subqueries: a union of one projection for each row."""
    base = block.attach(_nothing().relation, block.lookups)
    relation: Relation = Project(fields, base, rows[0])
    for row in rows[1:]:
        branch = Project(tuple(block.environment.field(field.type) for field in fields), base, row)
        merged = tuple(block.environment.field(field.type) for field in fields)
        relation = SetOperation(merged, relation, branch, "union", True)
    return Project(fields, relation, tuple(field.ref() for field in relation.fields)) if len(rows) > 1 else relation


def _select_from_values(node: exp.Expr) -> exp.Expr:
    """A SELECT from VALUES with an ORDER BY, which may then be any expression over their columns."""
    bare = node.copy()
    tail = {part: bare.args.pop(part) for part in _TAIL if part in bare.args}
    return exp.Select(expressions=[exp.Star()], from_=exp.From(this=bare), **tail)


def _items(row: exp.Expr) -> list[exp.Expr]:
    return list(row.expressions) if isinstance(row, exp.Tuple) else [row]


def _item_position(row: exp.Expr, index: int) -> int | None:
    """Where the n-th value of a row of VALUES is written, or the row, where `table.*` stands for several of them."""
    items = _items(row)
    return position_of(items[index] if index < len(items) else row)


def _nothing() -> FromItem:
    return FromItem(Values((), ((),)), (), ())


def _bind_set_operation(
    node: exp.Expr, environment: Environment, tables: CommonTables, parent: Scope | None
) -> BoundQuery:
    operator = _OPERATORS[type(node)]
    sides = [node.this, node.args["expression"]]
    _check_bracketed(sides, operator)
    left, right = (bind_query(side, environment, tables, parent) for side in sides)
    if len(left.outputs) != len(right.outputs):
        raise _column_count(operator.upper(), _output_position(sides[1], 0))
    pg_types = _common_types(left, right, operator, node)
    if left.untyped or right.untyped:
        left, right = (
            bind_query(side, environment, tables, parent, pg_types)
            if None in query.untyped.values()
            else _apply_types(query, pg_types, environment)
            for side, query in zip(sides, (left, right), strict=True)
        )
        pairs = zip(left.outputs, right.outputs, strict=True)
        pg_types = [common([a.type, b.type], operator.upper(), position_of(node)) for (_, a), (_, b) in pairs]
    every = not node.args.get("distinct")
    for pg_type in pg_types:
        if not (operator == "union" and every):
            require_hashable(pg_type, position_of(node))
    left, right = _convert_outputs(left, pg_types, environment), _convert_outputs(right, pg_types, environment)
    fields = tuple(environment.field(pg_type) for pg_type in pg_types)
    combined = SetOperation(fields, left.relation, right.relation, operator, every)
    outputs = tuple((name, field) for (name, _), field in zip(left.outputs, fields, strict=True))
    return BoundQuery(combined, outputs)


def _check_bracketed(sides: Sequence[exp.Expr], operator: str) -> None:
    """A side with clauses of its own stands in brackets."""
    for side in sides:
        own = [side.args[part] for part in (*_TAIL, "with_") if side.args.get(part) is not None]
        if own and not isinstance(side, exp.Subquery):
            message = f'syntax error at or near "{operator.upper()}"'
            raise fault.invalid(fault.SYNTAX_ERROR, message, position_of(own[0]), "put the query in brackets")


def _column_count(operator: str, position: int | None) -> Exception:
    return fault.invalid(fault.SYNTAX_ERROR, f"each {operator} query must have the same number of columns", position)


def _output_position(side: exp.Expr, index: int) -> int | None:
    """The position of the n-th output in a branch of a set operation."""
    while isinstance(side, exp.Subquery | exp.SetOperation):
        side = side.this
    items = side.expressions if isinstance(side, exp.Select) else []
    return position_of(items[index]) if index < len(items) else position_of(side)


def _common_types(left: BoundQuery, right: BoundQuery, operator: str, node: exp.Expr) -> list[PgType]:
    pg_types = []
    for index, ((_, a), (_, b)) in enumerate(zip(left.outputs, right.outputs, strict=True)):
        literals = []
        if index not in left.untyped:
            literals.append(a.type)
        if index not in right.untyped:
            literals.append(b.type)
        pg_types.append(common(literals, operator.upper(), _output_position(node.args["expression"], index)))
    return pg_types


def _apply_types(query: BoundQuery, pg_types: Sequence[PgType], environment: Environment) -> BoundQuery:
    """The query with its bare literals read as these types."""
    if not query.untyped:
        return query
    values = [field.ref() for _, field in query.outputs]
    typed = [
        coerce(query.untyped.get(index) or value, pg_type) if index in query.untyped else value
        for index, (value, pg_type) in enumerate(zip(values, pg_types, strict=True))
    ]
    fields = tuple(environment.field(value.type) for value in typed)
    outputs = tuple((name, new) for (name, _), new in zip(query.outputs, fields, strict=True))
    return BoundQuery(Project(fields, query.relation, tuple(typed)), outputs)


def _convert_outputs(query: BoundQuery, pg_types: Sequence[PgType], environment: Environment) -> BoundQuery:
    """The query with its outputs, and nothing else, in the given types."""
    fields = tuple(field for _, field in query.outputs)
    if (
        all(converted.type == pg_type for converted, pg_type in zip(fields, pg_types, strict=True))
        and query.relation.fields == fields
    ):
        return query
    converted = tuple(environment.field(pg_type) for pg_type in pg_types)
    values = tuple(
        environment.localise(coerce(old.ref(), pg_type)) for old, pg_type in zip(fields, pg_types, strict=True)
    )
    outputs = tuple((name, new) for (name, _), new in zip(query.outputs, converted, strict=True))
    return replace(query, relation=Project(converted, query.relation, values), outputs=outputs)


def _order_and_limit(
    node: exp.Expr, query: BoundQuery, environment: Environment, tables: CommonTables, parent: Scope | None
) -> BoundQuery:
    """ORDER BY and LIMIT after a set operation, VALUES or brackets: by output name or position."""
    order = node.args.get("order")
    relation = query.relation
    keys: tuple[SortKey, ...] = ()
    if order is not None:
        keys = tuple(_output_key(ordered, query) for ordered in order.expressions)
        relation = Sort(relation.fields, relation, keys)
    block = Block(environment, tables, Scope(_nothing(), parent))
    return replace(query, relation=apply_limit(node, relation, keys, block))


def _output_key(ordered: exp.Expr, query: BoundQuery) -> SortKey:
    value, output = ordered.this, None
    if isinstance(value, exp.Literal) and not value.args.get("is_string"):
        index = int(value.this) if str(value.this).isdigit() else 0
        if not 1 <= index <= len(query.outputs):
            message = f"ORDER BY position {value.this} is not in select list"
            raise fault.invalid(fault.INVALID_COLUMN_REFERENCE, message, position_of(ordered))
        output = query.outputs[index - 1][1]
    elif isinstance(value, exp.Column) and value.args.get("table") is None:
        output = _output_named(query.outputs, fold(value.this), ordered)
    if output is None:
        raise fault.unsupported(
            "an expression in ORDER BY of a set operation", position_of(ordered), "wrap the query in a subquery"
        )
    require_sortable(output.type, position_of(ordered))
    return SortKey(output.ref(), bool(ordered.args.get("desc")), bool(ordered.args.get("nulls_first")))


def _output_named(outputs: tuple[tuple[str, Field], ...], name: str, node: exp.Expr) -> Field:
    fields = [field for output_name, field in outputs if output_name == name]
    if not fields:
        raise fault.invalid(fault.UNDEFINED_COLUMN, f'column "{name}" does not exist', position_of(node))
    if len(fields) > 1:
        raise fault.invalid(fault.AMBIGUOUS_COLUMN, f'ORDER BY "{name}" is ambiguous', position_of(node))
    return fields[0]
