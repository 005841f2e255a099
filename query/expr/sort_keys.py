"""Sort keys: the expression that values sort and compare by, where it is not the value itself.

An interval compares by its length, a JSON document by what it holds (query.pg.json_order), an array by its elements and
then by how many there are. Polars would sort lists
with NULL elements first and compare neither by `<`, so an array has a text for a key, in which every element takes
part in PostgreSQL's order of its type.
"""

from typing import Final

import polars as pl

from query.expr.call_context import CallContext
from query.expr.dimensions import flattened, sizes
from query.expr.interval_fields import interval_length
from query.expr.special_numbers import names, ordinary
from query.pg.json_order import comparison_key
from query.pg.types import FLOATS, INTEGERS, NUMERIC_DIGITS, TEXT, TIMESTAMPS, PgType, dimensions, leaf

_INT64_DIGITS: Final = 20
_INT64_OFFSET: Final = 2**63
_LENGTH_DIGITS: Final = 10
_LENGTHS, _PRESENT, _MISSING, _END = "0", "1", "2", "\0\0"


def sort_key(value: pl.Expr, pg_type: PgType) -> pl.Expr:
    """The sort key of a value; for most types the value itself."""
    if pg_type.element is not None:
        return _array_key(value, pg_type)
    if pg_type.name == "jsonb":
        return CallContext((pg_type,), TEXT).rowwise(comparison_key, value)
    return interval_length(value) if pg_type.name == "interval" else value


def _array_key(value: pl.Expr, pg_type: PgType) -> pl.Expr:
    """The elements' keys in a row, then how many each dimension has (array_cmp). A NULL element is greater than any
    other; a shorter array ends before."""
    item = pl.concat_str([pl.lit(_PRESENT), _element_key(pl.element(), leaf(pg_type))])
    key = flattened(value, pg_type).list.eval(item.fill_null(_MISSING)).list.join("")
    if dimensions(pg_type) == 1:
        return key
    lengths = [length.fill_null(0).cast(pl.String).str.zfill(_LENGTH_DIGITS) for length in sizes(value, pg_type)]
    return pl.concat_str([key, pl.lit(_LENGTHS), *lengths])


def _element_key(value: pl.Expr, pg_type: PgType) -> pl.Expr:
    """A text per element, in the elements' order; none is the beginning of another one."""
    if pg_type.name == "text":
        return value.str.replace_all("\0", "\0\1", literal=True) + pl.lit(_END)
    if pg_type.name == "bool":
        return value.cast(pl.Int8).cast(pl.String)
    if pg_type.name in INTEGERS:
        return _int64_key(value)
    if pg_type.name in FLOATS:
        return _float_key(value.cast(pl.Float64))
    if pg_type.name in (*TIMESTAMPS, "date", "time"):
        return _int64_key(value.to_physical())
    if pg_type.special:
        of_names = names(value).replace_strict({"-Infinity": "0", "Infinity": "2", "NaN": "3"})
        return pl.coalesce(of_names, pl.lit("1") + _wide_key(ordinary(value)))
    key = sort_key(value, pg_type)
    return key + pl.lit(_END) if pg_type.name == "jsonb" else _wide_key(key)


def _int64_key(value: pl.Expr) -> pl.Expr:
    shifted = value.cast(pl.Int128) + pl.lit(_INT64_OFFSET, dtype=pl.Int128)
    return shifted.cast(pl.String).str.zfill(_INT64_DIGITS)


def _float_key(value: pl.Expr) -> pl.Expr:
    """The bits of a positive float sort as the float does, those of a negative one the other way round; NaN is last."""
    plain = pl.when(value.is_nan()).then(pl.lit(float("nan"))).otherwise(value + 0.0)
    bits = plain.reinterpret(dtype=pl.Int64()).cast(pl.Int128)
    return _int64_key(pl.when(bits < 0).then(pl.lit(-_INT64_OFFSET, dtype=pl.Int128) - bits).otherwise(bits))


def _wide_key(value: pl.Expr) -> pl.Expr:
    """Whole numbers of up to 38 digits: the sign, then the digits, of a negative number those up to the next power."""
    below = (pl.lit(10**NUMERIC_DIGITS, dtype=pl.Int128) + value).cast(pl.String).str.zfill(NUMERIC_DIGITS)
    digits = value.cast(pl.String).str.zfill(NUMERIC_DIGITS)
    return pl.when(value < 0).then(pl.lit("0") + below).otherwise(pl.lit("1") + digits)
