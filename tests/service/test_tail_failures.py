"""Live tails through what goes wrong: killed workers, rotation, conversion, slow readers, restarts, missing hosts."""

import os
import signal
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psycopg
import pytest
import requests

from query.process import query_process
from tests.running import Service, wait_until
from tests.tails import Tail, ask, follow

StartService = Callable[..., Service]


def numbers(rows: list[Any]) -> list[int]:
    return [row["n"] for row in rows]


class Sender:
    """Sends numbered events, one at a time, and remembers which were acknowledged."""

    def __init__(self, services: list[Service], dataset: str) -> None:
        self.acknowledged: list[int] = []
        self._services, self._dataset = services, dataset
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> "Sender":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()

    def _run(self) -> None:
        number = 0
        while not self._stop.is_set():
            number += 1
            try:
                answer = self._services[number % len(self._services)].ingest(self._dataset, [{"n": number}])
            except requests.RequestException:
                continue
            if answer.status_code == 200:
                self.acknowledged.append(number)


def converted_segments(service: Service) -> int:
    with psycopg.connect(service.environment["WEIR_DATABASE_URL"]) as connection:
        found = connection.execute("SELECT count(*) FROM segment").fetchone()
    return int(found[0]) if found else 0


def worker_of(service: Service, tail: Tail) -> int:
    """The process at the other end of a tail's connection."""
    local = tail.response.raw.connection.sock.getsockname()[1]
    inode = next(
        fields[9]
        for fields in map(str.split, Path("/proc/net/tcp").read_text().splitlines()[1:])
        if fields[1].endswith(f":{service.port:04X}") and fields[2].endswith(f":{local:04X}")
    )
    for pid in children(service):
        for descriptor in Path(f"/proc/{pid}/fd").iterdir():
            if os.readlink(descriptor) == f"socket:[{inode}]":
                return pid
    raise AssertionError("no worker has the connection")


def children(service: Service) -> list[int]:
    assert service.process is not None
    parent = service.process.pid
    return [int(each) for each in Path(f"/proc/{parent}/task/{parent}/children").read_text().split()]


def tail_processes(service: Service) -> list[int]:
    """Those of the query processes that look at the staging directory all the time: they have the busy cell open."""
    found = []
    for pid, command in service.processes().items():
        maps = Path(f"/proc/{pid}/maps")
        if command.startswith(query_process.NAME) and maps.exists() and "weir-tail" in maps.read_text():
            found.append(pid)
    return found


class Reconnecting:
    """A client as EventSource is: whenever the stream is over it connects again, with the last id that it has."""

    def __init__(self, services: list[Service], sql: str, **options: Any) -> None:
        self.rows: list[Any] = []
        self.gaps: list[Any] = []
        self.connections = 0
        self._services, self._sql, self._options = services, sql, options
        self._stop = threading.Event()
        self.last_id: str | None = None
        self.tail: Tail | None = None
        self._seen = 0
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()
        wait_until(lambda: self.tail is not None)

    def __enter__(self) -> "Reconnecting":
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        if self.tail is not None:
            self.tail.close()
        self._thread.join()

    def _run(self) -> None:
        while not self._stop.is_set():
            self.connections += 1
            service = self._services[self.connections % len(self._services)]
            try:
                answer = ask(service, self._sql, self.last_id, **self._options)
            except requests.RequestException:
                time.sleep(0.1)
                continue
            if answer.status_code != 200:
                time.sleep(0.1)
                continue
            self.tail = tail = Tail(answer)
            while not (tail.ended.wait(0.05) or self._stop.is_set()):
                pass
            tail.close()
            self.rows += tail.rows
            self.gaps += tail.named("gap")
            self.last_id = tail.last_id or self.last_id

    @property
    def count(self) -> int:
        tail = self.tail
        return len(self.rows) + (len(tail.rows) if tail is not None and not tail.ended.is_set() else 0)


