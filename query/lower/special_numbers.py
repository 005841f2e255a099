"""Calls over numerics that may be NaN or infinite: the function for ordinary values, and what PostgreSQL does with the
others (numeric.c): roundings keep them, arithmetic follows that of floats."""

from dataclasses import replace
from typing import Final

from query.functions.registry import REGISTRY
from query.pg.types import BOOL, FLOAT8
from query.plan.special_numbers import finite
from query.plan.tree import Call, Case, Cast, Logic, Scalar

_KEPT: Final = ("round", "trunc", "ceil", "ceiling", "floor")
_COMPUTED: Final = ("+", "-", "*", "/", "@", "abs", "sqrt", "ln", "exp")


def is_computed(call: Call) -> bool:
    """True for a call whose result may be NaN or infinite, and is not merely one of its arguments."""
    return call.type.special and REGISTRY.get(call.function).name in (*_KEPT, *_COMPUTED)


def by_case(call: Call) -> Case:
    """The call, whose type says that its result may be NaN or infinite."""
    special = [arg for arg in call.args if arg.type.special]
    tests = tuple(Call(BOOL, "special number(numeric)", (arg,)) for arg in special)
    ordinary = tuple(finite(arg) if arg.type.special else arg for arg in call.args)
    default = replace(call, type=replace(call.type, special=False), args=ordinary)
    return Case(call.type, ((Logic(BOOL, "or", tests), Cast(call.type, _of_special(call, special[0]))),), default)


def _of_special(call: Call, first: Scalar) -> Scalar:
    name = REGISTRY.get(call.function).name
    if name in _KEPT:
        return first
    form = f"{name}({', '.join('float8' for _ in call.args)})"
    return Call(FLOAT8, form, tuple(Cast(FLOAT8, arg) for arg in call.args), call.position)
