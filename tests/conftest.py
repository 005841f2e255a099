"""What every test may use: a real PostgreSQL, one for the run, and a fresh database in it for each test."""

import itertools
import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import psycopg
import pytest
from hypothesis import HealthCheck, settings

from embedded_postgres import server
from models import base
from tests.running import ADMIN, Service

# No verdict depends on how fast the machine is. A gate tries the same cases each time; at home they are drawn anew.
settings.register_profile(
    "weir", deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize="SAME_CASES" in os.environ
)
settings.load_profile("weir")

_numbers = itertools.count(1)


@pytest.fixture(scope="session")
def postgres(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The URL of a PostgreSQL server, started from the wheel as a user's would be."""
    data_dir = tmp_path_factory.mktemp("postgres")
    yield server.ensure_running(data_dir)
    server.stop(data_dir)


@contextmanager
def _new_database(postgres: str) -> Iterator[str]:
    name = f"test_{next(_numbers)}"
    with psycopg.connect(postgres, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}")
    yield postgres.replace("/postgres?", f"/{name}?")
    with psycopg.connect(postgres, autocommit=True) as connection:
        connection.execute(f"DROP DATABASE {name} WITH (FORCE)")


@pytest.fixture
def database_url(postgres: str) -> Iterator[str]:
    """The URL of a fresh, empty database."""
    with _new_database(postgres) as url:
        yield url


@pytest.fixture
def database(database_url: str) -> Iterator[None]:
    """The models bound to a fresh, migrated database, with a connection open."""
    base.bind(database_url)
    base.migrate()
    with base.connection():
        yield
    base.database.close_all()


@pytest.fixture(scope="session")
def service(postgres: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """A running service of two workers, shared by the run: use names of datasets, keys and roles of your own."""
    with _new_database(postgres) as url:
        running = Service(tmp_path_factory.mktemp("service"), environment=service_environment(url)).start()
        yield running
        running.stop()


@pytest.fixture
def start_service(postgres: str, tmp_path: Path) -> Iterator[Callable[..., Service]]:
    """A function that starts a service of the test's own: `start_service(workers=3, WEIR_MAX_BODY_BYTES="10")`."""
    with ExitStack() as stack:

        def start(workers: int = 2, **environment: str) -> Service:
            url = stack.enter_context(_new_database(postgres))
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
    }
