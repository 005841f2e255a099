"""Texts of literals -> constants of the bound plan."""

from query import fault
from query.pg.bad_values import BadLiteral, UnsupportedLiteral
from query.pg.placeholder import Placeholder
from query.pg.text_input import array_items, read, read_endless, read_interval, read_numeric
from query.pg.types import PgType, array_of, numeric
from query.plan.tree import Constant


def parse_literal(text: str, target: PgType, position: int | None = None, fields: str = "", zone: str = "") -> Constant:
    """The constant of type `target` that `text` spells, an interval's with the fields that it is declared with, an
    instant in the session's time zone; of infinite times see `query/bind/endless.py`. Raises InvalidSQL with
    PostgreSQL's SQLSTATE."""
    if isinstance(text, Placeholder):
        text.type = target
        return Constant(target, None)
    endless = read_endless(text, target)
    if endless is not None:
        return Constant(target, endless)
    try:
        if fields:
            return Constant(target, read_interval(text, target, fields))
        if target.name == "numeric":
            read_as = read_numeric(text, target)
            return Constant(numeric(read_as.scale), read_as.digits)
        if target.element is not None and target.element.name == "numeric":
            return _numeric_array(text, target.element)
        return Constant(target, read(text, target, zone))
    except BadLiteral as error:
        raise fault.invalid(error.sqlstate, error.message, position) from error
    except UnsupportedLiteral as error:
        raise error.refusal(position) from error


def _numeric_array(text: str, element: PgType) -> Constant:
    """An array of numerics with the scale of the one with most digits after the point, at least the element's."""
    items = [None if item is None else read_numeric(item, element) for item in array_items(text)]
    scale = max([element.scale, *(item.scale for item in items if item is not None)])
    exact = all(item is None or item.scale == scale for item in items)
    values = tuple(None if item is None else item.at_scale(scale) for item in items)
    return Constant(array_of(numeric(scale, exact)), values)
