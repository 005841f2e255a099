"""Calls by name: aggregates, set-returning functions, casts that look like calls, and all others."""

from typing import Final

from sqlglot import exp

from query import fault
from query.bind import aggregates, operators
from query.bind.arguments import SERIES_FUNCTIONS, arguments, series
from query.bind.block import Block
from query.bind.quotient_display import shown_argument
from query.bind.type_names import TypeName
from query.bind.type_resolution import call
from query.functions.registry import AGGREGATES, REGISTRY, SYNTAX, WINDOW_FUNCTIONS, syntax, type_named
from query.pg.types import INT4
from query.plan.traverse import columns
from query.plan.tree import Call, Scalar
from query.syntax.positions import position_of


@syntax(exp.Anonymous)
def bind_call(node: exp.Expr, block: Block) -> Scalar:
    """Bind a call by name."""
    name = str(node.name) if isinstance(node.this, exp.Identifier) else str(node.this).lower()
    position = position_of(node)
    if name in AGGREGATES:
        return aggregates.bind_aggregate(node, block)
    if name in WINDOW_FUNCTIONS:
        message = f"window function {name} requires an OVER clause"
        raise fault.invalid("42809", message, position)
    if name in _STANDARD_JSON:
        raise fault.unsupported(f"function {name}", position, "use json_agg, json_build_object and their kin")
    if name in SERIES_FUNCTIONS:
        return block.rows_of(series(node, block), position)
    if name in SYNTAX:
        return SYNTAX[name].bind(node, block)
    if name in _CAST_FUNCTIONS and len(node.expressions) == 1 and not REGISTRY.named(name):
        return _function_cast(name, block.bind(node.expressions[0]), position)
    if any(isinstance(argument, exp.Star | exp.Distinct | exp.Order) for argument in node.expressions):
        message = f"{name} is not an aggregate function"
        raise fault.invalid("42809", message, position)
    return call(name, [shown_argument(name, value, block) for value in arguments(node, block)], position)


_STANDARD_JSON: Final = ("json_arrayagg", "json_objectagg", "json_serialize", "json_scalar", "json_array", "json_table")
"""Functions of the SQL standard, with clauses of their own."""

_CAST_FUNCTIONS: Final = (
    *("int2", "int4", "int8", "float4", "float8", "text", "bool", "date", "timestamptz", "json", "jsonb", "bytea"),
)
"""Types whose names PostgreSQL's grammar takes as functions: `date(ts)` is a cast."""


def _function_cast(name: str, value: Scalar, position: int | None) -> Scalar:
    target = TypeName(type_named(name), name)
    is_row = value.type.name == "record"
    if is_row or (value.type.name != "unknown" and not operators.castable(value.type, target.type)):
        message = f"function {name}({value.type.sql_name}) does not exist"
        raise fault.invalid(fault.UNDEFINED_FUNCTION, message, position)
    return operators.cast(value, target, position)


@syntax("grouping", form="GROUPING(a, b)", summary="A bit for each argument that the row is not grouped by.")
def _grouping(node: exp.Expr, block: Block) -> Scalar:
    """GROUPING(...): one bit per argument; the block fills in the columns once it knows its grouping sets."""
    values = tuple(block.bind(argument) for argument in node.expressions)
    call_ = Call(INT4, "grouping", values)
    level = block.scope.level_of({column.id for column in columns(call_)})
    if level is block.scope and not block.aggregates_allowed:
        raise fault.invalid(fault.GROUPING_ERROR, f"grouping operations are not allowed in {block.clause}")
    for value, argument in zip(values, node.expressions, strict=True):
        if level.note_grouping is None or not level.note_grouping(call_, value):
            message = "arguments to GROUPING must be grouping expressions of the associated query level"
            raise fault.invalid(fault.GROUPING_ERROR, message, position_of(argument))
    return call_
