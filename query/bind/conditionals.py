"""CASE, COALESCE, NULLIF, GREATEST and LEAST: one of several values, in their common type."""

from typing import Final

from sqlglot import exp

from query import fault
from query.bind import operators
from query.bind.arguments import arguments
from query.bind.block import Block
from query.bind.operand_size import check_copies
from query.bind.type_resolution import coerce, common, comparable, read_numeric_literals, unknown_to_text
from query.functions.registry import syntax
from query.pg.types import INTEGERS
from query.plan.tree import Call, Case, Coalesce, Constant, RowOf, Scalar
from query.syntax.positions import position_of


@syntax(exp.Case, form="CASE [a] WHEN b THEN c ELSE d END", summary="The result of the first branch that holds.")
def bind_case(node: exp.Expr, block: Block) -> Scalar:
    """The result of the first branch that holds; of `CASE value WHEN ...`, whose value is equal."""
    with block.without_series("CASE"):
        return _case_of(node, block)


def _case_of(node: exp.Expr, block: Block) -> Scalar:
    tested = unknown_to_text(block.bind(node.this)) if node.this is not None else None
    if tested is not None:
        check_copies(tested, position_of(node))
    conditions: list[Scalar] = []
    for branch in node.args["ifs"]:
        if tested is None:
            conditions.append(block.bind_boolean(branch.this, "CASE/WHEN"))
        else:
            equal = operators.comparison("=", tested, block.bind(branch.this), position_of(branch))
            conditions.append(block.environment.fold(equal))
    result_nodes = [node.args.get("default") or exp.Null(), *(branch.args["true"] for branch in node.args["ifs"])]
    results = read_numeric_literals([block.bind(result) for result in result_nodes])
    positions = list(map(position_of, result_nodes))
    target = common([result.type for result in results], "CASE", position_of(node), positions)
    otherwise, *branches = [coerce(result, target) for result in results]
    return Case(target, tuple(zip(conditions, branches, strict=True)), otherwise)


@syntax("coalesce", form="COALESCE(a, b)", summary="The first value that is not NULL.")
def bind_coalesce(node: exp.Expr, block: Block) -> Scalar:
    """The first value that is not NULL."""
    with block.without_series("COALESCE"):
        values = read_numeric_literals(arguments(node, block))
    if not values:
        raise fault.invalid(fault.SYNTAX_ERROR, "COALESCE needs an argument", position_of(node))
    positions = list(map(position_of, node.expressions))
    target = common([value.type for value in values], "COALESCE", position_of(node), positions)
    return Coalesce(target, tuple(coerce(value, target) for value in values))


@syntax(
    "greatest", "least", form="GREATEST(a, b), LEAST(a, b)", summary="The greatest or smallest value that is not NULL."
)
def bind_extremum(node: exp.Expr, block: Block) -> Scalar:
    """GREATEST and LEAST of the values that are not NULL."""
    name = str(node.this).lower()
    values = read_numeric_literals(arguments(node, block))
    if not values:
        raise fault.invalid(fault.SYNTAX_ERROR, f"{name} needs an argument", position_of(node))
    positions = list(map(position_of, node.expressions))
    target = common([value.type for value in values], name.upper(), position_of(node), positions)
    operators.require_sortable(target, position_of(node))
    return Call(target, f"{name}(any...)", tuple(coerce(value, target) for value in values))


_NARROW: Final = ("numeric", *INTEGERS)
"""What `=` converts for lack of an operator of its own; integers of different sizes, dates and timestamps it takes."""


@syntax("nullif", form="NULLIF(a, b)", summary="NULL where both are equal, else the first.")
def bind_nullif(node: exp.Expr, block: Block) -> Scalar:
    """The first value as `=` takes it, or NULL where both are equal."""
    values = arguments(node, block)
    if len(values) != 2:
        raise fault.invalid(fault.SYNTAX_ERROR, "NULLIF takes two arguments", position_of(node))
    check_copies(values[0], position_of(node))
    equal = block.environment.fold(operators.comparison("=", values[0], values[1], position_of(node)))
    result = values[0]
    if not isinstance(result, RowOf):
        comparable_value, _ = comparable(values[0], values[1], position_of(node), "=")
        wide = result.type.name in _NARROW and comparable_value.type.name in ("numeric", "float8")
        result = comparable_value if wide or result.type.name == "unknown" else result
    return Case(result.type, ((equal, Constant(result.type, None)),), result)
