"""What every test may use: a real PostgreSQL, one for the run, and a fresh database in it for each test."""

import itertools
from collections.abc import Iterator

import psycopg
import pytest

from models import base, server

_numbers = itertools.count(1)


@pytest.fixture(scope="session")
def postgres(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The URL of a PostgreSQL server, started from the wheel as a user's would be."""
    data_dir = tmp_path_factory.mktemp("postgres")
    yield server.ensure_running(data_dir)
    server.stop(data_dir)


@pytest.fixture
def database_url(postgres: str) -> Iterator[str]:
    """The URL of a fresh, empty database."""
    name = f"test_{next(_numbers)}"
    with psycopg.connect(postgres, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}")
    yield postgres.replace("/postgres?", f"/{name}?")
    with psycopg.connect(postgres, autocommit=True) as connection:
        connection.execute(f"DROP DATABASE {name} WITH (FORCE)")


@pytest.fixture
def database(database_url: str) -> Iterator[None]:
    """The models bound to a fresh, migrated database, with a connection open."""
    base.bind(database_url)
    base.migrate()
    with base.connection():
        yield
    base.database.close_all()
