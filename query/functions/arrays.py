"""Arrays: made of texts, values and each other, and made texts."""

from typing import Final

import polars as pl

from query import fault
from query.expr.call_context import CallContext
from query.expr.dimensions import empty_array, flattened, joined
from query.expr.row_errors import declare_row_error
from query.expr.text_output import element_texts
from query.functions.registry import define
from query.pg.types import PgType, array_of

declare_row_error("null_dimensions", "22004", "dimension array or low bound array cannot be null")
declare_row_error("null_dimension", "22004", "dimension values cannot be null")
declare_row_error("array_size", fault.PROGRAM_LIMIT, "array size exceeds the maximum allowed")
declare_row_error("sample_size", fault.INVALID_PARAMETER, "sample size must be between 0 and the array's length")
declare_row_error("trimmed_elements", "2202E", "number of elements to trim must be between 0 and the array's length")
declare_row_error("several_dimensions", fault.FEATURE_NOT_SUPPORTED, "an array of several dimensions is not supported")
declare_row_error("filled_size", fault.FEATURE_NOT_SUPPORTED, "array_fill with so many elements is not supported")

_FAMILY = "Arrays"
MAX_FILLED: Final = 10_000
"""Elements that array_fill makes for each row; more of them are more memory than a query has."""


@define("string_to_array(text, text) -> text[]", "Parts between delimiters.", family=_FAMILY, strict=False)
def string_to_array(context: CallContext, value: pl.Expr, delimiter: pl.Expr) -> pl.Expr:
    if separator := context.constant(1):
        nothing = pl.lit([], dtype=context.result.polars)
        return pl.when(value == "").then(nothing).otherwise(value.str.split(str(separator)))

    def split(text: str, by: str) -> list[str]:
        if not text:
            return []
        return text.split(by) if by else [text]

    letters = context.rowwise(list, pl.when(delimiter.is_null()).then(value))
    return pl.coalesce(context.rowwise(split, value, delimiter), letters)


@define(
    "string_to_array(text, text, text) -> text[]",
    "Parts between delimiters, one text as NULL.",
    family=_FAMILY,
    strict=False,
)
def string_to_array_null(context: CallContext, value: pl.Expr, delimiter: pl.Expr, null: pl.Expr) -> pl.Expr:
    parts = string_to_array(context, value, delimiter)

    def blanked(items: list[str], missing: str) -> list[str | None]:
        return [None if item == missing else item for item in items]

    return pl.when(null.is_null()).then(parts).otherwise(context.rowwise(blanked, parts, null))


@define("array_to_string(anyarray, text) -> text", "Elements that are not NULL, joined.", family=_FAMILY)
def array_to_string(context: CallContext, array: pl.Expr, delimiter: pl.Expr) -> pl.Expr:
    return _texts(context, array).list.drop_nulls().list.join(delimiter)


@define(
    "array_to_string(anyarray, text, text) -> text", "Elements joined, a text for NULL.", family=_FAMILY, strict=False
)
def array_to_string_null(context: CallContext, array: pl.Expr, delimiter: pl.Expr, null: pl.Expr) -> pl.Expr:
    def join(items: list[str | None], by: str, missing: str) -> str:
        return by.join(missing if item is None else item for item in items)

    plain = _texts(context, array).list.drop_nulls().list.join(delimiter)
    return pl.when(null.is_null()).then(plain).otherwise(context.rowwise(join, _texts(context, array), delimiter, null))


def _texts(context: CallContext, array: pl.Expr) -> pl.Expr:
    inner = context.types[0].element
    if inner is None or inner.name == "record":
        raise fault.unsupported(f"array_to_string of {context.types[0].sql_name}", context.position)
    return element_texts(context, array, context.types[0])


@define("array_reverse(anyarray) -> anyarray", "Elements in reverse order.", family=_FAMILY)
def array_reverse(context: CallContext, array: pl.Expr) -> pl.Expr:
    return array.list.reverse()


@define(
    "trim_array(anyarray, int4) -> anyarray",
    "Without so many elements at the end.",
    family=_FAMILY,
    skips_null_rows=True,
)
def trim_array(context: CallContext, array: pl.Expr, count: pl.Expr) -> pl.Expr:
    size, count = array.list.len().cast(pl.Int64), count.cast(pl.Int64)
    kept = context.fail_where(size - count, (count < 0) | (count > size), "trimmed_elements")
    return array.list.slice(pl.lit(0, dtype=pl.Int64), kept)


@define("array_shuffle(anyarray) -> anyarray", "Elements in an order of chance.", family=_FAMILY, volatile=True)
def array_shuffle(context: CallContext, array: pl.Expr) -> pl.Expr:
    return array.list.sample(fraction=1.0, shuffle=True)


