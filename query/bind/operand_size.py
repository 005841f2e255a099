"""Operators that repeat an operand double its size at every level: how large it may be."""

from query.limits import MAX_COPIED, too_complex
from query.plan.traverse import children
from query.plan.tree import Scalar


def check_copies(scalar: Scalar, position: int | None) -> None:
    """Raises 54001 for an operand too large to be repeated: operators that do so double its size at every level."""
    if _written_size(scalar, {}) > MAX_COPIED:
        raise too_complex(position)


def _written_size(node: object, sizes: dict[int, int]) -> int:
    """Nodes of a tree whose shared parts are counted wherever they occur, and visited once."""
    if id(node) not in sizes:
        sizes[id(node)] = 1 + sum(_written_size(child, sizes) for child in children(node))
    return sizes[id(node)]
