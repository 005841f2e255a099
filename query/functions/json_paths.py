"""Functions and operators of jsonb that take an SQL/JSON path."""

from collections.abc import Callable
from typing import Final

import polars as pl

from query import fault
from query.expr.call_context import CallContext
from query.functions.json_path_evaluation import Evaluation, PathError
from query.functions.registry import argument_names, define
from query.pg.bad_values import BadLiteral, UnsupportedLiteral
from query.pg.json_path import Path, Step, parse_path
from query.pg.json_path_tokens import BadPath, UnsupportedPath
from query.pg.json_text import Json, jsonb_text, parse_json
from query.pg.types import JSONB, PgType, array_of

_FAMILY = "JSON"
Answer = Callable[[list[Json]], object]


def parsed_path(context: CallContext, text: object) -> Path:
    """The path of a constant. Raises InvalidSQL, UnsupportedSQL."""
    try:
        return parse_path(str(text))
    except BadPath as error:
        raise fault.invalid(error.sqlstate, str(error), context.position) from error
    except UnsupportedPath as error:
        raise fault.unsupported(str(error), context.position) from error


def _over(
    context: CallContext, document: pl.Expr, path: object, answer: Answer, silent: bool, *variables: pl.Expr
) -> pl.Expr:
    """`answer` of what the path finds in each document; NULL for an error if `silent`."""
    parsed = parsed_path(context, path)
    if answer is bool and parsed.root.kind == "sign":
        raise fault.unsupported("whether a signed path finds something", context.position)

    def found(text: str, names: str = "{}") -> object:
        values = parse_json(names)
        if not isinstance(values, dict):
            raise BadLiteral(fault.INVALID_PARAMETER, '"vars" argument is not an object')
        root = parse_json(text)
        try:
            return answer(Evaluation(parsed, root, values).items(parsed.root))
        except PathError as error:
            if not silent:
                raise
            if answer in _OF_ITEMS and not _finds_one_at_most(parsed):
                raise UnsupportedLiteral("what a silent path finds before an error") from error
            return None

    return context.rowwise(found, document, *variables)


def _finds_one_at_most(path: Path) -> bool:
    """Whether an error comes before anything is found: so it is unless a step has several items."""
    pending, steps = [path.root], list[Step]()
    while pending:
        steps.append(pending.pop())
        pending.extend(steps[-1].parts)
    return path.is_strict and not any(step.kind in _OF_SEVERAL for step in steps)


_OF_SEVERAL: Final = ("any element", "any key", "any level", "elements", "sign")


def _single_boolean(items: list[Json]) -> object:
    if len(items) == 1 and (items[0] is None or isinstance(items[0], bool)):
        return items[0]
    raise PathError("22038", "single boolean result is expected")


def _texts(items: list[Json]) -> object:
    return list(map(jsonb_text, items))


@define("@?(jsonb, jsonpath!) -> bool", "Whether the path finds something.", family=_FAMILY)
def finds(context: CallContext, document: pl.Expr, path: object) -> pl.Expr:
    return _over(context, document, path, bool, True)


@define("@@(jsonb, jsonpath!) -> bool", "What the path's predicate gives.", family=_FAMILY)
def satisfies(context: CallContext, document: pl.Expr, path: object) -> pl.Expr:
    return _over(context, document, path, _single_boolean, True)


def _rows(types: tuple[PgType, ...]) -> PgType:
    return array_of(JSONB)


def _function(
    name: str, result: str, summary: str, answer: Answer, rule: Callable[[tuple[PgType, ...]], PgType] | None
) -> None:
    """Registers the forms of a function over paths: with variables, and silent."""
    forms = ("jsonb, jsonpath!", "jsonb, jsonpath!, jsonb", "jsonb, jsonpath!, jsonb, bool!")

    @define("; ".join(f"{name}({form}) -> {result}" for form in forms), summary, family=_FAMILY, result=rule)
    def build(context: CallContext, document: pl.Expr, path: object, *more: object) -> pl.Expr:
        variables = [part for part in more if isinstance(part, pl.Expr)]
        return _over(context, document, path, answer, len(more) == 2 and bool(more[1]), *variables)


def _first(items: list[Json]) -> object:
    return jsonb_text(items[0]) if items else None


def _array(items: list[Json]) -> object:
    return jsonb_text(items)


_OF_ITEMS: Final = (_texts, _first, _array)

_function("jsonb_path_exists", "bool", "Whether the path finds something.", bool, None)
_function("jsonb_path_match", "bool", "What the path's predicate gives.", _single_boolean, None)
_function("jsonb_path_query", "jsonb", "What the path finds, as rows.", _texts, _rows)
_function("jsonb_path_query_array", "jsonb", "What the path finds, as an array.", _array, None)
_function("jsonb_path_query_first", "jsonb", "The first that the path finds.", _first, None)

argument_names(
    "jsonb_path_exists, jsonb_path_match, jsonb_path_query, jsonb_path_query_array, jsonb_path_query_first",
    "target, path, vars, silent",
    defaults=("{}", False),
)
