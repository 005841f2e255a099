"""Values for the `$1`, `$2` placeholders of a statement: put into its tree, never into its text."""

from collections.abc import Sequence
from typing import Final

from sqlglot import exp

from query.fault import invalid
from query.parameters import Open, Parameter, Typed
from query.pg.placeholder import Placeholder

UNDEFINED_PARAMETER: Final = "42P02"
UNUSED_PARAMETER: Final = "08P01"


def substitute(tree: exp.Expr, parameters: Sequence[Parameter]) -> exp.Expr:
    """The tree with every placeholder replaced by its value; `$1` is the first.

    Text takes the type that its place wants, as a quoted constant does in PostgreSQL; numbers, booleans and null are
    what their JSON says. Raises InvalidSQL for a placeholder without a value and for a value without a placeholder.
    """
    placeholders = list(tree.find_all(exp.Parameter))
    numbers = {_number(node, parameters) for node in placeholders}
    if len(numbers) < len(parameters):
        unused = min(set(range(1, len(parameters) + 1)) - numbers)
        raise invalid(UNUSED_PARAMETER, f"the statement has no ${unused}, for which a parameter is given")
    for node in placeholders:
        number = _number(node, parameters)
        node.replace(_constant(parameters[number - 1], number))
    return tree


def _number(node: exp.Expr, parameters: Sequence[Parameter]) -> int:
    text = str(node.name)
    # Bounded before it is read: a number of any length is a valid placeholder.
    number = int(text) if text.isascii() and text.isdigit() and len(text) < 6 else 0
    if not 1 <= number <= len(parameters):
        raise invalid(UNDEFINED_PARAMETER, f"there is no parameter ${text[:20]}")
    return number


def placeholders(tree: exp.Expr) -> dict[int, list[Placeholder]]:
    """The open placeholders of a tree in which values were substituted, by their numbers."""
    found: dict[int, list[Placeholder]] = {}
    for literal in tree.find_all(exp.Literal):
        if isinstance(literal.this, Placeholder):
            found.setdefault(literal.this.number, []).append(literal.this)
    return found


def _of_type(value: exp.Expr, type_name: str) -> exp.Expr:
    return exp.Paren(this=exp.Cast(this=value, to=exp.DataType.build(type_name, dialect="postgres")))


def _constant(value: Parameter, number: int) -> exp.Expr:
    if value is None:
        return exp.Null()
    if isinstance(value, Open):
        return _of_type(exp.Null(), value.type) if value.type else exp.Literal.string(Placeholder.of(number))
    if isinstance(value, Typed):
        text = exp.Null() if value.text is None else exp.Literal.string(value.text)
        return _of_type(text, value.type) if value.type else text
    if isinstance(value, bool):
        return exp.Boolean(this=value)
    if isinstance(value, str):
        return exp.Literal.string(value)
    if isinstance(value, float):
        return exp.Paren(this=exp.Cast(this=exp.Literal.string(repr(value)), to=exp.DataType.build("double")))
    literal = exp.Literal.number(str(abs(value)))
    return exp.Paren(this=exp.Neg(this=literal)) if value < 0 else literal
