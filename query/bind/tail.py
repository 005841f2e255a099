"""LIMIT, OFFSET and FETCH."""

from sqlglot import exp

from query import fault
from query.allowlist import position_of
from query.bind.block import Block
from query.bind.resolve import coerce
from query.bound import Cast, Constant, Limit, Relation, Scalar, SortKey
from query.types import INT8, INTEGERS, NUMBERS


def apply_limit(node: exp.Expr, relation: Relation, keys: tuple[SortKey, ...], block: Block) -> Relation:
    """`relation` cut as the query's LIMIT, FETCH and OFFSET say."""
    limit, offset = node.args.get("limit"), node.args.get("offset")
    if limit is None and offset is None:
        return relation
    count, ties = _count(limit, keys, block)
    skipped = _constant(offset.args["expression"], "OFFSET", fault.INVALID_OFFSET, block) if offset is not None else 0
    return Limit(relation.fields, relation, count, skipped or 0, ties)


def _count(limit: exp.Expr | None, keys: tuple[SortKey, ...], block: Block) -> tuple[int | None, tuple[SortKey, ...]]:
    if limit is None:
        return None, ()
    if isinstance(limit, exp.Fetch):
        options = limit.args.get("limit_options")
        count = limit.args.get("count")
        rows = 1 if count is None else _constant(count, "FETCH", fault.INVALID_LIMIT, block)
        if options is not None and options.args.get("with_ties"):
            if not keys:
                message = "WITH TIES cannot be specified without ORDER BY clause"
                raise fault.invalid(fault.SYNTAX_ERROR, message, position_of(limit))
            return rows, keys
        return rows, ()
    value = limit.args["expression"]
    if isinstance(value, exp.Var) and value.name.upper() == "ALL":
        return None, ()
    return _constant(value, "LIMIT", fault.INVALID_LIMIT, block), ()


def count_of(value: Scalar, construct: str, position: int | None) -> Scalar:
    """A number of rows as bigint, to which PostgreSQL converts it as an assignment would. Raises 42804."""
    if value.type.name in NUMBERS and value.type.name not in INTEGERS:
        return Cast(INT8, value, position=position)
    if value.type.name not in (*INTEGERS, "unknown"):
        message = f"{construct} must be type bigint, not type {value.type.sql_name}"
        raise fault.invalid(fault.DATATYPE_MISMATCH, message, position)
    return coerce(value, INT8, position)


def _constant(node: exp.Expr, clause: str, sqlstate: str, block: Block) -> int | None:
    with block.binding(clause):
        value = block.environment.fold(count_of(block.bind(node), f"argument of {clause}", position_of(node)))
    if not isinstance(value, Constant):
        raise fault.unsupported(f"{clause} that is not a constant", position_of(node))
    if isinstance(value.value, int) and value.value < 0:
        raise fault.invalid(sqlstate, f"{clause} must not be negative", position_of(node))
    return value.value if isinstance(value.value, int) else None
