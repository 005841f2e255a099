"""Statements that are stored are judged where queries run: docs/security.md, "SQL"."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from config import Settings
from errors import InvalidSQL, TimedOut
from query import service
from query.question import Question
from query.service import Checked, QueryService

ROOT = Path(__file__).parent.parent.parent
ANN = Question("default", "native:ann", "SELECT 1", 0)
# What web workers and the alerting process may know of query/: how to ask, and no parser.
PARSERS = {
    "query.syntax.parse",
    "query.syntax.dialect",
    "query.engine",
    "query.process.statement_cache",
    "query.process.execution",
    "sqlglot",
}


def never() -> bool:
    return False


@pytest.fixture
def queries(tmp_path: Path) -> Iterator[QueryService]:
    made = QueryService(Settings(data_dir=tmp_path, query_concurrency=1))
    yield made
    made.close()


def test_what_a_statement_reads_is_told(queries: QueryService) -> None:
    with queries.checking(ANN, never) as check:
        assert check("SELECT 1 FROM a, b") == Checked(("a", "b"), explain=False)
        with pytest.raises(InvalidSQL):
            check("SELECT (")
        assert check("EXPLAIN SELECT 1 FROM a") == Checked(("a",), explain=True)


def test_a_statement_that_keeps_the_parser_is_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With a parser that never ends, as in whatever family of statements nobody has found yet."""
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parent))
    monkeypatch.setattr(service, "CHECK_SECONDS", 2.0)
    queries = QueryService(Settings(data_dir=tmp_path, query_concurrency=1), module="endless_parser")

    with pytest.raises(TimedOut), queries.checking(ANN, never) as check:
        check("SELECT 1")
    queries.close()


@pytest.mark.parametrize("layer", ["blueprints", "web", "alerting", "schemas"])
def test_no_web_worker_parses_sql(layer: str) -> None:
    imported = {
        node.module
        for path in (ROOT / layer).rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.ImportFrom)
    }

    assert imported.isdisjoint(PARSERS)
