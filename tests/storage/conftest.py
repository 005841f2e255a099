"""Fixtures of the storage tests."""

import itertools
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.buckets import Server
from tests.storage.workbench import Bench

_numbers = itertools.count(1)


@pytest.fixture
def bench(tmp_path: Path, database: None) -> Iterator[Bench]:
    """A storage with one empty dataset."""
    made = Bench(tmp_path)
    yield made
    made.storage.close()


@pytest.fixture(scope="session")
def server() -> Iterator[Server]:
    """An S3 service."""
    pytest.importorskip("moto")
    made = Server()
    made.start()
    yield made
    made.stop()


@pytest.fixture
def bucket(server: Server, monkeypatch: pytest.MonkeyPatch) -> str:
    """The URL of an empty prefix, which this process may use."""
    for name, value in server.environment.items():
        monkeypatch.setenv(name, value)
    return f"s3://bucket/prefix-{next(_numbers)}"
