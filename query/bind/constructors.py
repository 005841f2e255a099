"""Arrays and rows as they are written out."""

from sqlglot import exp

from query import fault
from query.bind.arguments import arguments
from query.bind.block import Block
from query.bind.dimensions import constant_of_arrays, is_nested, items_of, require_few_dimensions
from query.bind.outputs import bind_list
from query.bind.type_resolution import call, coerce, common, read_numeric_literals
from query.functions.registry import syntax
from query.pg.types import INT4, PgType, array_of, dimensions
from query.plan.tree import ArrayOf, Constant, RowOf, Scalar
from query.syntax.positions import position_of


@syntax(exp.Array, form="ARRAY[a, b]", summary="An array of their common type.")
def bind_array(node: exp.Expr, block: Block) -> Scalar:
    """`ARRAY[...]`; arrays make one with a dimension more."""
    if not node.expressions:
        raise fault.invalid(
            "42P18", "cannot determine type of empty array", position_of(node), "cast it: ARRAY[]::text[]"
        )
    items = read_numeric_literals([block.bind(item) for item in node.expressions])
    element = common(
        [item.type for item in items], "ARRAY", position_of(node), list(map(position_of, node.expressions))
    )
    require_few_dimensions(dimensions(element) + 1, position_of(node))
    return constant_of_arrays(
        ArrayOf(array_of(element), tuple(block.environment.fold(coerce(item, element)) for item in items))
    )


@syntax("array_fill")
def bind_array_fill(node: exp.Expr, block: Block) -> Scalar:
    """`array_fill(value, ARRAY[2, 3])`: as many dimensions as sizes are written."""
    values, position = arguments(node, block), position_of(node)
    if not values:
        return call("array_fill", values, position)
    value, *bounds = values
    bounds = [coerce(each, array_of(INT4), position) if each.type.name == "unknown" else each for each in bounds]
    sizes = items_of(bounds[0]) if bounds and not is_nested(bounds[0]) else None
    lows = items_of(bounds[1]) if len(bounds) > 1 else None
    if sizes:
        require_few_dimensions(len(sizes), position)
    if any(map(is_nested, bounds)) or (sizes and lows is not None and len(sizes) != len(lows)):
        raise fault.invalid("2202E", "wrong number of array subscripts", position)
    if lows and all(isinstance(low, Constant) and low.value == 1 for low in lows):
        bounds.pop()
    if not sizes or len(bounds) > 1:
        return call("array_fill", [value, *bounds], position)
    array: Scalar = call("array_fill", [value, ArrayOf(array_of(INT4), (sizes[-1],))], position)
    for size in reversed(sizes[:-1]):
        array = call("array repeated", [array, size], position)
    return array


@syntax(exp.Tuple, "row", form="(a, b), ROW(a)", summary="A row.")
def bind_row(node: exp.Expr, block: Block) -> Scalar:
    """`(a, b)` and `ROW(a, b)`; `table.*` in it stands for the table's columns."""
    items = tuple(bind_list(node.expressions, block))
    return RowOf(PgType("record", fields=tuple(item.type for item in items)), items)
