"""The layering tables of docs/architecture.md, over every import of the product, two levels deep."""

import ast
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
EVERYWHERE = {"columns", "metric_columns", "errors", "config", "logs", "version"}
MAY_IMPORT = {
    "app": {
        "pgwire",
        "preflight",
        "alerting",
        "auth",
        "blueprints",
        "embedded_postgres",
        "metrics",
        "models",
        "observing",
        "openapi",
        "processes",
        "query",
    }
    | {"runtime", "serving", "storage", "web", "flask", "werkzeug"},
    # Of web only the rule for names of datasets, which imports nothing.
    "bootstrap": {"auth", "embedded_postgres", "models", "pgwire", "processes", "storage", "web"},
    # A module per endpoint group: routes and what they answer, nothing that two of them share.
    "blueprints": {
        "alerting",
        "auth",
        "ingest",
        "metrics",
        "models",
        "openapi",
        "promql",
        "query",
        "runtime",
        "schemas",
        "serving",
    }
    | {"storage", "web", "flask", "orjson", "ulid"},
    # What endpoint groups share of HTTP: who asks, bodies, errors, the way of events in.
    # Its container of services names the parts of every layer.
    "web": {
        "alerting",
        "auth",
        "ingest",
        "metrics",
        "models",
        "observing",
        "openapi",
        "promql",
        "query",
        "runtime",
        "serving",
    }
    | {"storage", "cramjam", "flask", "flask_httpauth", "isal", "orjson", "polars", "werkzeug"},
    # Another way to the same queries, beside the blueprints: sessions of PostgreSQL's protocol instead of requests. It
    # shares with them what a caller may read and the container of services (web), and no HTTP. Its catalogue is a
    # PostgreSQL of its own, asked as administrator by psycopg and as a reader in raw messages.
    "pgwire": {"auth", "embedded_postgres", "models", "preflight", "processes", "query", "storage", "web"}
    | {"cryptography", "pgparse", "psycopg"},
    # Evaluates alerts and delivers notices in a process of its own, apart from every request: it asks as their
    # authors (auth), by the query processes (query) over snapshots (storage), and knows no HTTP but the client's.
    # Each kind of target says what its body looks like, beside how it is told: schemas.
    "alerting": {"auth", "embedded_postgres", "models", "processes", "query", "schemas", "storage"}
    | {"certifi", "marshmallow", "orjson", "ulid"},
    "auth": {"models", "argon2", "cryptography", "joserfc", "requests", "ulid"},
    # The positions of live tails are sealed: they would tell how much others store.
    "query": {"processes", "promql", "storage"}
    | {"cramjam", "cryptography", "isal", "numpy", "orjson", "polars", "sqlglot"},
    # A language of its own: text to tree, and the tree over arrays of series and steps. It knows no storage and no
    # query process, so that Prometheus' own tests of the language can judge it alone.
    "promql": {"numpy", "polars", "promql_parser"},
    "storage": {
        "embedded_postgres",
        "models",
        "processes",
        "fastavro",
        "isal",
        "nanoarrow",
        "numpy",
        "obstore",
        "polars",
        "ulid",
    },
    # A door of its own, in a process of its own, which takes what web/ has for every door but HTTP.
    "otlp_grpc": {"auth", "embedded_postgres", "ingest", "metrics", "models", "processes", "serving", "storage", "web"}
    | {"grpc", "grpc_health"},
    "ingest": {"google", "msgpack", "opentelemetry", "orjson", "polars"},
    "models": {"processes", "peewee", "playhouse", "psycopg", "ulid"},
    "embedded_postgres": {"processes", "psycopg"},
    "schemas": {"marshmallow"},
    "runtime": {"gevent"},
    "processes": {"gevent"},
    "wsgi": {"app", "serving", "gevent"},
    # Every patch of Flask, gunicorn and prometheus_client, and nothing else.
    "serving": {
        "auth",
        "metrics",
        "processes",
        "flask",
        "gevent",
        "gunicorn",
        "orjson",
        "prometheus_client",
        "werkzeug",
    },
    # Numbers and labels; below everything that counts, so that nobody has to know who reads them.
    "metrics": {"serving", "prometheus_client"},
    # Makes rows of log lines and numbers; the application says where they go.
    "observing": {"metrics", "processes", "orjson", "polars"},
    # A client of the HTTP contract like any other, but for the commands that look after a data directory, of which
    # the backup asks the other hosts too (auth).
    "weirctl": {"auth", "models", "storage", "click", "requests", "rich"},
    # Reads the URL map and the schemas, of targets those of their kinds (alerting); only a blueprint asks for it.
    "openapi": {"alerting", "apispec", "flask", "marshmallow", "schemas", "werkzeug"},
    "columns": {"polars"},
    "metric_columns": set(),
    "config": set(),
    "preflight": set(),
    "logs": set(),
    "errors": set(),
    "version": set(),
}
# Rooms in the order of their floors: a room imports from rooms above it in this list, never the other way round.
ROOMS = {
    "query": "parameters fault advice limits timerange histogram pg syntax plan expr functions bind lower".split()
    + "reference engine spark results metrics process question metric_queries tail service".split(),
    "storage": "names times exactly durable_files wal context files write cluster read lake upkeep backup".split(),
}
# What only these rooms may import of the libraries that their package may.
LIBRARY_ROOMS = {
    "promql_parser": {"promql.parse"},
    "sqlglot": {"query.syntax", "query.bind"},
    "peewee": {"models"},
    "cryptography": {"auth", "pgwire", "query.tail"},
    "gunicorn": {"serving.gunicorn_worker"},
}
LONGEST_IMPORT_CHAIN = 18  # the pipeline stores requests of several datasets by modules of its own
FILES = sorted(path for unit in MAY_IMPORT for path in [*ROOT.glob(f"{unit}.py"), *ROOT.glob(f"{unit}/**/*.py")])


