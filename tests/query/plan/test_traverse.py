"""Walking bound trees: no part of a node is left out."""

from dataclasses import fields, is_dataclass
from typing import Final

import pytest

from query.pg.types import BOOL, INT4
from query.plan import tree
from query.plan.traverse import children, columns
from query.plan.tree import Bound, Case, Column, Constant, Frame, SortKey, WindowCall

NODES: Final = ("Scalar", "Relation", "SortKey", "Column", "AggregateCall", "WindowCall", "Frame", "Bound")


def column(name: str) -> Column:
    return Column(INT4, name)


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        (kind, slot.name)
        for kind in vars(tree).values()
        if isinstance(kind, type) and is_dataclass(kind) and kind.__module__ == tree.__name__
        for slot in fields(kind)
        if any(node in str(slot.type) for node in NODES)
    ],
)
def test_every_field_that_holds_nodes_is_walked(kind: type, name: str) -> None:
    node = object.__new__(kind)
    for slot in fields(kind):
        object.__setattr__(node, slot.name, column("here") if slot.name == name else ())

    assert children(node) == [column("here")]


def test_columns_are_found_in_the_order_in_which_they_stand() -> None:
    case = Case(INT4, ((Column(BOOL, "a"), column("b")), (Column(BOOL, "c"), column("d"))), column("e"))
    frame = Frame("range", Bound("preceding", column("h")), Bound("current"))
    call = WindowCall(INT4, "sum", (case,), (column("f"),), (SortKey(column("g"), False, False),), frame)

    assert [found.id for found in columns(call)] == list("abcdefgh")
    assert list(columns(Constant(INT4, 1))) == []
