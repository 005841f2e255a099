"""LIMIT, OFFSET and FETCH.

A number of rows that is a constant cuts the relation; one that a subquery or an outer query gives filters its numbered
rows.
"""

from sqlglot import exp

from query import fault
from query.bind.block import Block
from query.bind.lookups import PendingLookup
from query.bind.type_resolution import call, coerce
from query.pg.types import BOOL, INT8, INTEGERS, NUMBERS
from query.plan.traverse import columns
from query.plan.tree import (
    Call,
    Cast,
    Constant,
    Filter,
    IsNull,
    Limit,
    Logic,
    Project,
    Relation,
    Scalar,
    Sort,
    SortKey,
    Values,
    Window,
    WindowCall,
)
from query.syntax.positions import position_of

_NEGATIVE = {"LIMIT": fault.INVALID_LIMIT, "OFFSET": fault.INVALID_OFFSET}


def apply_limit(node: exp.Expr, relation: Relation, keys: tuple[SortKey, ...], block: Block) -> Relation:
    """`relation` cut as the query's LIMIT, FETCH and OFFSET say. `keys` are those that it is sorted by."""
    limit, offset = node.args.get("limit"), node.args.get("offset")
    if limit is None and offset is None:
        return relation
    ties = _ties(limit, keys)
    count = _number(_written(limit), "LIMIT", block)
    skipped = _number(offset.args["expression"] if offset is not None else None, "OFFSET", block)
    if isinstance(count, Constant) and isinstance(skipped, Constant):
        if ties and count.value is None:
            message = "row count cannot be null in FETCH FIRST ... WITH TIES clause"
            raise fault.invalid(fault.INVALID_LIMIT, message)
        return Limit(relation.fields, relation, _whole(count), _whole(skipped) or 0, ties)
    return _filter_numbered(relation, count, skipped, keys, bool(ties), block)


def _whole(constant: Constant) -> int | None:
    return constant.value if isinstance(constant.value, int) else None


def _ties(limit: exp.Expr | None, keys: tuple[SortKey, ...]) -> tuple[SortKey, ...]:
    options = limit.args.get("limit_options") if isinstance(limit, exp.Fetch) else None
    if limit is None or options is None or not options.args.get("with_ties"):
        return ()
    if not keys:
        message = "WITH TIES cannot be specified without ORDER BY clause"
        raise fault.invalid(fault.SYNTAX_ERROR, message, position_of(limit))
    return keys


def _written(limit: exp.Expr | None) -> exp.Expr | None:
    """The number of rows as written; None for all of them."""
    if limit is None:
        return None
    if isinstance(limit, exp.Fetch):
        return limit.args.get("count") or exp.Literal.number(1)
    value: exp.Expr = limit.args["expression"]
    return None if isinstance(value, exp.Var) and value.name.upper() == "ALL" else value


def count_of(value: Scalar, construct: str, position: int | None) -> Scalar:
    """A number of rows as bigint, to which PostgreSQL converts it as an assignment would. Raises 42804."""
    if value.type.name in NUMBERS and value.type.name not in INTEGERS:
        return Cast(INT8, value, position=position)
    if value.type.name not in (*INTEGERS, "unknown"):
        message = f"{construct} must be type bigint, not type {value.type.sql_name}"
        raise fault.invalid(fault.DATATYPE_MISMATCH, message, position)
    return coerce(value, INT8, position)


def _number(node: exp.Expr | None, clause: str, block: Block) -> Scalar:
    """A number of rows, NULL for none given. Raises 42P10 for one that depends on the rows that it cuts."""
    if node is None:
        return Constant(INT8, None)
    position = position_of(node)
    with block.binding(clause):
        bound, lookups = block.bind_apart(node)
        value = block.environment.fold(count_of(bound, f"argument of {clause}", position))
    references = [*columns(value), *(column for pending in lookups for column in pending.references())]
    own = block.scope.item.identifiers()
    if any(column.id in own for column in references):
        message = f"argument of {clause} must not contain variables"
        raise fault.invalid(fault.INVALID_COLUMN_REFERENCE, message, position)
    if isinstance(value, Constant) and isinstance(value.value, int) and value.value < 0:
        raise fault.invalid(_NEGATIVE[clause], f"{clause} must not be negative", position)
    if isinstance(value, Constant):
        return value
    return _computed(call(f"rows of {clause}", [value], position), lookups, block)


def _computed(value: Scalar, lookups: list[PendingLookup], block: Block) -> Scalar:
    """The number as the column of a relation of one row: it is computed, and may fail, also where nothing is cut."""
    field = block.environment.field(value.type)
    relation = Project((field,), block.attach(Values((), ((),)), lookups), (value,))
    block.look_up(PendingLookup(relation))
    return field.ref()


def _filter_numbered(
    relation: Relation, count: Scalar, skipped: Scalar, keys: tuple[SortKey, ...], ties: bool, block: Block
) -> Relation:
    """The rows whose number in the order, or whose first peer's, is in the range."""
    fields = relation.fields
    rows = block.attach(relation, block.lookups)
    names = ("row_number", "rank") if ties else ("row_number",)
    numbers = tuple(block.environment.field(INT8) for _ in names)
    calls = tuple(WindowCall(INT8, name, (), (), keys, None) for name in names)
    numbered: Relation = Window((*rows.fields, *numbers), rows, calls)
    first = coerce(skipped, INT8) if not _is_null(skipped) else Constant(INT8, 0)
    tests: list[Scalar] = [Call(BOOL, ">(any, any)", (numbers[0].ref(), first))]
    if not _is_null(count):
        within = Call(BOOL, "<=(any, any)", (call("-", [numbers[-1].ref(), first]), count))
        tests.append(Logic(BOOL, "or", (IsNull(BOOL, count), within)))
    numbered = Filter(numbered.fields, numbered, Logic(BOOL, "and", tuple(tests)))
    cut = Project(fields, numbered, tuple(field.ref() for field in fields))
    return Sort(fields, cut, keys) if keys else cut


def _is_null(value: Scalar) -> bool:
    return isinstance(value, Constant) and value.value is None
