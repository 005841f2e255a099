"""What every test may use: a real PostgreSQL, one for each test process, and in it a migrated database without rows."""

import itertools
import os
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from functools import cache
from pathlib import Path

import psycopg
import pytest
from hypothesis import HealthCheck, settings

from embedded_postgres import server
from models import base
from models.write_behind import WriteBehind
from tests import running
from tests.running import ADMIN, Service

# No verdict depends on how fast the machine is. A gate tries the same cases each time; at home they are drawn anew.
settings.register_profile(
    "weir", deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize="SAME_CASES" in os.environ
)
settings.load_profile("weir")

# A gRPC client would run handlers of its own in every service that its process forks, and some crash there.
os.environ.setdefault("GRPC_ENABLE_FORK_SUPPORT", "false")

TESTS = Path(__file__).parent
# By top folder. The tests of the other folders that need a running service have the mark by the fixtures they use, or
# say so in their module when they start one themselves.
MARKS_OF_FOLDERS = {"clients": ("clients", "service"), "oracle": ("oracle",), "service": ("service",)}
SERVICE_FIXTURES = {"service", "start_service", "tight"}
# Values of WEIR_HTTP_STACK. Modules with the mark `each_stack` have their tests run on both: the contract is the same.
HTTP_STACKS = ["fast", pytest.param("stock", marks=pytest.mark.stock)]

# Creates a database without tables for the time of a block: `with new_database() as url:`.
NewDatabase = Callable[[], AbstractContextManager[str]]

_numbers = itertools.count(1)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Ask for the shared service of each stack in turn."""
    if "service" in metafunc.fixturenames and metafunc.definition.get_closest_marker("each_stack"):
        metafunc.parametrize("service", HTTP_STACKS, indirect=True, scope="session")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Set the marks by which a part of the suite is chosen."""
    for item in items:
        folder = item.path.relative_to(TESTS).parts[0] if item.path.is_relative_to(TESTS) else ""
        for mark in MARKS_OF_FOLDERS.get(folder, ()):
            item.add_marker(mark)
        if SERVICE_FIXTURES.intersection(getattr(item, "fixturenames", ())):
            item.add_marker("service")


def pytest_runtest_setup(item: pytest.Item) -> None:
    """`make quick` needs no service, and stays so."""
    running.service_allowed = item.get_closest_marker("service") is not None


@pytest.fixture(scope="session")
def postgres(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The URL of a PostgreSQL server, started from the wheel as a user's would be."""
    data_dir = tmp_path_factory.mktemp("postgres")
    yield server.ensure_running(data_dir)
    server.stop(data_dir)


@pytest.fixture(scope="session")
def new_database(postgres: str) -> NewDatabase:
    """For tests that migrate, restore or start services."""

    @contextmanager
    def new_database() -> Iterator[str]:
        name = f"test_{next(_numbers)}"
        with psycopg.connect(postgres, autocommit=True) as connection:
            connection.execute(f"CREATE DATABASE {name}")
        yield postgres.replace("/postgres?", f"/{name}?")
        with psycopg.connect(postgres, autocommit=True) as connection:
            connection.execute(f"DROP DATABASE {name} WITH (FORCE)")

    return new_database


@pytest.fixture(scope="session")
def migrated_database(new_database: NewDatabase) -> Iterator[str]:
    """The one database of this process: to create and to drop one for each test would take most of their time."""
    with new_database() as url:
        with psycopg.connect(url, autocommit=True) as connection:
            # No test crashes this PostgreSQL, so none needs to wait for its disk.
            connection.execute(f"ALTER DATABASE {connection.info.dbname} SET synchronous_commit = off")
        base.bind(url)
        base.migrate()
        base.database.close_all()
        yield url


@pytest.fixture
def database_url(migrated_database: str) -> str:
    """The URL of a database as migrations leave it: nothing in it but the default tenant."""
    with psycopg.connect(migrated_database) as connection:
        _empty(connection)
    return migrated_database


def _empty(connection: psycopg.Connection) -> None:
    # A process that the test before has killed may have a lock for another moment.
    connection.execute(
        "SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity"
        " WHERE datname = current_database() AND pid <> pg_backend_pid()"
    )
    tables = connection.execute(
        "SELECT string_agg(format('DELETE FROM %I', tablename), ';') FROM pg_tables"
        " WHERE schemaname = 'public' AND tablename NOT IN ('migration', 'generation')"
    ).fetchone()
    # Without looking after references, as everything goes; faster than TRUNCATE, which makes files.
    connection.execute("SET LOCAL session_replication_role = replica")
    connection.execute(tables[0])
    connection.execute("UPDATE generation SET value = 0")
    connection.execute("INSERT INTO tenant (id) VALUES ('default')")


@pytest.fixture
def database(database_url: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The models bound to that database, with a connection open."""
    # Its thread outlives the test, and would use a connection of a later one while that is closed.
    monkeypatch.setattr(WriteBehind, "begin", lambda self: None)
    base.bind(database_url)
    with base.connection():
        yield
    base.database.close_all()


@pytest.fixture(scope="session")
def services(new_database: NewDatabase, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[str], Service]]:
    """A function that returns the shared service of a stack, started when it is first asked for."""
    with ExitStack() as stack:

        @cache
        def start(http_stack: str) -> Service:
            url = stack.enter_context(new_database())
            environment = service_environment(url) | {"WEIR_HTTP_STACK": http_stack}
            running = Service(tmp_path_factory.mktemp(http_stack), environment=environment).start()
            stack.callback(running.stop)
            return running

        yield start


@pytest.fixture(scope="session")
def service(request: pytest.FixtureRequest, services: Callable[[str], Service]) -> Service:
    """A service of two workers, which tests share: use names of datasets, keys and roles of your own."""
    return services(getattr(request, "param", "fast"))


@pytest.fixture
def start_service(new_database: NewDatabase, tmp_path: Path) -> Iterator[Callable[..., Service]]:
    """A function that starts a service of the test's own: `start_service(workers=3, WEIR_MAX_BODY_BYTES="10")`."""
    with ExitStack() as stack:

        def start(workers: int = 2, **environment: str) -> Service:
            url = stack.enter_context(new_database())
            data_dir = tmp_path / f"service-{next(_numbers)}"
            data_dir.mkdir()
            running = Service(data_dir, service_environment(url) | environment, workers).start()
            stack.callback(running.stop)
            return running

        yield start


def service_environment(database_url: str) -> dict[str, str]:
    return {
        "WEIR_DATABASE_URL": database_url,
        "WEIR_ADMIN_USERNAME": ADMIN[0],
        "WEIR_ADMIN_PASSWORD": ADMIN[1],
        # Not by the machine's cores: what a query needs grows with its threads.
        "WEIR_QUERY_CONCURRENCY": "2",
        "WEIR_QUERY_THREADS": "2",
        # Services run side by side; tests of this door choose a port.
        "WEIR_PG_BIND": "",
    }
