"""Infinite dates and times, NaN and infinity as numeric, and numerics beyond 38 digits: constants that are compared,
and nothing else.

No column holds one and no function gives one. So a comparison with one needs no value of the other side, only whether
there is one; with `coalesce(until, 'infinity')` it needs the value where there is one. Wherever else such a constant
would be computed with, its literal is refused (`query/expr/literals.py`).
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from fractions import Fraction
from operator import eq, ge, gt, le, lt, ne
from typing import Any, Final, cast

from query.fault import NUMERIC_OUT_OF_RANGE, invalid
from query.pg.types import BOOL, FLOATS, TEXT, PgType
from query.plan.tree import Case, Coalesce, Constant, IsNull, Not, Scalar, is_endless, is_large, truth

Compare = Callable[[Scalar, Scalar], Scalar]

_OPERATIONS: Final[Mapping[str, Callable[[Any, Any], bool]]] = {
    "=": eq,
    "<>": ne,
    "<": lt,
    "<=": le,
    ">": gt,
    ">=": ge,
    "is not distinct from": eq,
}
_TIMES: Final = ("date", "timestamp", "timestamptz")


def by_presence(left: Scalar, right: Scalar, compare: Compare) -> Scalar | None:
    """The comparison, where a side is `coalesce(until, 'infinity')`: of what comes first if it is there, else of the
    infinite time behind it."""
    if _may_be_endless(left):
        return _each(left, lambda side: compare(side, right))
    return _each(right, lambda side: compare(left, side)) if _may_be_endless(right) else None


def compared(symbol: str, left: Scalar, right: Scalar) -> Scalar | None:
    """The comparison of two sides of one type, if one is infinite."""
    if not _is_beyond(left) and not _is_beyond(right):
        return None
    if any(side.type.special and not _is_beyond(side) for side in (left, right)):
        return None
    result = truth(_OPERATIONS[symbol](_place(left), _place(right)))
    if symbol == "is not distinct from":
        return result
    absent = tuple((IsNull(BOOL, side), truth(None)) for side in (left, right) if not _is_beyond(side))
    return Case(BOOL, absent, result) if absent else result


def _is_beyond(side: Scalar) -> bool:
    """Whether it is a constant beyond all values of columns."""
    return is_endless(side) or is_large(side)


def _place(side: Scalar) -> tuple[bool, float | Fraction]:
    """What stands for a side: any value of a column is between the constants; NaN is greater than all (numeric_cmp)."""
    if not isinstance(side, Constant) or not _is_beyond(side):
        return False, 0.0
    if isinstance(side.value, float):
        return math.isnan(side.value), 0.0 if math.isnan(side.value) else side.value
    return False, Fraction(int(str(side.value)), 10**side.type.scale)


def _may_be_endless(side: Scalar) -> bool:
    return isinstance(side, Coalesce) and len(side.args) > 1 and is_endless(side.args[-1])


def _each(side: Scalar, compare: Callable[[Scalar], Scalar]) -> Scalar:
    if not isinstance(side, Coalesce):
        raise TypeError("not a choice by presence")
    *rest, endless = side.args
    first = rest[0] if len(rest) == 1 else Coalesce(side.type, tuple(rest))
    return Case(BOOL, ((Not(BOOL, IsNull(BOOL, first)), compare(first)),), compare(endless))


def converted(value: Scalar, target: PgType) -> Constant | None:
    """An infinite constant as another type that has it; None for others."""
    if not isinstance(value, Constant) or not is_endless(value):
        return None
    if value.type.name == "numeric":
        return _number(value, target)
    if target.name in _TIMES:
        return Constant(target, value.value)
    return Constant(TEXT, "-infinity" if value.value == float("-inf") else "infinity") if target == TEXT else None


def large_float(value: Constant, target: PgType) -> Constant:
    """A numeric beyond all others as a float, where an operator wants one. Raises 22003."""
    try:
        return Constant(target, int(str(value.value)) / 10**value.type.scale)
    except OverflowError as error:
        raise invalid(NUMERIC_OUT_OF_RANGE, "value out of range: overflow", value.position) from error


def _number(value: Constant, target: PgType) -> Constant | None:
    if target.name == "numeric":
        return Constant(replace(target, special=True), value.value)
    if target.name in FLOATS:
        return Constant(target, value.value)
    shown = {math.inf: "Infinity", -math.inf: "-Infinity"}
    return Constant(TEXT, shown.get(cast(float, value.value), "NaN")) if target == TEXT else None
