"""Predicates that a scan may try on its statistics, and that may be asked before anything else."""

from typing import Final

from query.pg.types import BOOL, is_keyed
from query.plan.tree import Call, Column, Constant, InList, IsNull, Logic, Not, Scalar

_COMPARISONS: Final = ("=(", "<>(", "<(", "<=(", ">(", ">=(", "is not distinct from(")
# A pattern is a constant that has been read already: nothing about it can fail on a value.
_PATTERNS: Final = ("~~(text", "~~*(text", "~(text", "~*(text", "similar to(", "starts_with(")
_PUSHED: Final = (*_COMPARISONS, *_PATTERNS)


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
