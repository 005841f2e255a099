"""Expressions of the syntax tree -> bound scalars, each by the binder that is registered for its type."""

from dataclasses import replace

from sqlglot import exp

from query import fault
from query.bind import operators
from query.bind.block import Block
from query.bind.quotient_display import shown_quotient
from query.bind.type_names import TypeName, type_name
from query.bind.type_resolution import call
from query.functions.registry import SYNTAX, syntax
from query.plan.tree import ArrayOf, Column, Constant, Scalar
from query.syntax.construct_names import node_name
from query.syntax.positions import operator_of, position_of


def bind(node: exp.Expr, block: Block) -> Scalar:
    """The bound form of an expression; string literals without a context keep type unknown."""
    construct = SYNTAX.get(type(node))
    if construct is None:
        raise fault.unsupported(node_name(node), position_of(node))
    return block.environment.fold(construct.bind(node, block))


@syntax(exp.Column, form="column, table.column", summary="A column.")
def _column(node: exp.Expr, block: Block) -> Scalar:
    if not isinstance(node, exp.Column):
        raise fault.invalid(fault.SYNTAX_ERROR, "* is not an expression", position_of(node))
    if _is_session_value(node, block):
        return SYNTAX[node.name.lower()].bind(node, block)
    column = block.scope.column(node)
    return replace(column, position=position_of(node)) if isinstance(column, Column) else column


def _is_session_value(node: exp.Column, block: Block) -> bool:
    """True for the words that sqlglot takes for names, and that no name of PostgreSQL can be. `user` is a column for us
    where there is one: events have it, and nobody means the database's user then (docs/decisions/sql-engine.md)."""
    word = node.name.lower()
    if (
        word not in ("current_role", "system_user", "user")
        or node.args.get("table") is not None
        or node.this.args.get("quoted")
    ):
        return False
    return word == "current_role" or not block.scope.has_column(node)


@syntax(exp.Paren)
def _inner(node: exp.Expr, block: Block) -> Scalar:
    return block.bind(node.this)


@syntax(
    exp.Cast,
    exp.TryCast,
    form="CAST(a AS type), a::type, TRY_CAST(a AS type)",
    summary="The value in another type; TRY_CAST is an extension, NULL for what does not fit.",
)
def _cast(node: exp.Expr, block: Block) -> Scalar:
    target = type_name(node.args["to"])
    if _is_empty_array(node.this):
        return Constant(target.type, ())
    element = target.type.element
    if element is not None and element.name != "numeric" and _has_untyped_items(node.this, target):
        return _cast_items(node, target, replace(target, type=element), block)
    value = block.bind(node.this)
    if target.type.name == "text":
        value = shown_quotient(value, block)
    return operators.cast(value, target, operator_of(node), isinstance(node, exp.TryCast))


def _is_empty_array(node: exp.Expr) -> bool:
    """True for `ARRAY[]` and `ARRAY[[], []]`, which have no type of their own."""
    return isinstance(node, exp.Array) and all(map(_is_empty_array, node.expressions))


def _has_untyped_items(node: exp.Expr, target: TypeName) -> bool:
    """True for `ARRAY['NaN', 1]` where the cast decides what its literals are."""
    if not isinstance(node, exp.Array) or target.modifiers or target.character:
        return False
    return any(isinstance(item, exp.Literal) and item.is_string for item in node.expressions)


def _cast_items(node: exp.Expr, target: TypeName, element: TypeName, block: Block) -> Scalar:
    """A cast of `ARRAY[...]` is one of each item (transformArrayExpr)."""
    lenient = isinstance(node, exp.TryCast)
    items = (operators.cast(block.bind(item), element, operator_of(node), lenient) for item in node.this.expressions)
    return ArrayOf(target.type, tuple(items))


@syntax(exp.DPipe)
def _concatenation(node: exp.Expr, block: Block) -> Scalar:
    """`a || b`; a computed numeric with the digits that PostgreSQL shows of it."""
    operands = [shown_quotient(block.bind(side), block) for side in (node.this, node.args["expression"])]
    for operand in operands:
        if operand.type.name in ("tsvector", "tsquery"):
            raise fault.unsupported(f"|| of {operand.type.name}", operator_of(node))
    return call("||", operands, operator_of(node))


@syntax(exp.Star)
def _column_or_whole(node: exp.Expr, block: Block) -> Scalar:
    raise fault.invalid(fault.SYNTAX_ERROR, "* is not an expression", position_of(node))
