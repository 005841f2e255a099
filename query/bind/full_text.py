"""Full text search: queries, which are constants, and texts that are searched, by the configuration `simple`."""

from collections.abc import Callable, Mapping
from typing import Final

from sqlglot import exp

from query import fault
from query.bind.arguments import arguments
from query.bind.block import Block
from query.bind.type_resolution import call, coerce
from query.functions.registry import syntax
from query.pg.bad_values import BadLiteral
from query.pg.full_text import reading
from query.pg.full_text.query_tree import Query, output
from query.pg.types import TEXT, TSQUERY
from query.plan.tree import Constant, Scalar
from query.syntax.positions import position_of

_SIMPLE: Final = ("simple", "pg_catalog.simple")
_READERS: Final[Mapping[str, Callable[[str], Query | None]]] = {
    "to_tsquery": reading.standard,
    "plainto_tsquery": reading.plain,
    "phraseto_tsquery": reading.phrase,
    "websearch_to_tsquery": reading.web,
}


@syntax("to_tsvector", form="to_tsvector('simple', a)", summary="The words of a text, for `@@` and a search.")
def bind_vector(node: exp.Expr, block: Block) -> Scalar:
    return call("text vector", [_text(node, block)], position_of(node))


@syntax("to_tsquery", form="to_tsquery('simple', 'a & !b | c:*')", summary="A search: &, |, !, <-> and prefixes.")
@syntax("plainto_tsquery", form="plainto_tsquery('simple', 'a b')", summary="A search for all words.")
@syntax("phraseto_tsquery", form="phraseto_tsquery('simple', 'a b')", summary="A search for words behind each other.")
@syntax(
    "websearch_to_tsquery",
    form="websearch_to_tsquery('simple', '\"a b\" or c -d')",
    summary="A search as search engines take it.",
)
def bind_search(node: exp.Expr, block: Block) -> Scalar:
    text, name = _text(node, block), str(node.this).lower()
    if not isinstance(text, Constant):
        raise fault.unsupported(f"{name} of a text that is not a constant", position_of(node))
    if text.value is None:
        return Constant(TSQUERY, None)
    try:
        return Constant(TSQUERY, output(_READERS[name](str(text.value))))
    except BadLiteral as error:
        raise fault.invalid(error.sqlstate, error.message, position_of(node)) from error


def _text(node: exp.Expr, block: Block) -> Scalar:
    """The second argument, behind the name of a configuration. Raises UnsupportedSQL for others than `simple`."""
    name, values = str(node.this).lower(), arguments(node, block)
    if not values:
        raise fault.invalid(fault.UNDEFINED_FUNCTION, f"function {name}() does not exist", position_of(node))
    *configurations, text = values
    if text.type.name in ("json", "jsonb"):
        raise fault.unsupported(f"{name} of {text.type.name}", position_of(node), "cast it to text")
    if text.type.category not in ("S", "X"):
        types = ", ".join(each.type.sql_name for each in (*configurations, text))
        raise fault.invalid(fault.UNDEFINED_FUNCTION, f"function {name}({types}) does not exist", position_of(node))
    named = [str(each.value).lower() for each in configurations if isinstance(each, Constant) and each.value]
    if len(named) != 1 or named[0] not in _SIMPLE:
        hint = f"write {name}('simple', ...)"
        raise fault.unsupported("a full text configuration other than simple", position_of(node), hint)
    return coerce(text, TEXT, position_of(node))
