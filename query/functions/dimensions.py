"""Arrays, counted from 1 in each dimension: their elements, parts and sizes."""

import polars as pl

from query.expr.call_context import CallContext
from query.expr.dimensions import empty_array, flattened, row_of, shape, sizes
from query.functions.registry import define
from query.pg.types import INT4, PgType, array_of, dimensions, leaf

_FAMILY = "Arrays"


@define("array element(anyarray, int4) -> anyelement", "`a[n]`: NULL outside of the array.", family=_FAMILY)
def element(context: CallContext, array: pl.Expr, position: pl.Expr) -> pl.Expr:
    index = pl.when(position >= 1).then(position.cast(pl.Int64) - 1)
    return array.list.get(index, null_on_oob=True)


@define("array slice(anyarray, int4, int4) -> anyarray", "`a[m:n]`.", family=_FAMILY)
def array_slice(context: CallContext, array: pl.Expr, low: pl.Expr, high: pl.Expr) -> pl.Expr:
    first = low.cast(pl.Int64).clip(1, None)
    count = (high.cast(pl.Int64) - first + 1).clip(0, None)
    return pl.when(low.is_not_null() & high.is_not_null()).then(array.list.slice(first - 1, count))


@define(
    "inner slice(anyarray, int4!, int4!, int4!) -> anyarray",
    "The arrays of a dimension cut to `[m:n]`.",
    family=_FAMILY,
)
def inner_slice(context: CallContext, array: pl.Expr, dimension: int, low: int, high: int) -> pl.Expr:
    first, count = max(low, 1) - 1, max(high - max(low, 1) + 1, 0)

    def cut(within: pl.Expr, level: int) -> pl.Expr:
        return within.list.slice(first, count) if level == 1 else within.list.eval(cut(pl.element(), level - 1))

    result = cut(array, dimension)
    nothing = empty_array(context.result)
    return (
        pl.when(array.is_null() | sizes(result, context.result)[dimension - 1].is_not_null())
        .then(result)
        .otherwise(nothing)
    )


def _flat_kind(types: tuple[PgType, ...]) -> PgType:
    return array_of(leaf(types[0]))


@define("all elements(anyarray) -> anyarray", "The elements of all dimensions.", family=_FAMILY, result=_flat_kind)
def flat(context: CallContext, array: pl.Expr) -> pl.Expr:
    return flattened(array, context.types[0])


@define(
    "row of(anyarray) -> anyarray",
    "A row whose value is an array.",
    family=_FAMILY,
    result=lambda types: array_of(types[0]),
    strict=False,
)
def row(context: CallContext, array: pl.Expr) -> pl.Expr:
    return row_of(array)


@define(
    "array of(anyarray) -> anyarray",
    "The array as the only element of one with a dimension more; an empty one stays empty.",
    family=_FAMILY,
    result=lambda types: array_of(types[0]),
)
def array_of_one(context: CallContext, array: pl.Expr) -> pl.Expr:
    nothing = empty_array(context.result)
    return pl.when(array.list.len() > 0).then(row_of(array)).when(array.is_not_null()).then(nothing)


@define(
    "array_length(anyarray, int4) -> int4", "Number of elements in a dimension; NULL of an empty array.", family=_FAMILY
)
def array_length(context: CallContext, array: pl.Expr, dimension: pl.Expr) -> pl.Expr:
    return _of_dimension(context, sizes(array, context.types[0]), dimension)


def _of_dimension(context: CallContext, values: list[pl.Expr], dimension: pl.Expr) -> pl.Expr:
    """The value of a dimension, NULL of one that the array has not."""
    chosen = context.constant(1)
    if isinstance(chosen, int):
        return values[chosen - 1] if 1 <= chosen <= len(values) else pl.lit(None, dtype=pl.Int32)
    return pl.coalesce(pl.when(dimension == number).then(value) for number, value in enumerate(values, 1))


@define("array_upper(anyarray, int4) -> int4", "Last index of a dimension.", family=_FAMILY)
def array_upper(context: CallContext, array: pl.Expr, dimension: pl.Expr) -> pl.Expr:
    return array_length(context, array, dimension)


@define("array_lower(anyarray, int4) -> int4", "First index of a dimension.", family=_FAMILY)
def array_lower(context: CallContext, array: pl.Expr, dimension: pl.Expr) -> pl.Expr:
    return pl.when(array_length(context, array, dimension) > 0).then(pl.lit(1, dtype=pl.Int32))


@define("cardinality(anyarray) -> int4", "Number of elements.", family=_FAMILY)
def cardinality(context: CallContext, array: pl.Expr) -> pl.Expr:
    return array.list.len().cast(pl.Int32)


@define("array_ndims(anyarray) -> int4", "Number of dimensions; NULL of an empty array.", family=_FAMILY)
def array_ndims(context: CallContext, array: pl.Expr) -> pl.Expr:
    return pl.when(array.list.len() > 0).then(pl.lit(dimensions(context.types[0]), dtype=pl.Int32))


@define("array_dims(anyarray) -> text", "First and last indexes as text; NULL of an empty array.", family=_FAMILY)
def array_dims(context: CallContext, array: pl.Expr) -> pl.Expr:
    return shape(array, context.types[0])


@define(
    "generate_subscripts(anyarray, int4) -> int4[]; generate_subscripts(anyarray, int4, bool) -> int4[]",
    "Indexes of a dimension; from the last to the first if the third argument is true.",
    family=_FAMILY,
    result=lambda types: array_of(INT4),
)
def generate_subscripts(
    context: CallContext, array: pl.Expr, dimension: pl.Expr, reverse: pl.Expr | None = None
) -> pl.Expr:
    size = array_length(context, array, dimension).cast(pl.Int64).fill_null(0)
    given = array.is_not_null() & dimension.is_not_null()
    indexes = pl.when(given).then(pl.int_ranges(1, size + 1)).cast(context.result.polars)
    if reverse is None:
        return indexes
    return pl.when(reverse).then(indexes.list.reverse()).when(reverse.is_not_null()).then(indexes)
