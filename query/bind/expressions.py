"""Expressions of the syntax tree -> bound scalars: who binds which kind of node."""

from collections.abc import Callable
from dataclasses import replace
from typing import Final

from sqlglot import exp

from query import fault
from query.bind import (
    aggregates,
    calls,
    conditionals,
    constants,
    constructors,
    logic,
    operators,
    patterns,
    predicates,
    special_syntax,
    windows,
)
from query.bind.block import Block
from query.bind.quotient_display import shown_quotient
from query.bind.type_names import type_name
from query.plan.tree import Column, Constant, Scalar
from query.syntax.allowlist import position_of
from query.syntax.positions import operator_of


def bind(node: exp.Expr, block: Block) -> Scalar:
    """The bound form of an expression; string literals without a context keep type unknown."""
    handler = _HANDLERS.get(type(node))
    if handler is None:
        raise fault.unsupported(type(node).__name__, position_of(node))
    return block.environment.fold(handler(node, block))


def _column(node: exp.Expr, block: Block) -> Scalar:
    if not isinstance(node, exp.Column):
        raise fault.invalid(fault.SYNTAX_ERROR, "* is not an expression", position_of(node))
    found = block.scope.column(node)
    return replace(found, position=position_of(node)) if isinstance(found, Column) else found


def _inner(node: exp.Expr, block: Block) -> Scalar:
    return block.bind(node.this)


def _cast(node: exp.Expr, block: Block) -> Scalar:
    wanted = type_name(node.args["to"])
    if isinstance(node.this, exp.Array) and not node.this.expressions:
        return Constant(wanted.type, ())
    value = block.bind(node.this)
    if wanted.type.name == "text":
        value = shown_quotient(value, block)
    return operators.cast(value, wanted, operator_of(node), isinstance(node, exp.TryCast))


def _interval(node: exp.Expr, block: Block) -> Scalar:
    return special_syntax.interval(node)


def _column_or_whole(node: exp.Expr, block: Block) -> Scalar:
    raise fault.invalid(fault.SYNTAX_ERROR, "* is not an expression", position_of(node))


_HANDLERS: Final[dict[type[exp.Expr], Callable[[exp.Expr, Block], Scalar]]] = {
    exp.Literal: constants.bind_literal,
    exp.ByteString: constants.bind_text,
    exp.RawString: constants.bind_text,
    exp.National: constants.bind_text,
    exp.Concat: constants.bind_continued,
    exp.UnicodeString: constants.bind_unicode,
    exp.Null: constants.bind_null,
    exp.Boolean: constants.bind_boolean,
    exp.Column: _column,
    exp.Star: _column_or_whole,
    exp.Paren: _inner,
    exp.And: logic.bind_and,
    exp.Or: logic.bind_or,
    exp.Not: logic.bind_not,
    exp.Is: logic.bind_is,
    exp.Case: conditionals.bind_case,
    exp.Cast: _cast,
    exp.TryCast: _cast,
    exp.Interval: _interval,
    exp.Array: constructors.bind_array,
    exp.Tuple: constructors.bind_row,
    exp.Anonymous: calls.bind_call,
    exp.Filter: aggregates.bind_filtered,
    exp.WithinGroup: aggregates.bind_within,
    exp.Window: windows.bind_window,
    exp.Exists: predicates.bind_exists,
    exp.In: predicates.bind_in,
    exp.Between: predicates.bind_between,
    exp.Subquery: predicates.bind_scalar_subquery,
    exp.Select: predicates.bind_scalar_subquery,
    exp.Union: predicates.bind_scalar_subquery,
    exp.Intersect: predicates.bind_scalar_subquery,
    exp.Except: predicates.bind_scalar_subquery,
    exp.Values: predicates.bind_scalar_subquery,
    exp.Like: patterns.bind_like,
    exp.ILike: patterns.bind_like,
    exp.Escape: patterns.bind_escape,
    exp.SimilarTo: patterns.bind_similar,
    exp.RegexpLike: patterns.bind_regexp,
    exp.RegexpILike: patterns.bind_regexp,
    exp.Collate: special_syntax.collate,
    exp.AtTimeZone: special_syntax.at_time_zone,
    exp.Extract: special_syntax.extract,
    exp.StrPosition: special_syntax.position,
    exp.Substring: special_syntax.substring,
    exp.Trim: special_syntax.trim,
    exp.Overlay: special_syntax.overlay,
    exp.CurrentDate: special_syntax.current_date,
    exp.CurrentTimestamp: special_syntax.now,
    exp.Localtimestamp: special_syntax.localtimestamp,
    exp.Localtime: special_syntax.localtime,
    exp.Bracket: special_syntax.bracket,
    exp.Neg: operators.bind_unary,
    **dict.fromkeys((exp.BitwiseNot, exp.Abs, exp.Sqrt, exp.Cbrt), operators.bind_unary),
    exp.Operator: operators.bind_operator,
    exp.EQ: predicates.bind_comparison,
    exp.NEQ: predicates.bind_comparison,
    exp.GT: predicates.bind_comparison,
    exp.GTE: predicates.bind_comparison,
    exp.LT: predicates.bind_comparison,
    exp.LTE: predicates.bind_comparison,
    exp.NullSafeEQ: predicates.bind_distinct_from,
    exp.NullSafeNEQ: predicates.bind_distinct_from,
    **dict.fromkeys((exp.Add, exp.Sub, exp.Mul, exp.Div, exp.Mod, exp.Pow, exp.DPipe), operators.bind_binary),
    **dict.fromkeys((exp.BitwiseAnd, exp.BitwiseOr, exp.BitwiseXor), operators.bind_binary),
    **dict.fromkeys((exp.BitwiseLeftShift, exp.BitwiseRightShift), operators.bind_binary),
}