def test_each_row_once_through_kills_rotation_conversion_and_reconnects(start_service: StartService) -> None:
    """`WEIR_FLUSH_SECONDS=1`: segments are sealed and converted all the time."""
    service = start_service(workers=2, WEIR_FLUSH_SECONDS="1")
    service.ingest("app", [{"n": 0}])
    sql = "SELECT n FROM app WHERE n % 2 = 1"
    with Reconnecting([service], sql) as client, follow(service, sql) as steady, Sender([service], "app") as sender:
        steady_worker = worker_of(service, steady)
        for _ in range(4):
            time.sleep(2)
            assert client.tail is not None
            others = [pid for pid in children(service) if pid != steady_worker]
            # Of the workers the one that the steady tail does not hang on; and once the connection alone.
            if others and client.connections % 2:
                os.kill(others[0], signal.SIGKILL)
            client.tail.close()
        sender.__exit__()
        expected = [number for number in sender.acknowledged if number % 2]
        wait_until(lambda: client.count >= len(expected) and len(steady.rows) >= len(expected), 30)
        time.sleep(1)

        assert converted_segments(service) >= 2
    assert client.connections >= 4
    assert client.gaps == []
    # What a killed worker had written and not acknowledged may be there besides; nothing twice, nothing missing.
    for rows in (client.rows, steady.rows):
        got = numbers(rows)
        assert len(got) == len(set(got))
        assert set(expected) <= set(got)


def test_a_killed_tail_process_is_replaced_and_no_row_is_lost(start_service: StartService) -> None:
    service = start_service(workers=1)
    service.ingest("app", [{"n": 0}])
    with follow(service, "SELECT n FROM app") as tail, Sender([service], "app") as sender:
        wait_until(lambda: len(tail.rows) > 5)
        (process,) = tail_processes(service)
        os.kill(process, signal.SIGKILL)
        wait_until(lambda: tail_processes(service) not in ([], [process]), 30)
        time.sleep(1)
        sender.__exit__()
        wait_until(lambda: len(tail.rows) >= len(sender.acknowledged), 30)
        time.sleep(0.5)

        assert sorted(numbers(tail.rows)) == sender.acknowledged


def test_a_tail_that_needs_too_much_ends_and_the_others_go_on(start_service: StartService) -> None:
    service = start_service(workers=1, WEIR_QUERY_MEMORY_BYTES=str(400 * 1024 * 1024))
    service.ingest("app", [{"n": 0}])
    with (
        follow(service, "SELECT n FROM app") as good,
        follow(service, "SELECT n, length(repeat('abcdefgh', (n * 10000000)::int)) AS l FROM app") as greedy,
    ):
        service.ingest("app", [{"n": 80 + each} for each in range(5)]).raise_for_status()

        assert greedy.ended.wait(60)
        assert greedy.named("end")[0]["code"] in ("query_too_large", "query_timeout", "invalid_sql")
        assert len(good.wait_for(5)) == 5
        service.ingest("app", [{"n": 1}]).raise_for_status()
        assert len(good.wait_for(6)) == 6


def test_a_client_that_does_not_read_holds_no_memory_and_loses_nothing_that_is_kept(
    start_service: StartService,
) -> None:
    service = start_service(workers=1)
    service.ingest("app", [{"n": 0, "text": ""}])
    with follow(service, "SELECT n, text FROM app") as slow, follow(service, "SELECT n FROM app") as quick:
        (worker,) = children(service)
        slow.paused.set()
        before = resident(worker)
        for number in range(30):
            service.ingest("app", [{"n": number, "text": "x" * 1000}] * 1000).raise_for_status()
        assert len(quick.wait_for(30_000, 60)) == 30_000
        grown = resident(worker) - before
        slow.paused.clear()

        assert len(slow.wait_for(30_000, 60)) == 30_000
        assert slow.named("gap") == []
        # Ingestion itself takes some; 30 MB wait for the slow client, on disk.
        assert grown < 60 * 1024 * 1024


