"""Comparisons, IN, BETWEEN, EXISTS, ANY and ALL, over lists, arrays and subqueries."""

from collections.abc import Sequence
from typing import Final

from sqlglot import exp

from query import fault
from query.bind.arguments import arguments
from query.bind.block import Block
from query.bind.dimensions import flat, items_of
from query.bind.lookups import PendingLookup
from query.bind.operand_size import check_copies
from query.bind.operators import COMPARISONS, comparison, require_hashable, require_sortable
from query.bind.output_names import BOUND_NAME
from query.bind.type_resolution import call, coerce, common, comparable
from query.functions.registry import syntax
from query.pg.types import BOOL, INT8, TEXT, PgType, array_of
from query.plan.environment import BoundQuery
from query.plan.tree import (
    Aggregate,
    AggregateCall,
    Call,
    Case,
    Coalesce,
    Column,
    Constant,
    Distinct,
    Field,
    Filter,
    InList,
    IsNull,
    Logic,
    Not,
    Project,
    Relation,
    RowOf,
    Scalar,
    is_endless,
    truth,
)
from query.syntax.positions import operator_of, position_of

_NEGATED: Final = {"=": "<>", "<>": "=", "<": ">=", ">=": "<", ">": "<=", "<=": ">"}
_LISTABLE: Final = ("bool", "int2", "int4", "int8", "float8", "text", "date", "timestamp", "timestamptz")


@syntax(
    *COMPARISONS,
    form="a = | <> | < | <= | > | >= b, also ANY (...), ALL (...)",
    summary="The comparison; with the items of an array or the rows of a subquery.",
)
def bind_comparison(node: exp.Expr, block: Block) -> Scalar:
    """`a < b`, also `a < ANY (array)` and `a < ALL (SELECT ...)`."""
    symbol, right = COMPARISONS[type(node)], quantifier(node.args["expression"])
    if isinstance(right, exp.Any | exp.All):
        return _bind_quantified(symbol, node, right, block)
    if isinstance(node.this, exp.Any | exp.All):
        raise fault.invalid(fault.SYNTAX_ERROR, "ANY and ALL stand on the right side", operator_of(node))
    left = block.bind(node.this)
    if isinstance(left, RowOf) and not left.table and isinstance(right, exp.Subquery):
        row = _row_subquery(right, len(left.items), block, operator_of(node))
        return comparison(symbol, left, row, operator_of(node))
    return comparison(symbol, left, block.bind(right), operator_of(node))


def _row_subquery(node: exp.Subquery, columns: int, block: Block, position: int | None) -> RowOf:
    """A subquery of at most one row on the right of a row: its columns, NULL without a row."""
    query = block.subquery(node.this)
    if len(query.outputs) != columns:
        side = "too many" if len(query.outputs) > columns else "too few"
        raise fault.invalid(fault.SYNTAX_ERROR, f"subquery has {side} columns", position)
    block.look_up(PendingLookup(query.relation, single=not _at_most_one_row(query.relation)))
    items = tuple(field.ref() for _, field in query.outputs)
    return RowOf(PgType("record", fields=tuple(item.type for item in items)), items)


def quantifier(node: exp.Expr) -> exp.Expr:
    """ALL (array) parses as a call of a function `all`."""
    if isinstance(node, exp.Anonymous) and str(node.this).lower() == "all" and len(node.expressions) == 1:
        return exp.All(this=node.expressions[0])
    return node


@syntax(
    exp.NullSafeEQ,
    exp.NullSafeNEQ,
    form="a IS [NOT] DISTINCT FROM b",
    summary="The comparison with NULL as a value like any other.",
)
def bind_distinct_from(node: exp.Expr, block: Block) -> Scalar:
    """`a IS [NOT] DISTINCT FROM b`."""
    left, right = block.bind(node.this), block.bind(node.args["expression"])
    for value, other in ((left, right), (right, left)):
        if isinstance(value, Constant) and value.value is None:
            null: Scalar = IsNull(BOOL, coerce(other, TEXT) if other.type.name == "unknown" else other)
            return null if isinstance(node, exp.NullSafeEQ) else Not(BOOL, null)
    equal = comparison("is not distinct from", left, right, operator_of(node))
    return equal if isinstance(node, exp.NullSafeEQ) else Not(BOOL, equal)


