"""Fixtures of the storage tests."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.storage.workbench import Bench


@pytest.fixture
def bench(tmp_path: Path, database: None) -> Iterator[Bench]:
    """A storage with one empty dataset."""
    made = Bench(tmp_path)
    yield made
    made.storage.close()
