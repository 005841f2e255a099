"""The layering table of docs/architecture.md, over every import of the product."""

import ast
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
EVERYWHERE = {"columns", "errors", "config", "logs", "version"}
MAY_IMPORT = {
    "app": {
        "alerting",
        "metrics",
        "observing",
        "blueprints",
        "auth",
        "schemas",
        "ingest",
        "query",
        "storage",
        "models",
        "runtime",
        "flask",
        "werkzeug",
    },
    "bootstrap": {"auth", "models", "storage"},
    "blueprints": {"auth", "schemas", "ingest", "query", "storage", "models", "runtime", "flask", "flask_httpauth"}
    | {
        "alerting",
        "metrics",
        "openapi",
        "werkzeug",
        "orjson",
        "polars",
        "ulid",
        "cramjam",
        "isal",
        "msgpack",
        "google",
        "opentelemetry",
        "requests",
    },
    # Evaluates alerts and delivers notices in a process of its own, apart from every request: it asks as their
    # authors (auth), by the query processes (query) over snapshots (storage), and knows no HTTP but the client's.
    "alerting": {"auth", "query", "storage", "models", "certifi", "orjson", "ulid"},
    "auth": {"models", "argon2", "cryptography", "joserfc", "requests", "ulid"},
    "query": {"storage", "sqlglot", "polars", "orjson", "cramjam"},
    "storage": {"models", "polars", "ulid", "obstore", "isal"},
    "ingest": {"polars", "google", "opentelemetry", "snappy", "cramjam", "orjson", "msgpack"},
    "models": {"peewee", "playhouse", "psycopg", "ulid"},
    "schemas": {"marshmallow"},
    "runtime": {"gevent"},
    "wsgi": {"gevent", "app", "metrics"},
    "serving": {"gevent", "gunicorn"},
    # Numbers and labels; below everything that counts, so that nobody has to know who reads them.
    "metrics": {"prometheus_client"},
    # Makes rows of log lines and numbers; the application says where they go.
    "observing": {"metrics", "orjson", "polars"},
    # A client of the HTTP contract like any other, but for the commands that look after a data directory, of which
    # the backup asks the other hosts too (auth).
    "weirctl": {"auth", "click", "models", "requests", "rich", "storage"},
    # Reads the URL map and the schemas; only a blueprint asks for it.
    "openapi": {"apispec", "flask", "marshmallow", "schemas", "werkzeug"},
    "columns": {"polars"},
    "config": set(),
    "logs": set(),
    "errors": set(),
    "version": set(),
}
FILES = sorted(path for unit in MAY_IMPORT for path in [*ROOT.glob(f"{unit}.py"), *ROOT.glob(f"{unit}/**/*.py")])


def _imported(path: Path) -> set[str]:
    tree = ast.parse(path.read_text("utf-8"))
    modules = [alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names]
    modules += [node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    return {name.split(".")[0] for name in modules}


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_module_imports_only_what_its_layer_may(path: Path):
    unit = path.relative_to(ROOT).parts[0].removesuffix(".py")
    allowed = MAY_IMPORT[unit] | EVERYWHERE | {unit} | set(sys.stdlib_module_names)

    assert _imported(path) <= allowed


def test_every_source_file_of_the_top_level_belongs_to_a_layer():
    known = {*MAY_IMPORT, "tests", "bench", "gunicorn.conf"}

    assert {path.stem for path in ROOT.glob("*.py")} <= known


def test_no_module_imports_inside_a_function():
    """Style 25: an import inside a function hides a cycle, and a cycle means a wrong border."""
    offenders = [
        f"{path.relative_to(ROOT)}:{node.lineno}"
        for path in FILES
        for function in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef)
        for node in ast.walk(function)
        if isinstance(node, ast.Import | ast.ImportFrom)
    ]

    assert offenders == []
