"""Computes expressions of constants while a statement is bound, so that scans see plain literals."""

from collections.abc import Container
from functools import cache

import polars as pl

from errors import WeirError
from query.expr.literals import constant_of
from query.expr.row_errors import RowFault
from query.functions.number_reading import DIGITS
from query.functions.quotient_text import shown_scale
from query.functions.registry import REGISTRY
from query.lower.scalars import expression, is_null
from query.lower.scalars import is_volatile as is_volatile_call
from query.pg.types import INT4, numeric
from query.plan.traverse import children
from query.plan.tree import (
    ArrayOf,
    Call,
    Case,
    Cast,
    Coalesce,
    Column,
    Constant,
    IsNull,
    Logic,
    Not,
    Relation,
    Scalar,
    truth,
)

_FOLDABLE = (Call, Cast, Case, Coalesce, Logic, Not, IsNull)


def is_volatile(relation: Relation) -> bool:
    """True for a query that calls a function whose value differs between calls."""
    return _calls(relation, _volatile(), set())


@cache
def _volatile() -> frozenset[str]:
    return frozenset(function.key for function in REGISTRY.all() if function.volatile)


def _calls(node: object, names: Container[str], visited: set[int]) -> bool:
    if id(node) in visited:
        return False
    visited.add(id(node))
    if isinstance(node, Call) and node.function in names:
        return True
    return any(_calls(child, names, visited) for child in children(node))


def _is_constant(scalar: object) -> bool:
    """True for an expression of constants alone."""
    if isinstance(scalar, Column):
        return False
    if isinstance(scalar, Call) and (scalar.function == "grouping" or is_volatile_call(scalar)):
        return False
    return all(_is_constant(child) for child in children(scalar))


def fold_constants(scalar: Scalar) -> Scalar:
    """The constant that `scalar` is, or itself. What would fail stays, to fail if its row is needed."""
    if isinstance(scalar, Column | Constant | ArrayOf) or not isinstance(scalar, _FOLDABLE):
        return scalar
    if isinstance(scalar, IsNull) and isinstance(scalar.value, Constant):
        return truth(scalar.value.value is None)
    if isinstance(scalar, Call) and is_null(scalar):
        return Constant(scalar.type, None)
    if not all(isinstance(child, Constant) for child in children(scalar)):
        return scalar
    if isinstance(scalar, Call) and (scalar.function == "grouping" or is_volatile_call(scalar)):
        return scalar
    if scalar.type.unit == "ns" and scalar.type.name in ("timestamp", "timestamptz"):
        return scalar
    try:
        value = pl.select(expression(scalar).alias("v")).item()
    except (pl.exceptions.PolarsError, RowFault, WeirError, ValueError, OverflowError, TypeError):
        return scalar
    constant = constant_of(value, scalar.type)
    return _with_own_digits(constant, scalar) if isinstance(scalar, Call) else constant


def _with_own_digits(constant: Constant, scalar: Call) -> Constant:
    """A quotient of constants, or a number that was read, with the digits after the point that it has, which for a
    column no type tells."""
    digits = _own_digits(scalar) if isinstance(constant.value, int) else None
    surplus = -1 if digits is None else constant.type.scale - digits
    if surplus < 0 or not isinstance(constant.value, int):
        return constant
    return Constant(numeric(constant.type.scale - surplus), constant.value // 10**surplus)


def _own_digits(scalar: Call) -> int | None:
    if scalar.function == "to_number(text, text!)":
        digits = fold_constants(Call(INT4, DIGITS, scalar.args))
        return digits.value if isinstance(digits, Constant) and isinstance(digits.value, int) else None
    args = [arg for arg in scalar.args if isinstance(arg, Constant) and arg.type.exact and isinstance(arg.value, int)]
    if scalar.function != "/(numeric, numeric)" or len(args) < 2:
        return None
    left, right = ((int(str(arg.value)), arg.type.scale) for arg in args)
    return shown_scale(left, right)
