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
    first = next((place for place, one in enumerate(arguments) if isinstance(one, _NAMED)), len(arguments))
    function = str(node.this).lower()
    known = ARGUMENT_NAMES.get(function, _NAMELESS)
    fills = known.default is not None
    if first == len(arguments) and (not fills or len(arguments) == len(known.names)):
        return arguments
    given = _by_name(arguments[first:])
    for names in (known.names, known.short):
        wanted = names if fills else names[: first + len(given)]
        complete = fills or given.keys() == set(wanted[first:])
        if given.keys() <= set(names[first:]) and len(wanted) >= first and complete:
            default = exp.Literal.number(known.default or 0)
            return [*arguments[:first], *(given.get(name, default) for name in wanted[first:])]
    raise _unknown(node, function)


def _by_name(arguments: Sequence[exp.Expr]) -> dict[str, exp.Expr]:
    given: dict[str, exp.Expr] = {}
    for argument in arguments:
        if not isinstance(argument, _NAMED):
            message = "positional argument cannot follow named argument"
            raise fault.invalid(fault.SYNTAX_ERROR, message, position_of(argument))
        identifier = argument.this
        name = str(identifier.this)
        name = name if identifier.args.get("quoted") else name.lower()
        if name in given:
            message = f'argument name "{name}" used more than once'
            raise fault.invalid(fault.SYNTAX_ERROR, message, position_of(argument))
        given[name] = argument.args["expression"]
    return given


def _unknown(node: exp.Expr, function: str) -> WeirError:
    message = f"function {function} does not exist with these argument names"
    return fault.invalid(fault.UNDEFINED_FUNCTION, message, position_of(node))
