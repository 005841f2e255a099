"""Published tables, and outside readers of them."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from models import lake
from storage.lake.publication import publish_all
from tests.storage.workbench import Bench

GRACE_SECONDS = 360.0
Publish = Callable[[], dict[str, Any]]


@pytest.fixture
def publish(bench: Bench) -> Publish:
    """Publishes what has changed and gives the table's metadata."""

    def published() -> dict[str, Any]:
        publish_all(bench.layout, GRACE_SECONDS)
        table = lake.find(bench.app.id)
        assert table is not None
        return dict(json.loads(table.metadata))

    return published