@syntax(
    exp.Between,
    form="a [NOT] BETWEEN [SYMMETRIC] low AND high",
    summary="Whether it is within the range, ends included.",
)
def bind_between(node: exp.Expr, block: Block) -> Scalar:
    """`a [NOT] BETWEEN [SYMMETRIC] low AND high`."""
    value, low, high = (block.bind(node.args[name]) for name in ("this", "low", "high"))
    position = operator_of(node)
    check_copies(value, position)
    result = _between(value, low, high, position)
    if node.args.get("symmetric"):
        result = Logic(BOOL, "or", (result, _between(value, high, low, position)))
    return Not(BOOL, result) if node.args.get("negate") else result


def _between(value: Scalar, low: Scalar, high: Scalar, position: int | None) -> Scalar:
    return Logic(BOOL, "and", (comparison(">=", value, low, position), comparison("<=", value, high, position)))


@syntax(exp.In, form="a [NOT] IN (values | query)", summary="Whether one of them is equal.")
def bind_in(node: exp.Expr, block: Block) -> Scalar:
    """`a [NOT] IN (list)` or `(SELECT ...)`."""
    value = block.bind(node.this)
    query = subquery_of(node)
    if query is not None:
        result = in_subquery(value, block.subquery(query), block, operator_of(node))
    else:
        result = _in_list(value, [block.bind(item) for item in node.expressions], operator_of(node))
    return Not(BOOL, result) if node.args.get("negate") else result


def subquery_of(node: exp.Expr) -> exp.Expr | None:
    """The query that IN looks into: also VALUES, and a query in brackets of its own. None for a list."""
    items = node.expressions
    if len(items) == 1 and isinstance(items[0], exp.Query | exp.Values):
        only: exp.Expr = items[0]
        return only
    query: exp.Expr | None = node.args.get("query")
    return query


def _in_list(value: Scalar, items: list[Scalar], position: int | None) -> Scalar:
    if all(isinstance(item, Constant) for item in items) and not isinstance(value, RowOf | Constant):
        in_list = _among(value, items, position)
        if in_list is not None:
            return in_list
    check_copies(value, position)
    parts = tuple(comparison("=", value, item, position) for item in items)
    return parts[0] if len(parts) == 1 else Logic(BOOL, "or", parts)


def _among(value: Scalar, items: list[Scalar], position: int | None) -> Scalar | None:
    known_types = [item.type for item in items if item.type.name != "unknown"]
    if any(pg_type.category != value.type.category for pg_type in known_types):
        return None
    target = common([value.type, *known_types], "IN", position)
    if target.name not in _LISTABLE:
        return None
    constants = [coerce(item, target, position) for item in items]
    values = [item.value for item in constants if isinstance(item, Constant)]
    if len(values) != len(items) or any(map(is_endless, constants)):
        return None
    present = tuple(dict.fromkeys(entry for entry in values if entry is not None))
    return InList(BOOL, coerce(value, target, position), present, None in values)


def quantified_items(node: exp.Expr, block: Block, element: PgType) -> list[Scalar] | None:
    """The items of ANY or ALL when the array is written out; None for an array that comes from data."""
    inner = node.this
    while isinstance(inner, exp.Paren):
        inner = inner.this
    value = block.bind(inner)
    if value.type.name == "unknown" and isinstance(value, Constant) and value.value is not None:
        value = coerce(value, array_of(element if element.name != "unknown" else TEXT), operator_of(node))
    return items_of(value)


def _bind_quantified(symbol: str, node: exp.Expr, right: exp.Expr, block: Block) -> Scalar:
    value, position = block.bind(node.this), operator_of(node)
    any_of = isinstance(right, exp.Any)
    inner = right.this
    while isinstance(inner, exp.Paren):
        inner = inner.this
    if isinstance(inner, exp.Query):
        return _quantified_subquery(symbol, value, block.subquery(inner), any_of, block, position)
    array = block.bind(inner)
    if array.type.name == "unknown":
        array = coerce(array, array_of(value.type if value.type.name != "unknown" else TEXT), position)
    if array.type.element is None:
        message = "op ANY/ALL (array) requires array on right side"
        raise fault.invalid("42809", message, position)
    items = items_of(array)
    if items is None:
        return _over_array(symbol, value, array, any_of, position)
    check_copies(value, position)
    parts = tuple(comparison(symbol, value, item, position) for item in items)
    return Logic(BOOL, "or" if any_of else "and", parts) if parts else truth(not any_of)


def _over_array(symbol: str, value: Scalar, array: Scalar, any_of: bool, position: int | None) -> Scalar:
    array = flat(array)
    element = array.type.element or TEXT
    value, item = comparable(value, Column(element, ""), position, symbol)
    array = coerce(array, array_of(item.type), position)
    name = f"{symbol} {'any' if any_of else 'all'}"
    return call(name, [value, array], position)