def resident(pid: int) -> int:
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return 1024 * int(next(line.split()[1] for line in lines if line.startswith("RssAnon:")))


def test_whoever_falls_far_behind_is_told_and_goes_on_at_the_end(start_service: StartService) -> None:
    """api.md section 8: `gap` tells what was skipped, and why."""
    service = start_service(workers=1)
    service.ingest("app", [{"n": 0, "text": ""}])
    with follow(service, "SELECT n, text FROM app") as slow:
        service.ingest("app", [{"n": 1, "text": "first"}])
        slow.wait_for(1)
        slow.paused.set()
        for _ in range(16):
            service.ingest("app", [{"n": 2, "text": "x" * 5000}] * 1000).raise_for_status()
        time.sleep(1)
        slow.paused.clear()
        wait_until(lambda: bool(slow.named("gap")), 30)
        service.ingest("app", [{"n": 3, "text": "last"}])

        wait_until(lambda: bool(slow.rows) and slow.rows[-1]["n"] == 3, 30)
        gap = slow.named("gap")[0]
        delivered = sum(row["n"] == 2 for row in slow.rows)
        assert gap["reason"] == "slow"
        assert gap["rows"] + delivered == 16_000
        assert gap["bytes"] > 64 * 1024 * 1024
        assert gap["from"] < gap["to"]


def test_vanished_clients_make_room_and_the_65th_tail_of_a_worker_is_refused(start_service: StartService) -> None:
    service = start_service(workers=1)
    service.ingest("app", [{"n": 0}])
    tails = [follow(service, "SELECT n FROM app") for _ in range(64)]

    refused = ask(service, "SELECT n FROM app")
    service.ingest("app", [{"n": 1}])
    counts = [len(each.wait_for(1)) for each in tails[:3] + tails[-3:]]
    for each in tails:
        each.close()

    assert (refused.status_code, refused.json()["code"]) == (429, "too_many_tails")
    assert int(refused.headers["Retry-After"]) >= 1
    assert counts == [1] * 6
    wait_until(lambda: metric(service, "weir_tails_opened_total") == metric(service, "weir_tails_closed_total"), 10)
    with follow(service, "SELECT n FROM app") as tail:
        service.ingest("app", [{"n": 2}])
        assert numbers(tail.wait_for(1)) == [2]


def metric(service: Service, name: str) -> float:
    lines = service.call("GET", "/api/v1/metrics").text.splitlines()
    return float(next(line.split()[-1] for line in lines if line.startswith(name)))


@pytest.mark.parametrize("stack", ["fast", "stock"])
def test_a_stop_ends_tails_at_once_with_a_hint_to_come_again(start_service: StartService, stack: str) -> None:
    service = start_service(workers=2, WEIR_HTTP_STACK=stack)
    service.ingest("app", [{"n": 0}])
    tails = [follow(service, "SELECT n FROM app") for _ in range(6)]
    assert service.process is not None

    service.process.send_signal(signal.SIGTERM)
    begun = time.monotonic()

    assert all(each.ended.wait(10) for each in tails)
    assert time.monotonic() - begun < 5
    assert all(each.named("end")[0]["code"] == "shutting_down" for each in tails)
    assert all(each.named("end")[0]["retryAfterSeconds"] == 1 for each in tails)


def test_a_restarted_service_goes_on_from_positions_of_before(start_service: StartService) -> None:
    service = start_service(workers=2)
    service.ingest("app", [{"n": 0}])
    with follow(service, "SELECT n FROM app") as tail:
        service.ingest("app", [{"n": 1}])
        tail.wait_for(1)
    service.ingest("app", [{"n": 2}])
    service.stop()
    service.start()
    service.ingest("app", [{"n": 3}])

    with follow(service, "SELECT n FROM app", tail.last_id) as again:
        assert sorted(numbers(again.wait_for(2))) == [2, 3]
