"""Calls with named arguments, `f(a => 1)` and `f(a := 1)`: put in the order of the function's parameters."""

from collections.abc import Sequence
from typing import Final

from sqlglot import exp

from errors import WeirError
from query import fault
from query.functions.postgres_names import postgresql_functions
from query.functions.registry import ARGUMENT_NAMES, REGISTRY, ArgumentNames
from query.syntax.positions import position_of

_NAMED: Final = (exp.Kwarg, exp.PropertyEQ)
_NAMELESS: Final = ArgumentNames(())


def in_order(node: exp.Expr) -> list[exp.Expr]:
    """The arguments as the function's parameters stand. Raises 42601 for a positional argument behind a named one or a
    name used twice, 42883 for a name that the function has not."""
    arguments: list[exp.Expr] = list(node.expressions)
    first = next((position for position, one in enumerate(arguments) if isinstance(one, _NAMED)), len(arguments))
    function = str(node.this).lower()
    parameters = ARGUMENT_NAMES.get(function, _NAMELESS)
    if first == len(arguments) and (not parameters.defaults or len(arguments) == len(parameters.names)):
        return arguments
    by_name = _by_name(arguments[first:])
    if parameters.defaults:
        given = {**_defaults(parameters), **by_name}
        names = parameters.names
        if first <= len(names) and by_name.keys() <= set(names[first:]) and given.keys() >= set(names[first:]):
            return [*arguments[:first], *(given[name] for name in names[first:])]
    for names in (parameters.names, parameters.short):
        behind = names[first : first + len(by_name)]
        if first <= len(names) and by_name.keys() == set(behind):
            return [*arguments[:first], *(by_name[name] for name in behind)]
    raise _unknown(node, function)


def _defaults(parameters: ArgumentNames) -> dict[str, exp.Expr]:
    """What the last arguments are that are left out."""
    names = parameters.names[len(parameters.names) - len(parameters.defaults) :]
    return dict(zip(names, map(_literal, parameters.defaults), strict=True))


def _literal(value: object) -> exp.Expr:
    if isinstance(value, bool):
        return exp.Boolean(this=value)
    return exp.Literal.string(value) if isinstance(value, str) else exp.Literal.number(value)


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
    if not REGISTRY.named(function) and function in postgresql_functions():
        return fault.unsupported(f"function {function}", position_of(node))
    message = f"function {function} does not exist with these argument names"
    return fault.invalid(fault.UNDEFINED_FUNCTION, message, position_of(node))
