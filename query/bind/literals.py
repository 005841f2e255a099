"""Texts of literals -> constants of the bound plan."""

from collections.abc import Iterator
from dataclasses import replace

from query import fault
from query.pg.array_input import Items, array_items
from query.pg.bad_values import BadLiteral, UnsupportedLiteral
from query.pg.placeholder import Placeholder
from query.pg.text_input import Numeric, each_item, read, read_endless, read_interval, read_numeric
from query.pg.types import PgType, leaf, nested, numeric
from query.plan.tree import Constant


def read_literal(literal: Constant, target: PgType, position: int | None = None, fields: str = "") -> Constant:
    """The constant of type `target` that an untyped literal spells, an interval's with the fields that it is declared
    with, an instant in the session's time zone; of infinite times see `query/bind/endless.py`. Raises InvalidSQL with
    PostgreSQL's SQLSTATE."""
    text, position = str(literal.value), literal.position or position
    if isinstance(text, Placeholder):
        text.type = target
        return Constant(target, None)
    endless = read_endless(text, target)
    if endless is not None:
        return Constant(replace(target, special=target.name == "numeric"), endless)
    try:
        if fields:
            return Constant(target, read_interval(text, target, fields))
        if target.name == "numeric":
            read_as = read_numeric(text, target)
            return Constant(numeric(read_as.scale), read_as.digits)
        if target.element is not None:
            return _array(literal, text, leaf(target))
        return Constant(target, read(text, target, literal.zone, literal.clock))
    except BadLiteral as error:
        raise fault.invalid(error.sqlstate, error.message, position) from error
    except UnsupportedLiteral as error:
        raise fault.unsupported(str(error), position) from error


def _array(literal: Constant, text: str, element: PgType) -> Constant:
    """An array of as many dimensions as its text has. Numerics have the scale of the one with most digits after the
    point, at least the element's."""
    read_as = array_items(text)
    count = max(1, len(read_as.sizes))
    if element.name != "numeric":

        def value(item: str) -> object:
            return read(item, element, literal.zone, literal.clock)

        return Constant(nested(element, count), each_item(read_as.items, value))
    numbers = list(_numbers(read_as.items, element))
    scale = max([element.scale, *(number.scale for number in numbers)])
    values = each_item(read_as.items, lambda item: read_numeric(item, element).at_scale(scale))
    return Constant(nested(numeric(scale, all(number.scale == scale for number in numbers)), count), values)


def _numbers(items: Items, element: PgType) -> Iterator[Numeric]:
    for item in items:
        if isinstance(item, list):
            yield from _numbers(item, element)
        elif item is not None:
            yield read_numeric(item, element)
