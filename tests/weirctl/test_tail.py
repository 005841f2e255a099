"""`weirctl tail` against a running service: lines into a pipe while it runs, and a service that is started anew."""

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from tests.running import ADMIN, ROOT, Service, wait_until
from weirctl.tail import line_of


@contextmanager
def tailing(service: Service, *arguments: str) -> Iterator[tuple[list[str], list[str], "subprocess.Popen[str]"]]:
    """The lines of standard output and of standard error as they come, and the process."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("WEIR")}
    process = subprocess.Popen(
        [sys.executable, "-m", "weirctl", "tail", *arguments],
        env=kept | {"WEIRCTL_URL": service.url, "WEIRCTL_USER": ":".join(ADMIN), "PYTHONUNBUFFERED": "1"},
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    lines: tuple[list[str], list[str]] = [], []
    for stream, found in zip((process.stdout, process.stderr), lines, strict=True):
        threading.Thread(target=_collect, args=(stream, found), daemon=True).start()
    try:
        yield *lines, process
    finally:
        process.kill()
        process.wait()


def _collect(stream: Any, found: list[str]) -> None:
    for line in stream:
        found.append(line.rstrip("\n"))


def test_rows_come_as_lines_that_people_read(service: Service) -> None:
    service.ingest("cli_tail", [{"level": "error", "message": "one\x1b[31m", "port": 80}])
    with tailing(service, "cli_tail", "--from", "1m") as (lines, _, _):
        wait_until(lambda: len(lines) == 1)
        service.ingest("cli_tail", [{"level": "info", "message": "two"}])
        wait_until(lambda: len(lines) == 2)

    assert lines[0].endswith(" ERROR one\N{REPLACEMENT CHARACTER}[31m port=80")
    assert lines[1].endswith(" INFO  two")


def test_json_is_what_the_service_sent_and_ctrl_c_ends_it(service: Service) -> None:
    service.ingest("cli_tail_json", [{"n": 1}])
    sql = "SELECT n FROM cli_tail_json WHERE n > 0"
    with tailing(service, sql, "--from", "1m", "--json") as (lines, _, process):
        wait_until(lambda: len(lines) == 1)
        process.send_signal(signal.SIGINT)

        assert process.wait(20) == 130
    assert [json.loads(line) for line in lines] == [{"n": 1}]


def test_a_statement_that_cannot_be_followed_is_refused_with_the_servers_words(service: Service) -> None:
    service.ingest("cli_tail_json", [{"n": 1}])
    with tailing(service, "SELECT count(*) FROM cli_tail_json") as (_, errors, process):
        assert process.wait(30) == 1
        wait_until(lambda: bool(errors))

    assert "aggregate" in errors[0]


@pytest.mark.service
def test_it_goes_on_after_the_service_was_started_anew(start_service: Callable[..., Service]) -> None:
    service = start_service(workers=1)
    service.ingest("app", [{"n": 1}])
    with tailing(service, "app", "--json", "--from", "1m") as (lines, _errors, _):
        wait_until(lambda: len(lines) == 1)
        service.stop()
        service.start()
        service.ingest("app", [{"n": 2}])
        wait_until(lambda: len(lines) == 2)

    assert [json.loads(line)["n"] for line in lines] == [1, 2]


def test_a_row_without_level_or_message_is_all_members() -> None:
    row = {"p_timestamp": "2026-01-31T10:00:00Z", "p_src_ip": "127.0.0.1", "n": 1, "tags": ["a"], "gone": None}

    assert line_of(row) == '2026-01-31T10:00:00Z n=1 tags=["a"]'
