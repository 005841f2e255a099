"""The arguments of calls, and of those that give a set of rows."""

from typing import Final

from sqlglot import exp

from query import fault
from query.bind.block import Block
from query.bind.dimensions import flat
from query.bind.named_arguments import in_order
from query.bind.type_resolution import call, coerce
from query.bind.variadic import elements
from query.pg.types import TEXT, array_of
from query.plan.tree import Scalar
from query.syntax.positions import position_of

SERIES_FUNCTIONS: Final = {
    "unnest": "",
    "generate_series": "generate_series",
    "jsonb_array_elements": "jsonb_array_elements",
    "json_array_elements": "json_array_elements",
    "jsonb_array_elements_text": "jsonb_array_elements_text",
    "json_array_elements_text": "json_array_elements_text",
    "jsonb_object_keys": "jsonb_object_keys",
    "json_object_keys": "json_object_keys",
    "regexp_split_to_table": "regexp_split_to_array",
    "string_to_table": "string_to_array",
    "generate_subscripts": "generate_subscripts",
    "regexp_matches": "regexp_matches",
    "jsonb_path_query": "jsonb_path_query",
}
"""Set-returning functions, and the function of the registry that gives their rows as an array ('' the argument)."""


def arguments(node: exp.Expr, block: Block) -> list[Scalar]:
    """The bound arguments of a call, in the order of its parameters."""
    nodes = in_order(node)
    values = [block.bind(each) for each in nodes if not isinstance(each, exp.Variadic)]
    last = nodes[-1] if nodes else None
    if len(values) < len(nodes) - isinstance(last, exp.Variadic):
        raise fault.invalid(fault.SYNTAX_ERROR, "an argument behind VARIADIC", position_of(node))
    if not isinstance(last, exp.Variadic):
        return values
    return [*values, *elements(block.bind(last.this), node.name.lower(), values, position_of(last))]


def series(node: exp.Expr, block: Block) -> Scalar:
    """The rows of a set-returning function as one array per input row."""
    name = str(node.this).lower()
    allowed = block.aggregates_allowed, block.windows_allowed, block.series_allowed
    with block.binding(f"the arguments of {name}", *allowed):
        values = arguments(node, block)
    position = position_of(node)
    if name == "unnest":
        if len(values) != 1:
            raise fault.unsupported("unnest of several arrays outside FROM", position)
        value = coerce(values[0], array_of(TEXT)) if values[0].type.name == "unknown" else values[0]
        if value.type.element is None:
            message = f"function unnest({value.type.sql_name}) does not exist"
            raise fault.invalid(fault.UNDEFINED_FUNCTION, message, position)
        return flat(value)
    return call(SERIES_FUNCTIONS[name], values, position)
