"""Arrays and rows as they are written out."""

from sqlglot import exp

from query import fault
from query.bind.block import Block
from query.bind.type_resolution import coerce, common, read_numeric_literals
from query.functions.registry import syntax
from query.pg.types import PgType, array_of
from query.plan.tree import ArrayOf, RowOf, Scalar
from query.syntax.positions import position_of


@syntax(exp.Array, form="ARRAY[a, b]", summary="An array of their common type.")
def bind_array(node: exp.Expr, block: Block) -> Scalar:
    """`ARRAY[...]`, of one dimension."""
    if not node.expressions:
        raise fault.invalid(
            "42P18", "cannot determine type of empty array", position_of(node), "cast it: ARRAY[]::text[]"
        )
    items = read_numeric_literals([block.bind(item) for item in node.expressions])
    element = common(
        [item.type for item in items], "ARRAY", position_of(node), list(map(position_of, node.expressions))
    )
    if element.element is not None:
        raise fault.unsupported("an array of more than one dimension", position_of(node))
    return ArrayOf(array_of(element), tuple(coerce(item, element) for item in items))


@syntax(exp.Tuple, "row", form="(a, b), ROW(a)", summary="A row.")
def bind_row(node: exp.Expr, block: Block) -> Scalar:
    """`(a, b)` and `ROW(a, b)`."""
    items = tuple(block.bind(item) for item in node.expressions)
    return RowOf(PgType("record", fields=tuple(item.type for item in items)), items)
