"""LIKE, ILIKE, SIMILAR TO and regular expression operators."""

from typing import Final

from sqlglot import exp

from query import fault
from query.bind.block import Block
from query.bind.overloads import CASTS_HINT
from query.bind.predicates import quantified_items, quantifier
from query.bind.type_resolution import call
from query.functions.postgres_names import has_form
from query.functions.registry import syntax
from query.pg.types import BOOL, BYTEA, TEXT, UNKNOWN, PgType, implicit
from query.plan.tree import Constant, Logic, Not, Scalar
from query.syntax.positions import operator_of, position_of

_NAMES: Final[dict[type[exp.Expr], str]] = {
    exp.Like: "~~",
    exp.ILike: "~~*",
    exp.RegexpLike: "~",
    exp.RegexpILike: "~*",
    exp.SimilarTo: "similar to",
}


_FROM_COLUMN: Final = {"~~": "like", "~~*": "ilike"}


def _finish(node: exp.Expr, result: Scalar) -> Scalar:
    return Not(BOOL, result) if node.args.get("negate") else result


@syntax(
    exp.Like,
    exp.ILike,
    form="a [NOT] LIKE | ILIKE pattern [ESCAPE character]",
    summary="Whether the text has the pattern; also of ANY or ALL patterns of an array.",
)
def bind_like(node: exp.Expr, block: Block) -> Scalar:
    """`text [NOT] LIKE pattern`, also against ANY or ALL items of an array."""
    return _finish(node, _match_pattern(node, block, Constant(TEXT, "\\")))


def _match_pattern(node: exp.Expr, block: Block, escape: Scalar) -> Scalar:
    value, pattern = block.bind(node.this), node.args["expression"]
    name = _NAMES[type(node)]
    if isinstance(pattern, exp.Any | exp.All):
        items = quantified_items(pattern, block, TEXT)
        if items is None:
            raise fault.unsupported("LIKE ANY of an array that is not written out", operator_of(node))
        parts: tuple[Scalar, ...] = tuple(call(name, [value, item, escape], operator_of(node)) for item in items)
        if not parts:
            return Constant(BOOL, isinstance(pattern, exp.All))
        negate = bool(node.args.get("negate"))
        parts = tuple(Not(BOOL, part) for part in parts) if negate else parts
        condition = Logic(BOOL, "or" if isinstance(pattern, exp.Any) else "and", parts)
        return Not(BOOL, condition) if negate else condition
    bound = block.bind(pattern)
    _check_texts(node, value.type, bound.type)
    if not isinstance(bound, Constant) and name in _FROM_COLUMN and value.type.name != "bytea":
        name = _FROM_COLUMN[name]
    return call(name, [value, bound, escape], operator_of(node))


def _check_texts(node: exp.Expr, value: PgType, pattern: PgType) -> None:
    """Raises 42883 unless both are texts, with the operator that PostgreSQL reads the words as."""
    if implicit(value, TEXT) and implicit(pattern, TEXT):
        return
    if isinstance(node, exp.Like) and value.name == "bytea" and implicit(pattern, BYTEA):
        return
    similar = isinstance(node, exp.SimilarTo)
    operator = ("!" if node.args.get("negate") else "") + ("~" if similar else _NAMES[type(node)])
    shown = f"{value.sql_name} {operator} {TEXT.sql_name if similar else pattern.sql_name}"
    if has_form(operator, [value, pattern]) or (not similar and value.name == pattern.name == "record"):
        raise fault.unsupported(f"operator {shown}", operator_of(node))
    message = f"operator does not exist: {shown}"
    raise fault.invalid(fault.UNDEFINED_FUNCTION, message, operator_of(node), CASTS_HINT)


@syntax(
    "like",
    "notlike",
    "textlike",
    "textnlike",
    form="like(a, pattern), notlike(a, pattern)",
    summary="LIKE and NOT LIKE as functions.",
)
def like_function(node: exp.Expr, block: Block) -> Scalar:
    if len(node.expressions) != 2:
        message = f"function {node.name} takes a text and a pattern"
        raise fault.invalid(fault.UNDEFINED_FUNCTION, message, position_of(node))
    value, pattern = node.expressions
    like = exp.Like(this=value, expression=pattern)
    like.meta.update(node.meta)
    result = _match_pattern(like, block, Constant(TEXT, "\\"))
    return Not(BOOL, result) if str(node.this).lower() in ("notlike", "textnlike") else result


@syntax(exp.Escape)
def bind_escape(node: exp.Expr, block: Block) -> Scalar:
    """`... LIKE pattern ESCAPE character`; an empty one switches escaping off."""
    escape = block.bind(node.args["expression"])
    if not isinstance(escape, Constant) or escape.value is None:
        raise fault.unsupported("an ESCAPE that is not a constant", operator_of(node))
    sign = escape.value.decode("latin-1") if isinstance(escape.value, bytes) else str(escape.value)
    if len(sign) > 1:
        raise fault.invalid(fault.INVALID_ESCAPE, "invalid escape string", operator_of(node), "use one character")
    inner = node.this
    negated = isinstance(inner, exp.Not)
    inner = inner.this if negated else inner
    if not isinstance(inner, exp.Like | exp.ILike | exp.SimilarTo):
        raise fault.unsupported("ESCAPE here", operator_of(node))
    _check_escape(inner, escape.type, block)
    result = _finish(inner, _match_pattern(inner, block, Constant(TEXT, sign)))
    return Not(BOOL, result) if negated else result


def _check_escape(node: exp.Expr, escape: PgType, block: Block) -> None:
    """Raises 42883 for an escape character of bytes beside a text, or the reverse."""
    if escape.name == "unknown":
        return
    value = block.bind(node.this).type.name
    if value == "unknown" and escape.name == "bytea":
        raise fault.unsupported("LIKE of untyped literals with an ESCAPE of bytes", operator_of(node))
    is_binary = value == "bytea"
    if is_binary != (escape.name == "bytea") or (not is_binary and not implicit(escape, TEXT)):
        pattern = (BYTEA if is_binary else TEXT).sql_name
        message = f"function like_escape({pattern}, {escape.sql_name}) does not exist"
        raise fault.invalid(fault.UNDEFINED_FUNCTION, message, operator_of(node))


@syntax(
    exp.SimilarTo,
    form="a [NOT] SIMILAR TO pattern [ESCAPE character]",
    summary="Whether the text has the SQL regular expression.",
)
def bind_similar(node: exp.Expr, block: Block) -> Scalar:
    """`text SIMILAR TO pattern`."""
    return _finish(node, _match_pattern(node, block, Constant(TEXT, "\\")))


@syntax(
    exp.RegexpLike,
    exp.RegexpILike,
    form="a ~ | ~* | !~ | !~* pattern",
    summary="Whether the text has the regular expression; also of ANY or ALL patterns of an array.",
)
def bind_regexp(node: exp.Expr, block: Block) -> Scalar:
    """`text ~ pattern`, `~*`, `!~` and `!~*`, also against ANY or ALL items of an array."""
    value, pattern, name = block.bind(node.this), quantifier(node.args["expression"]), _NAMES[type(node)]
    position = operator_of(node)

    def matched(operand: Scalar) -> Scalar:
        match = call(name, [value, operand], position)
        return _finish(node, match)

    if not isinstance(pattern, exp.Any | exp.All):
        return matched(block.bind(pattern))
    items = quantified_items(pattern, block, UNKNOWN)
    if items is None:
        raise fault.unsupported("a regular expression against an array", position)
    return Logic(BOOL, "or" if isinstance(pattern, exp.Any) else "and", tuple(map(matched, items)))