@define(
    "array_sample(anyarray, int4) -> anyarray",
    "So many elements, chosen by chance.",
    family=_FAMILY,
    volatile=True,
    skips_null_rows=True,
)
def array_sample(context: CallContext, array: pl.Expr, count: pl.Expr) -> pl.Expr:
    is_out = (count < 0) | (count > array.list.len())
    return array.list.sample(context.fail_where(count, is_out, "sample_size"), shuffle=True)


_SORTED: Final = frozenset(
    {"int2", "int4", "int8", "numeric", "float4", "float8", "text", "bool", "date", "timestamp", "timestamptz"}
)
"""Elements whose order is that of the values that hold them."""


@define(
    "array_sort(anyarray) -> anyarray; array_sort(anyarray, bool!) -> anyarray; "
    "array_sort(anyarray, bool!, bool!) -> anyarray",
    "Elements in order: descending if the second argument is true, NULLs first if the third is.",
    family=_FAMILY,
)
def array_sort(context: CallContext, array: pl.Expr, descending: object = False, nulls: object = None) -> pl.Expr:
    element_type = context.types[0].element
    if element_type is None or element_type.name not in _SORTED:
        raise fault.unsupported(f"array_sort of {context.types[0].sql_name}", context.position)
    nulls_first = descending if nulls is None else nulls
    return array.list.sort(descending=bool(descending), nulls_last=not nulls_first)


def _array_kind(types: tuple[PgType, ...]) -> PgType:
    return types[0] if types[0].element is not None else array_of(types[0])


@define(
    "array_append(anyarray, anyelement) -> anyarray; ||(anyarray, anyelement) -> anyarray",
    "Element at the end.",
    family=_FAMILY,
    strict=False,
)
def array_append(context: CallContext, array: pl.Expr, value: pl.Expr) -> pl.Expr:
    return pl.concat_list([_present(context, array, context.types[0]), value]).cast(context.result.polars)


@define(
    "array_prepend(anyelement, anyarray) -> anyarray; ||(anyelement, anyarray) -> anyarray",
    "Element at the start.",
    family=_FAMILY,
    strict=False,
)
def array_prepend(context: CallContext, value: pl.Expr, array: pl.Expr) -> pl.Expr:
    return pl.concat_list([value, _present(context, array, context.types[1])]).cast(context.result.polars)


@define(
    "array_cat(anyarray, anyarray) -> anyarray; ||(anyarray, anyarray) -> anyarray",
    "Both arrays in a row.",
    family=_FAMILY,
    strict=False,
)
def array_cat(context: CallContext, left: pl.Expr, right: pl.Expr) -> pl.Expr:
    sides = _present(context, left, context.types[0]), _present(context, right, context.types[1])
    return pl.when(left.is_not_null() | right.is_not_null()).then(joined(context, *sides))


def _present(context: CallContext, array: pl.Expr, pg_type: PgType) -> pl.Expr:
    """A NULL array counts as empty when something is added to it."""
    return pl.coalesce(array, empty_array(pg_type))


def _filled(types: tuple[PgType, ...]) -> PgType:
    return array_of(types[0])


@define(
    "array_fill(anynonarray, int4[]) -> anyarray",
    "So many elements of one value.",
    family=_FAMILY,
    result=_filled,
    strict=False,
)
def array_fill(context: CallContext, value: pl.Expr, sizes: pl.Expr) -> pl.Expr:
    count = pl.when(sizes.list.len() == 0).then(0).otherwise(sizes.list.first())
    count = context.fail_where(count, sizes.is_null(), "null_dimensions")
    count = context.fail_where(count, sizes.list.len() > 1, "several_dimensions")
    return value.repeat_by(_checked_count(context, count, pl.lit(1))).cast(context.result.polars)


def _checked_count(context: CallContext, count: pl.Expr, size: pl.Expr) -> pl.Expr:
    """How often something of `size` elements is repeated. Fails for what no array of ours has room for."""
    count = context.fail_where(count, count.is_null(), "null_dimension")
    count = context.fail_where(count, count < 0, "array_size")
    return context.fail_where(count, count.cast(pl.Int64) * size > MAX_FILLED, "filled_size").cast(pl.UInt32)


@define(
    "array repeated(anyarray, int4) -> anyarray",
    "An array of a dimension more, of one array so many times.",
    family=_FAMILY,
    result=_filled,
    strict=False,
)
def array_repeated(context: CallContext, array: pl.Expr, count: pl.Expr) -> pl.Expr:
    elements = flattened(array, context.types[0]).list.len().cast(pl.Int64)
    repeated = array.repeat_by(_checked_count(context, count, elements))
    return pl.when(elements > 0).then(repeated).otherwise(empty_array(context.result))
