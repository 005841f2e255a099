"""AND, OR, NOT and the tests of IS."""

from sqlglot import exp

from query import fault
from query.bind import special_syntax
from query.bind.block import Block
from query.bind.type_resolution import coerce
from query.functions.registry import syntax
from query.pg.types import BOOL, TEXT
from query.plan.tree import Call, Constant, IsNull, Logic, Not, RowOf, Scalar, truth
from query.syntax.positions import position_of


@syntax(exp.And, form="a AND b", summary="True if both are, false if one is not, else unknown.")
def bind_and(node: exp.Expr, block: Block) -> Scalar:
    """A conjunction, however long, as one."""
    return _logic(node, block, exp.And, "and")


@syntax(exp.Or, form="a OR b", summary="True if one is, false if none is, else unknown.")
def bind_or(node: exp.Expr, block: Block) -> Scalar:
    """A disjunction, however long, as one."""
    return _logic(node, block, exp.Or, "or")


def _logic(node: exp.Expr, block: Block, node_class: type[exp.Expr], operator: str) -> Scalar:
    parts: list[exp.Expr] = []
    rest = node
    while isinstance(rest, node_class):
        parts.append(rest.args["expression"])
        rest = rest.this
    parts.append(rest)
    operands = tuple(block.bind_boolean(part, operator.upper()) for part in reversed(parts))
    return Logic(BOOL, operator, operands)


@syntax(exp.Not, form="NOT a", summary="The negation; unknown stays unknown.")
def bind_not(node: exp.Expr, block: Block) -> Scalar:
    """The negation; unknown stays unknown."""
    return Not(BOOL, block.bind_boolean(node.this, "NOT"))


@syntax(
    exp.Is,
    form="a IS [NOT] NULL | TRUE | FALSE | UNKNOWN | JSON [VALUE | SCALAR | ARRAY | OBJECT] [WITH UNIQUE KEYS]",
    summary="A test that is never unknown.",
)
def bind_is(node: exp.Expr, block: Block) -> Scalar:
    """`value IS [NOT] NULL | TRUE | FALSE | UNKNOWN | JSON ...`."""
    value, test = block.bind(node.this), node.args["expression"]
    if isinstance(test, exp.JSON):
        result = special_syntax.is_json(value, test, position_of(node))
    elif isinstance(test, exp.Null):
        if isinstance(value, RowOf):
            return _row_is_null(value, bool(node.args.get("negate")))
        if value.type.name == "record":
            raise fault.unsupported("IS NULL of a computed row", position_of(node), "ask it of its fields")
        if value.type.name == "unknown" and isinstance(value, Constant):
            value = coerce(value, TEXT)
        result = IsNull(BOOL, value)
    else:
        value = block.bind_boolean(node.this, "IS")
        unknown = not isinstance(test, exp.Boolean)
        if unknown and str(getattr(test, "name", "")).upper() != "UNKNOWN":
            raise fault.unsupported("this IS test", position_of(node))
        expected = truth(True) if isinstance(test, exp.Boolean) and test.this else truth(False)
        result = IsNull(BOOL, value) if unknown else Call(BOOL, "is not distinct from(any, any)", (value, expected))
    return Not(BOOL, result) if node.args.get("negate") else result


def _row_is_null(row: RowOf, negate: bool) -> Scalar:
    """A row is NULL if all of its fields are, and not NULL if none is."""
    tests = tuple(IsNull(BOOL, coerce(item, TEXT) if item.type.name == "unknown" else item) for item in row.items)
    return Logic(BOOL, "and", tuple(Not(BOOL, test) for test in tests) if negate else tests)
