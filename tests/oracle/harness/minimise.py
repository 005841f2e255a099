"""Delta debugging: the smallest tree that still shows what a generated query showed."""

from collections.abc import Callable
from typing import Final

from tests.oracle.harness.grammar import CONSTANTS
from tests.oracle.harness.tree import Node, smaller

TRIES_AT_MOST: Final = 600


def minimise(tree: Node, still_fails: Callable[[Node], bool]) -> Node:
    """Cut `tree` while `still_fails` holds; ends when no single cut keeps the failure, or after TRIES_AT_MOST."""
    tries = 0
    while True:
        for candidate in smaller(tree, CONSTANTS):
            if candidate.size() > tree.size() or candidate.sql() == tree.sql():
                continue
            tries += 1
            if tries > TRIES_AT_MOST:
                return tree
            if still_fails(candidate):
                tree = candidate
                break
        else:
            return tree