@syntax(exp.Exists, form="EXISTS (query)", summary="Whether the query has a row.")
def bind_exists(node: exp.Expr, block: Block) -> Scalar:
    """`EXISTS (SELECT ...)` as a value: the number of rows, cut at one, is not zero."""
    query = block.subquery(node.this)
    count = block.environment.field(INT8)
    calls = (AggregateCall(INT8, "count", ()),)
    counted = Aggregate((count,), query.relation, (), calls)
    block.look_up(PendingLookup(counted))
    return Call(BOOL, ">(any, any)", (count.ref(), Constant(INT8, 0)))


@syntax(
    exp.Subquery,
    exp.Select,
    exp.Union,
    exp.Intersect,
    exp.Except,
    exp.Values,
    form="(query)",
    summary="Its one value, NULL without rows.",
)
def bind_scalar_subquery(node: exp.Expr, block: Block) -> Scalar:
    """`(SELECT one column)` as a value: NULL for no row, 21000 for more than one."""
    query = block.subquery(node.this if isinstance(node, exp.Subquery) else node)
    if isinstance(node, exp.Subquery) and node.args.get("alias"):
        raise fault.invalid(fault.SYNTAX_ERROR, "a subquery in an expression has no alias", position_of(node))
    column = _only_column(query, position_of(node))
    node.meta[BOUND_NAME] = query.outputs[0][0]
    block.look_up(PendingLookup(query.relation, single=not _at_most_one_row(query.relation)))
    return column.ref()


def _at_most_one_row(relation: Relation) -> bool:
    if isinstance(relation, Project | Filter):
        return _at_most_one_row(relation.input)
    return isinstance(relation, Aggregate) and not relation.keys


def _only_column(query: BoundQuery, position: int | None) -> Field:
    if len(query.outputs) != 1:
        raise fault.invalid(fault.SYNTAX_ERROR, "subquery must return only one column", position)
    return query.outputs[0][1]


@syntax("array", form="ARRAY(query)", summary="The rows in order, as an array.")
def bind_array_subquery(node: exp.Expr, block: Block) -> Scalar:
    """`ARRAY(SELECT ...)`: the rows in order as an array, empty for none."""
    if len(node.expressions) != 1 or not isinstance(node.expressions[0], exp.Query):
        return call("array", arguments(node, block), position_of(node))
    query = block.subquery(node.expressions[0])
    column = _only_column(query, position_of(node.expressions[0]))
    pg_type = array_of(column.type)
    result = block.environment.field(pg_type)
    calls = (AggregateCall(pg_type, "array_agg", (column.ref(),)),)
    block.look_up(PendingLookup(Aggregate((result,), query.relation, (), calls)))
    return Coalesce(pg_type, (result.ref(), Constant(pg_type, ())))


def in_subquery(value: Scalar, query: BoundQuery, block: Block, position: int | None) -> Scalar:
    """`value IN (SELECT ...)` as a three-valued result: found, or unknown when a NULL is in the way."""
    values = value.items if isinstance(value, RowOf) and not value.table else (value,)
    if len(query.outputs) != len(values):
        side = "too many" if len(query.outputs) > len(values) else "too few"
        raise fault.invalid(fault.SYNTAX_ERROR, f"subquery has {side} columns", position)
    if len(values) > 1:
        return _row_in_subquery(values, query, block, position)
    if isinstance(values[0], RowOf):
        raise fault.unsupported("a whole row among the rows of a subquery", position, "name its columns")
    value, relation, column = _to_common_type(values[0], query, block, position)
    match = _look_up_match(value, relation, column, block)
    rows, has_null = _counts(relation, column, block)
    unknown = Logic(BOOL, "or", (IsNull(BOOL, value), has_null))
    empty = Call(BOOL, "=(any, any)", (rows, Constant(INT8, 0)))
    return Case(BOOL, ((match, truth(True)), (empty, truth(False)), (unknown, truth(None))), truth(False))


def _row_in_subquery(values: tuple[Scalar, ...], query: BoundQuery, block: Block, position: int | None) -> Scalar:
    """Found if a row is equal, unknown if one could be, its differences being NULLs."""
    tests = [
        block.environment.localise(comparison("=", value, field.ref(), position))
        for value, (_, field) in zip(values, query.outputs, strict=True)
    ]
    for test in tests:
        for side in getattr(test, "args", ()):
            require_hashable(side.type, position)
    perhaps = [
        Logic(BOOL, "or", (test, IsNull(BOOL, value), IsNull(BOOL, field.ref())))
        for test, value, (_, field) in zip(tests, values, query.outputs, strict=True)
    ]
    match, unknown = (_some(query.relation, Logic(BOOL, "and", tuple(part)), block) for part in (tests, perhaps))
    return Case(BOOL, ((match, truth(True)), (unknown, truth(None))), truth(False))


