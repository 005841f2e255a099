"""Calls with named arguments, `f(a => 1)` and `f(a := 1)`: put in the order of the function's parameters."""

from collections.abc import Sequence
from typing import Final

from sqlglot import exp

from errors import WeirError
from query import fault
from query.functions.registry import ARGUMENT_NAMES, ArgumentNames
from query.syntax.positions import position_of

_NAMED: Final = (exp.Kwarg, exp.PropertyEQ)
_NAMELESS: Final = ArgumentNames(())


def in_order(node: exp.Expr) -> list[exp.Expr]:
    """The arguments as the function's parameters stand. Raises 42601 for a positional argument behind a named one or a
    name used twice, 42883 for a name that the function has not."""
    arguments: list[exp.Expr] = list(node.expressions)
    first = next((position for position, one in enumerate(arguments) if isinstance(one, _NAMED)), len(arguments))
    function = str(node.this).lower()
    parameter_names = ARGUMENT_NAMES.get(function, _NAMELESS)
    fills = bool(parameter_names.defaults)
    if first == len(arguments) and (not fills or len(arguments) == len(parameter_names.names)):
        return arguments
    by_name = _by_name(arguments[first:])
    for names in (parameter_names.names, parameter_names.short):
        required_names = names if fills else names[: first + len(by_name)]
        complete = fills or by_name.keys() == set(required_names[first:])
        if by_name.keys() <= set(names[first:]) and len(required_names) >= first and complete:
            defaults = dict(zip(names, map(exp.Literal.number, parameter_names.defaults), strict=False))
            return [*arguments[:first], *(by_name.get(name) or defaults[name] for name in required_names[first:])]
    raise _unknown(node, function)


def _by_name(arguments: Sequence[exp.Expr]) -> dict[str, exp.Expr]:
    by_name: dict[str, exp.Expr] = {}
    for argument in arguments:
        if not isinstance(argument, _NAMED):
            message = "positional argument cannot follow named argument"
            raise fault.invalid(fault.SYNTAX_ERROR, message, position_of(argument))
        identifier = argument.this
        name = str(identifier.this)
        name = name if identifier.args.get("quoted") else name.lower()
        if name in by_name:
            message = f'argument name "{name}" used more than once'
            raise fault.invalid(fault.SYNTAX_ERROR, message, position_of(argument))
        by_name[name] = argument.args["expression"]
    return by_name


def _unknown(node: exp.Expr, function: str) -> WeirError:
    message = f"function {function} does not exist with these argument names"
    return fault.invalid(fault.UNDEFINED_FUNCTION, message, position_of(node))
