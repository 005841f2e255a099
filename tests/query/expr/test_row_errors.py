"""Errors that rows raise are declared beside the functions that raise them, by name."""

import ast
from collections.abc import Iterator
from pathlib import Path

import polars as pl
import pytest

import query.bind
import query.lower.relations  # noqa: F401
from errors import InternalError
from query.expr.row_errors import declare_row_error, declared_error, translate

FILES = sorted((Path(__file__).parents[3] / "query").rglob("*.py"))


def _raised(path: Path) -> Iterator[ast.expr]:
    """The names of the errors in the calls of `fail_where`, as they are written."""
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Call) and getattr(node.func, "attr", getattr(node.func, "id", "")) == "fail_where":
            yield node.args[2]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_every_error_that_is_raised_is_declared(path: Path) -> None:
    names = [name for argument in _raised(path) for name in ast.walk(argument)]

    assert not any(isinstance(name, ast.JoinedStr) for name in names), "a name that no search finds"
    for name in names:
        if isinstance(name, ast.Constant):
            assert declared_error(name.value, None)


def test_an_error_is_declared_once() -> None:
    with pytest.raises(ValueError, match="declared twice"):
        declare_row_error("division_by_zero", "22012", "division by zero")


@pytest.mark.parametrize(
    "error",
    [
        pl.exceptions.SchemaError("datatypes of join keys don't match - `lk0`: datetime[ns, UTC]"),
        pl.exceptions.InvalidOperationError(
            "conversion from `i64` to `u8` failed in column 'c1' for 1 out of 1 values: [300]"
        ),
        RuntimeError("PanicException"),
    ],
    ids=["schema", "conversion", "panic"],
)
def test_nobody_reads_the_words_of_the_engine(error: Exception) -> None:
    translated = translate(error)

    assert isinstance(translated, InternalError)
    assert translated.message == "the query failed by an error on our side"