def _module(path: Path) -> str:
    return ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


MODULES = {_module(path): path for path in FILES}


@cache
def _imported(path: Path) -> frozenset[str]:
    """The modules that a file imports, also under TYPE_CHECKING."""
    return frozenset(_names(ast.parse(path.read_text("utf-8"))))


def _names(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            members = {f"{node.module}.{alias.name}" for alias in node.names}
            yield from members & MODULES.keys() or {node.module}
            if not members <= MODULES.keys():
                yield node.module


def _room(module: str) -> str:
    return ".".join(module.split(".")[:2])


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_module_imports_only_what_its_layer_may(path: Path):
    unit = path.relative_to(ROOT).parts[0].removesuffix(".py")
    allowed = MAY_IMPORT[unit] | EVERYWHERE | {unit} | set(sys.stdlib_module_names)

    assert {name.split(".")[0] for name in _imported(path)} <= allowed


@pytest.mark.parametrize("package", ROOMS)
def test_rooms_import_only_rooms_of_lower_floors(package: str):
    floors = {f"{package}.{room}": floor for floor, room in enumerate(ROOMS[package])}
    climbs = {
        (module, name)
        for module, path in MODULES.items()
        if module.startswith(f"{package}.")
        for name in _imported(path)
        if name.startswith(f"{package}.") and _room(name) != _room(module)
        if floors[_room(name)] >= floors[_room(module)]
    }

    assert climbs == set()


@pytest.mark.parametrize("library", LIBRARY_ROOMS)
def test_library_stays_in_its_rooms(library: str):
    users = {module for module, path in MODULES.items() if any(n.split(".")[0] == library for n in _imported(path))}
    strangers = {module for module in users if not {module.split(".")[0], _room(module)} & LIBRARY_ROOMS[library]}

    assert strangers == set()


def _chain(module: str, above: tuple[str, ...]) -> tuple[str, ...]:
    """The longest chain of imports from the module down. Fails on a ring of files."""
    assert module not in above, f"a ring: {' > '.join((*above, module))}"
    return (module, *_longest(module, (*above, module)))


_known: dict[str, tuple[str, ...]] = {}


def _longest(module: str, above: tuple[str, ...]) -> tuple[str, ...]:
    if module not in _known:
        # The package of function families imports them all; that is no floor of its own.
        below = [
            name for name in _imported(MODULES[module]) & MODULES.keys() if name not in (module, "query.functions")
        ]
        _known[module] = max((_chain(name, above) for name in below), key=len, default=())
    return _known[module]


def test_files_form_no_ring_and_no_endless_chain():
    longest = max((_chain(module, ()) for module in MODULES if module != "query.functions"), key=len)

    assert len(longest) <= LONGEST_IMPORT_CHAIN, " > ".join(longest)


def test_every_source_file_of_the_top_level_belongs_to_a_layer():
    known = {*MAY_IMPORT, "tests", "bench", "gunicorn.conf"}

    assert {path.stem for path in ROOT.glob("*.py")} <= known


def test_only_models_runs_sql_on_the_catalogue():
    offenders = [
        str(path.relative_to(ROOT))
        for path in FILES
        if path.relative_to(ROOT).parts[0] != "models" and "execute_sql(" in path.read_text("utf-8")
    ]

    assert offenders == []


def test_values_know_no_table():
    """A query process gets them and loads no database client (docs/decisions/query-processes.md)."""
    strangers = {
        (module, name)
        for module, path in MODULES.items()
        if module.startswith("models.values")
        for name in _imported(path)
        if name.split(".")[0] not in {*EVERYWHERE, *sys.stdlib_module_names} and not name.startswith("models.values")
    }

    assert strangers == set()


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