def _some(relation: Relation, predicate: Scalar, block: Block) -> Scalar:
    """True if a row of the subquery fulfils the predicate."""
    count = block.environment.field(INT8)
    filtered = Filter(relation.fields, relation, predicate)
    block.look_up(PendingLookup(Aggregate((count,), filtered, (), (AggregateCall(INT8, "count", ()),))))
    return Call(BOOL, ">(any, any)", (count.ref(), Constant(INT8, 0)))


def _to_common_type(
    value: Scalar, query: BoundQuery, block: Block, position: int | None
) -> tuple[Scalar, Relation, Field]:
    """Value and subquery column in one type."""
    field = query.outputs[0][1]
    pair = block.environment.localise(comparison("=", value, field.ref(), position))
    if not isinstance(pair, Call):
        raise fault.unsupported("this IN", position)
    left, right = pair.args
    require_hashable(left.type, position)
    if right == field.ref():
        return left, query.relation, field
    converted = block.environment.field(right.type)
    return left, Project((converted,), query.relation, (right,)), converted


def _look_up_match(value: Scalar, relation: Relation, column: Field, block: Block) -> Scalar:
    """True where the value is among the subquery's values."""
    present = Filter(relation.fields, relation, Not(BOOL, IsNull(BOOL, column.ref())))
    key, mark = block.environment.field(column.type), block.environment.field(BOOL)
    single = block.environment.field(column.type)
    distinct = Distinct((single,), Project((single,), present, (column.ref(),)))
    projection = Project((key, mark), distinct, (single.ref(), truth(True)))
    block.look_up(PendingLookup(projection, ((value, key.ref()),)))
    return Logic(BOOL, "and", (Not(BOOL, IsNull(BOOL, mark.ref())), Not(BOOL, IsNull(BOOL, value))))


def _counts(relation: Relation, column: Field, block: Block) -> tuple[Scalar, Scalar]:
    """How many rows a subquery has, and whether one of them is NULL."""
    rows, present = block.environment.field(INT8), block.environment.field(INT8)
    calls = (AggregateCall(INT8, "count", ()), AggregateCall(INT8, "count", (column.ref(),)))
    block.look_up(PendingLookup(Aggregate((rows, present), relation, (), calls)))
    return rows.ref(), Call(BOOL, ">(any, any)", (rows.ref(), present.ref()))


def _quantified_subquery(
    symbol: str, value: Scalar, query: BoundQuery, any_of: bool, block: Block, position: int | None
) -> Scalar:
    if symbol == "=" and any_of:
        return in_subquery(value, query, block, position)
    if symbol == "<>" and not any_of:
        return Not(BOOL, in_subquery(value, query, block, position))
    if isinstance(value, RowOf):
        raise fault.unsupported("ANY or ALL over rows", position)
    value, relation, column = _to_common_type(value, query, block, position)
    require_sortable(value.type, position)
    if any_of:
        return Not(BOOL, _all(_NEGATED[symbol], value, relation, column, block))
    return _all(symbol, value, relation, column, block)


def _all(symbol: str, value: Scalar, relation: Relation, column: Field, block: Block) -> Scalar:
    """`value op ALL (column)` by the column's extremes: they decide for every row between."""
    low, high = block.environment.field(column.type), block.environment.field(column.type)
    calls = tuple(AggregateCall(column.type, name, (column.ref(),)) for name in ("min", "max"))
    block.look_up(PendingLookup(Aggregate((low, high), relation, (), calls)))
    rows, has_null = _counts(relation, column, block)
    extremes: Sequence[Field] = {"<": [low], "<=": [low], ">": [high], ">=": [high]}.get(symbol, [low, high])
    if symbol == "<>":
        raise fault.unsupported("<> ANY of this subquery")
    tests = tuple(Call(BOOL, f"{symbol}(any, any)", (value, extreme.ref())) for extreme in extremes)
    holds = Logic(BOOL, "and", tests)
    empty = Call(BOOL, "=(any, any)", (rows, Constant(INT8, 0)))
    branches = ((empty, truth(True)), (Not(BOOL, holds), truth(False)), (has_null, truth(None)))
    return Case(BOOL, branches, holds)
