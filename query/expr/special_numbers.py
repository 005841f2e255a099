"""NaN and the infinities in numeric columns (query.pg.special_numbers)."""

import polars as pl

from query.pg.special_numbers import INFINITY, NAMES, NAN


def is_special(value: pl.Expr) -> pl.Expr:
    """True for NaN and the infinities."""
    return (value >= _held(INFINITY)) | (value == _held(-INFINITY))


def ordinary(value: pl.Expr) -> pl.Expr:
    """The value, null for NaN and the infinities."""
    return pl.when(~is_special(value)).then(value)


def names(value: pl.Expr) -> pl.Expr:
    """The texts of NaN and the infinities, null for other values."""
    named = pl.when(value == _held(NAN)).then(pl.lit(NAMES[NAN]))
    return (
        named.when(value == _held(INFINITY))
        .then(pl.lit(NAMES[INFINITY]))
        .when(value == _held(-INFINITY))
        .then(pl.lit(NAMES[-INFINITY]))
    )


def from_float(value: pl.Expr, held: pl.Expr) -> pl.Expr:
    """`held`, but for a float that is NaN or infinite what stands for it."""
    special = pl.when(value.is_nan()).then(_held(NAN)).when(value == float("inf")).then(_held(INFINITY))
    return special.when(value == float("-inf")).then(_held(-INFINITY)).otherwise(held)


def to_float(value: pl.Expr, plain: pl.Expr) -> pl.Expr:
    """`plain`, but NaN or infinity where the value stands for them."""
    return (
        pl.when(is_special(value)).then(names(value).replace_strict(_FLOATS, return_dtype=pl.Float64)).otherwise(plain)
    )


_FLOATS = {name: float(name) for name in NAMES.values()}


def _held(number: int) -> pl.Expr:
    return pl.lit(number, dtype=pl.Int128)
