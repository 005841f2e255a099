"""The master imports what its workers need, and its workers are as if each had done so by itself."""

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.running import ROOT, Service, clean_environment, wait_until

StartService = Callable[..., Service]

BOUND_NAMES = Path(__file__).parent / "bound_names.py"


def bound_by(who: str) -> dict[str, list[str]]:
    """What every name of every module is bound to. A warning of gevent's fails the test."""
    ran = subprocess.run(
        [sys.executable, "-W", "error::RuntimeWarning", BOUND_NAMES, who],
        env=clean_environment() | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert ran.stderr == ""
    found: dict[str, list[str]] = json.loads(ran.stdout)
    return found


def shared_kib(pid: int) -> int:
    """Of its own memory (no file's) what it shares with others, after proc(5), smaps_rollup."""
    found = re.search(r"^Shared_Dirty:\s+(\d+)", Path(f"/proc/{pid}/smaps_rollup").read_text(), re.MULTILINE)
    assert found
    return int(found[1])


def test_names_are_bound_to_what_a_worker_alone_would_have() -> None:
    """A lock, a thread-local or a sleep that is not gevent's would stop the whole worker."""
    by_worker, by_master = bound_by("worker"), bound_by("master")

    assert "psycopg.waiting.wait" in by_master
    assert by_master.keys() == by_worker.keys()
    assert {name: (by_master[name], by_worker[name]) for name in by_master if by_master[name] != by_worker[name]} == {}


def test_workers_share_what_the_master_has_imported(start_service: StartService) -> None:
    service = start_service()

    assert service.worker_pids()
    assert all(shared_kib(pid) > 30_000 for pid in service.worker_pids())


def test_master_replaces_a_worker_that_was_killed(start_service: StartService) -> None:
    """It hears of it: SIGCHLD is still its own."""
    service = start_service()
    before = service.worker_pids()

    os.kill(before[0], signal.SIGKILL)

    wait_until(lambda: before[0] not in service.worker_pids() and len(service.worker_pids()) == len(before))
    service.wait_until_ready()
    service.ingest("app", [{"n": 1}]).raise_for_status()
    assert service.query("SELECT n FROM app") == [{"n": 1}]


@pytest.mark.parametrize("stack", ["stock", "fast"])
def test_nothing_is_said_about_patching(start_service: StartService, stack: str) -> None:
    """Also by gevent's hooks, when a worker starts the host's other processes."""
    service = start_service(WEIR_HTTP_STACK=stack)
    wait_until(lambda: all(f"started {each}" in service.log.read_text() for each in ("maintenance", "alerting")))

    assert re.findall("Warning|CRITICAL|Error", service.log.read_text()) == []
