"""Arrays of several dimensions, which are lists of lists here: their sizes, and their elements in one row.

PostgreSQL's arrays are rectangular, and an empty one has no dimensions. Its type does not tell how many dimensions a
value has; ours does, so what mixes them is refused (docs/decisions/sql-engine.md).
"""

from collections.abc import Sequence
from functools import reduce

import polars as pl

from query.expr.call_context import CallContext
from query.expr.row_errors import declare_row_error
from query.pg.types import PgType, dimensions

_SHAPES = "multidimensional arrays must have array expressions with matching dimensions"
declare_row_error("array_shapes", "2202E", _SHAPES)
declare_row_error("array_joint", "2202E", "cannot concatenate incompatible arrays")


def sizes(array: pl.Expr, pg_type: PgType) -> list[pl.Expr]:
    """How many elements each dimension has; NULL of an empty array."""
    lengths: list[pl.Expr] = []
    for _ in range(dimensions(pg_type)):
        length = array.list.len().cast(pl.Int32)
        lengths.append(pl.when(length > 0).then(length))
        array = array.list.first()
    return lengths


def shape(array: pl.Expr, pg_type: PgType) -> pl.Expr:
    """The bounds of all dimensions, `[1:2][1:3]`; NULL of an empty array."""
    return pl.concat_str([pl.format("[1:{}]", length) for length in sizes(array, pg_type)])


def flattened(array: pl.Expr, pg_type: PgType) -> pl.Expr:
    """The elements in one row, those of the last dimension next to each other."""
    for _ in range(dimensions(pg_type) - 1):
        array = array.list.eval(pl.element().explode(empty_as_null=False))
    return array


def empty_array(pg_type: PgType) -> pl.Expr:
    return pl.lit(pl.Series([[]], dtype=pg_type.polars)).first()


def row_of(value: pl.Expr) -> pl.Expr:
    """A list that holds the value, be it NULL or a list itself."""
    return value.repeat_by(pl.lit(1, dtype=pl.UInt32))


def array_of_arrays(context: CallContext, items: Sequence[pl.Expr], pg_type: PgType) -> pl.Expr:
    """An array whose elements are these arrays; empty ones and NULL make an empty one, and do not mix with others."""
    shapes = [shape(item, pg_type) for item in items]
    is_empty = pl.all_horizontal(each.is_null() for each in shapes)
    differs = pl.any_horizontal(each.ne_missing(shapes[0]) for each in shapes)
    joined = pl.concat_list([row_of(item) for item in items])
    return context.fail_where(
        pl.when(is_empty).then(empty_array(context.result)).otherwise(joined), differs, "array_shapes"
    )


def joined(context: CallContext, left: pl.Expr, right: pl.Expr) -> pl.Expr:
    """The elements of both arrays, whose inner dimensions have to agree."""
    (_, *inner), (_, *others) = sizes(left, context.result), sizes(right, context.result)
    differences = [own != other for own, other in zip(inner, others, strict=True)]
    differs = reduce(lambda found, each: found | each, differences, pl.lit(False))
    return context.fail_where(pl.concat_list([left, right]), differs.fill_null(False), "array_joint")
