"""Errors that rows raise are declared beside the functions that raise them, by name."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import query.bind
import query.lower.relations  # noqa: F401
from query.expr.row_errors import declared, row_error

FILES = sorted((Path(__file__).parents[3] / "query").rglob("*.py"))


def _trapped(path: Path) -> Iterator[ast.expr]:
    """The names of the errors in the calls of `trap`, as they are written."""
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Call) and getattr(node.func, "attr", getattr(node.func, "id", "")) == "trap":
            yield node.args[2]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_every_error_that_is_raised_is_declared(path: Path) -> None:
    written = [name for argument in _trapped(path) for name in ast.walk(argument)]

    assert not any(isinstance(name, ast.JoinedStr) for name in written), "a name that no search finds"
    for name in written:
        if isinstance(name, ast.Constant):
            assert declared(name.value, None)


def test_an_error_is_declared_once() -> None:
    with pytest.raises(ValueError, match="declared twice"):
        row_error("division_by_zero", "22012", "division by zero")
