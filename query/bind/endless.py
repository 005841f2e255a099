"""Infinite dates and times: constants that are compared, and nothing else.

No column holds one and no function gives one. So a comparison with one needs no value of the other side, only whether
there is one; with `coalesce(until, 'infinity')` it needs the value where there is one. Wherever else such a constant
would be computed with, its literal is refused (`query/expr/literals.py`).
"""

from collections.abc import Callable, Mapping
from operator import eq, ge, gt, le, lt, ne
from typing import Final

from query.pg.types import BOOL, TEXT, PgType
from query.plan.tree import Case, Coalesce, Constant, IsNull, Not, Scalar, is_endless, truth

Compare = Callable[[Scalar, Scalar], Scalar]

_OPERATIONS: Final[Mapping[str, Callable[[float, float], bool]]] = {
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
    if not is_endless(left) and not is_endless(right):
        return None
    result = truth(_OPERATIONS[symbol](_number(left), _number(right)))
    if symbol == "is not distinct from":
        return result
    absent = tuple((IsNull(BOOL, side), truth(None)) for side in (left, right) if not is_endless(side))
    return Case(BOOL, absent, result) if absent else result


def _number(side: Scalar) -> float:
    """What stands for a side: any finite time is between the infinite ones."""
    return side.value if isinstance(side, Constant) and isinstance(side.value, float) else 0.0


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
    if target.name in _TIMES:
        return Constant(target, value.value)
    return Constant(TEXT, "-infinity" if value.value == float("-inf") else "infinity") if target == TEXT else None
