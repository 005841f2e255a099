"""What JSON_VALUE, JSON_QUERY and JSON_EXISTS find in documents; query/bind/json_queries.py joins their clauses."""

from collections.abc import Callable
from typing import Final

import polars as pl

from query.expr.call_context import CallContext
from query.functions.json_path_evaluation import Evaluation, PathError
from query.functions.json_paths import parsed_path
from query.functions.registry import define
from query.pg.json_text import Json, jsonb_text, parse_json

_FAMILY = "JSON"
_NO_ITEM: Final = PathError("22035", "no SQL/JSON item found for specified path")
_SEVERAL: Final = "JSON path expression in JSON_QUERY must return single item when no wrapper is requested"
_NO_SCALAR: Final = "JSON path expression in JSON_VALUE must return single scalar item"
EMPTY: Final = 1
FAILED: Final = 2
"""States of a result; 0 where something was found."""


def _items(context: CallContext, path: object) -> Callable[[str, str], list[Json]]:
    """What the path finds in a document, with variables. Raises PathError."""
    parsed = parsed_path(context, path)

    def items(document: str, variables: str) -> list[Json]:
        values = parse_json(variables)
        return Evaluation(parsed, parse_json(document), values if isinstance(values, dict) else {}).items(parsed.root)

    return items


def _scalar(items: list[Json]) -> str | None:
    """The text of the one scalar. Raises PathError."""
    if len(items) > 1:
        raise PathError("22034", _NO_SCALAR)
    if isinstance(items[0], dict | list):
        raise PathError("2203F", _NO_SCALAR)
    if isinstance(items[0], bool):
        return "t" if items[0] else "f"
    return items[0] if items[0] is None or isinstance(items[0], str) else jsonb_text(items[0])


def _document(items: list[Json]) -> str:
    """The one item as JSON. Raises PathError."""
    if len(items) > 1:
        raise PathError("22034", _SEVERAL)
    return jsonb_text(items[0])


def _unquoted(items: list[Json]) -> str:
    return items[0] if len(items) == 1 and isinstance(items[0], str) else _document(items)


_RESULTS: Final[dict[object, Callable[[list[Json]], str | None]]] = {
    "value": _scalar,
    "query": _document,
    "unquoted": _unquoted,
    "unconditional": jsonb_text,
    "conditional": lambda items: jsonb_text(items if len(items) > 1 else items[0]),
}
"""Of a path that finds something, by what is asked for."""


@define(
    "json query(jsonb, jsonpath!, jsonb, text!, text!) -> text",
    "The text of what a path finds; NULL for nothing and for an error, unless the last argument names them.",
    family=_FAMILY,
)
def json_query(
    context: CallContext, document: pl.Expr, path: object, variables: pl.Expr, asked: object, raised: object
) -> pl.Expr:
    items, result = _items(context, path), _RESULTS[asked]

    def found(text: str, values: str) -> str | None:
        try:
            chosen = items(text, values)
            if chosen:
                return result(chosen)
        except PathError:
            if "error" in str(raised):
                raise
            return None
        if "empty" in str(raised):
            raise _NO_ITEM
        return None

    return context.rowwise(found, document, variables)


@define(
    "json query state(jsonb, jsonpath!, jsonb, text!) -> int4",
    "0 where a path finds what is asked for, 1 for nothing, 2 for an error.",
    family=_FAMILY,
)
def json_query_state(
    context: CallContext, document: pl.Expr, path: object, variables: pl.Expr, asked: object
) -> pl.Expr:
    items, result = _items(context, path), _RESULTS[asked]

    def state(text: str, values: str) -> int:
        try:
            chosen = items(text, values)
            if not chosen:
                return EMPTY
            result(chosen)
        except PathError:
            return FAILED
        return 0

    return context.rowwise(state, document, variables)


@define(
    "json exists(jsonb, jsonpath!, jsonb, bool!) -> bool",
    "Whether a path finds something; NULL for an error, unless the last argument lets it fail.",
    family=_FAMILY,
)
def json_exists(context: CallContext, document: pl.Expr, path: object, variables: pl.Expr, fails: object) -> pl.Expr:
    items = _items(context, path)

    def exists(text: str, values: str) -> bool | None:
        try:
            return bool(items(text, values))
        except PathError:
            if fails:
                raise
            return None

    return context.rowwise(exists, document, variables)
