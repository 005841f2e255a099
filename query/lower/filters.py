"""Filters: what a scan may evaluate on its statistics, and what has to see rows only."""

from typing import Final

import polars as pl

from query.expr.common_subexpressions import Stage
from query.expr.sort_keys import is_keyed
from query.lower.scalars import expression
from query.pg.types import BOOL
from query.plan.traverse import conjuncts
from query.plan.tree import Call, Column, Constant, InList, IsNull, Logic, Not, Scalar

_COMPARISONS: Final = ("=(", "<>(", "<(", "<=(", ">(", ">=(", "is not distinct from(")
# A pattern is a constant that has been read already: nothing about it can fail on a value.
_PATTERNS: Final = ("~~(text", "~~*(text", "~(text", "~*(text", "similar to(", "starts_with(")
_PUSHED: Final = (*_COMPARISONS, *_PATTERNS)

_HOLDS: Final = "holds"


def filtered(frame: pl.LazyFrame, predicate: Scalar) -> pl.LazyFrame:
    """The rows for which the predicate is true.

    A scan tries its predicate on minimum and maximum values, which need not be rows (long texts are cut). A function
    that fails on such a value would fail the query, so only plain comparisons are left for the scan to see; anything
    else is a column first, which Polars does not move.
    """
    parts = conjuncts(predicate)
    pushed = [part for part in parts if is_plain(part)]
    if pushed:
        frame = frame.filter(expression(conjunction(pushed)))
    if len(pushed) == len(parts):
        return frame
    stage = Stage()
    holds = expression(predicate, stage).alias(_HOLDS)
    return stage.after(stage.before(frame).with_columns(holds).filter(pl.col(_HOLDS)).drop(_HOLDS))


def conjunction(parts: list[Scalar]) -> Scalar:
    """The parts, at least one, joined by AND."""
    return parts[0] if len(parts) == 1 else Logic(BOOL, "and", tuple(parts))


def is_plain(scalar: Scalar) -> bool:
    """Comparisons of columns with constants and constant patterns, and their combinations.

    Not those of values that compare by a key: a document that is cut is none, and its key cannot be made.
    """
    if isinstance(scalar, Call):
        if not scalar.function.startswith(_PUSHED) or any(is_keyed(arg.type) for arg in scalar.args):
            return False
        return all(isinstance(arg, Column | Constant) for arg in scalar.args)
    if isinstance(scalar, Logic):
        return all(is_plain(operand) for operand in scalar.operands)
    if isinstance(scalar, Not | IsNull | InList):
        return is_plain(scalar.value)
    return isinstance(scalar, Column | Constant)
