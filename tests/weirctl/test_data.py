"""`weirctl check` and `repair` over a data directory that a real service has written."""

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.running import Service
from tests.weirctl.test_commands import rows, weirctl


@pytest.fixture
def stopped(start_service: Callable[..., Service]) -> Service:
    """A service that was stopped after all of its three events had become Parquet."""
    service = start_service(workers=1, WEIR_FLUSH_SECONDS="0.2")
    service.ingest("app", [{"n": 1}, {"n": 2}, {"n": 3}]).raise_for_status()
    deadline = time.monotonic() + 60
    while not list(service.data_dir.glob("default/app/**/*.parquet")):
        assert time.monotonic() < deadline
        time.sleep(0.1)
    service.stop()
    return service


def on(service: Service, *arguments: str) -> Any:
    return weirctl(None, *arguments, **service.environment, WEIR_DATA_DIR=str(service.data_dir))


def test_check_and_repair_find_what_is_wrong_and_nothing_else(stopped: Service):
    (parquet,) = stopped.data_dir.glob("default/app/**/*.parquet")
    assert rows(on(stopped, "check")) == []

    orphan = parquet.with_name("01ARZ3NDEKTSV4RRFFQ69G5FAV.parquet")
    orphan.write_bytes(b"PAR1")
    found = on(stopped, "check")
    assert [each["trouble"] for each in rows(found)] == ["orphan"]
    repaired = on(stopped, "repair")
    assert repaired.returncode == 0, repaired.stderr
    assert not orphan.exists()
    assert parquet.exists()

    os.truncate(parquet, parquet.stat().st_size - 1)
    damaged = on(stopped, "check")
    assert damaged.returncode == 1
    assert '"trouble": "damaged"' in damaged.stdout
    assert on(stopped, "repair").returncode == 1
    assert on(stopped, "repair", "--give-up-lost").returncode == 0
    assert on(stopped, "check").returncode == 0


def test_repair_refuses_while_a_server_runs(service: Service):
    done = on(service, "repair")

    assert done.returncode == 1
    assert "stop it first" in done.stderr


def test_check_needs_a_data_directory(tmp_path: Path):
    done = weirctl(None, "check", WEIR_DATA_DIR=str(tmp_path / "nowhere"))

    assert done.returncode == 1
    assert "WEIR_DATA_DIR" in done.stderr
