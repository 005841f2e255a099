"""What each kind of process loads: a library that it never uses is memory of every one of them
(docs/decisions/query-processes.md, "Memory")."""

import subprocess
import sys

import pytest

from tests.running import ROOT, clean_environment

DATABASE = {"peewee", "playhouse", "psycopg", "psycopg_binary", "psycopg2", "models.base"}
HTTP = {"flask", "werkzeug", "jinja2", "gunicorn", "gevent"}
SQL = {"sqlglot"}
LOADING = "import sys, {}; {}print(*sorted(sys.modules))"


def loaded(module: str, then: str = "") -> set[str]:
    """All modules of a fresh interpreter that has imported this one, and has run the statement."""
    answer = subprocess.run(
        [sys.executable, "-c", LOADING.format(module, then)],
        cwd=ROOT,
        env=clean_environment(),
        capture_output=True,
        text=True,
        check=True,
    )
    return set(answer.stdout.split())


def test_query_process_loads_neither_database_nor_http():
    found = loaded("query.process.worker, query.process.execution", "query.process.execution.handler(); ")

    assert "sqlglot" in found
    assert found & (DATABASE | HTTP) == set()


def test_tail_process_loads_neither_database_nor_http():
    found = loaded("query.process.worker, query.tail.process")

    assert "polars" in found
    assert found & (DATABASE | HTTP) == set()


@pytest.mark.parametrize(
    ("module", "unused"),
    [("app", SQL | {"numpy", "promql_parser"}), ("alerting.process", SQL | HTTP | {"numpy", "promql_parser"})],
    ids=["worker", "alerting"],
)
def test_who_only_asks_loads_nothing_that_answers(module: str, unused: set[str]):
    """Statements and expressions are parsed and run in query processes alone."""
    found = loaded(module)

    assert "query.service" in found
    assert found & unused == set()


def test_maintenance_loads_neither_sql_nor_http():
    found = loaded("storage.upkeep.maintenance")

    assert "storage.upkeep.compaction" in found
    assert found & (SQL | HTTP | {"promql_parser"}) == set()
