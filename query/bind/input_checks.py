"""pg_input_is_valid(text, type): whether a text could be cast."""

import re
from typing import Final

import sqlglot
from sqlglot import exp

from query import fault
from query.bind.arguments import arguments
from query.bind.block import Block
from query.bind.type_names import type_name
from query.bind.type_resolution import call, coerce
from query.functions.registry import syntax
from query.pg.types import TEXT
from query.plan.tree import Constant, Scalar
from query.syntax.dialect import WeirPostgres
from query.syntax.dialect_checks import TYPE_WORDS
from query.syntax.positions import position_of

_TYPE: Final = re.compile(r"\s*(?P<word>[a-z_][a-z0-9_]*)(?: [a-z ]+)?(?P<array>\[\])*\s*", re.IGNORECASE)


@syntax("pg_input_is_valid", form="pg_input_is_valid(a, 'type')", summary="Whether a text could be cast to the type.")
def bind_input_check(node: exp.Expr, block: Block) -> Scalar:
    """Lets a column be cleaned before a cast: `CASE WHEN pg_input_is_valid(x, 'integer') THEN x::integer END`."""
    position = position_of(node)
    values = arguments(node, block)
    if len(values) != 2:
        raise fault.invalid(fault.UNDEFINED_FUNCTION, "pg_input_is_valid takes a text and a type", position)
    text, named = coerce(values[0], TEXT, position), values[1]
    if not isinstance(named, Constant) or named.value is None:
        raise fault.unsupported("pg_input_is_valid with a type that is not a constant", position)
    target = type_name(_type_node(str(named.value), position)).type
    return call("input is valid", [text, Constant(TEXT, target.output_name)], position)


def _type_node(text: str, position: int | None) -> exp.DataType:
    """The type of this name. A number of digits or characters, which a cast would cut to, is refused."""
    match = _TYPE.fullmatch(text)
    if match is None:
        raise fault.unsupported(f"pg_input_is_valid for type {text[:60]}", position, "name a type without brackets")
    if match["word"].lower() not in TYPE_WORDS:
        raise fault.invalid(fault.UNDEFINED_OBJECT, f'type "{match["word"].lower()}" does not exist', position)
    cast = sqlglot.parse_one(f"NULL::{text}", dialect=WeirPostgres)
    if not isinstance(cast, exp.Cast):
        raise fault.unsupported(f"pg_input_is_valid for type {text[:60]}", position)
    return cast.to
