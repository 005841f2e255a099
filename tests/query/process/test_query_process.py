"""What query processes are started with."""

import socket
from collections.abc import Iterator
from contextlib import ExitStack, closing
from pathlib import Path

import pytest

from processes.fork_server import Request
from query.process.messages import Execute, Parse
from query.process.query_process import QueryProcess, server_of
from query.results.options import Options

MODULE = "tests.processes.odd_children"
EXECUTION = "query.process.execution"


@pytest.fixture
def pair() -> Iterator[list[QueryProcess]]:
    """Two processes of one fork server."""
    with ExitStack() as stack:
        server = stack.enter_context(closing(server_of(EXECUTION, 2)))
        processes = [QueryProcess(server, EXECUTION) for _ in range(2)]
        for process in processes:
            stack.callback(process.close)
            stack.callback(process.kill)
            process.wait_until_ready()
        yield processes


def answer_of(process: QueryProcess, sql: str) -> bytes:
    process.send(Parse(sql))
    process.receive()
    process.send(Execute({}, 0, Options(), "identity", 1_000))
    found = process.receive()
    assert isinstance(found, bytes)
    process.receive()
    return found


def test_random_numbers_differ_from_process_to_process(pair: list[QueryProcess]) -> None:
    drawn = {answer_of(process, "SELECT random() AS r") for process in pair for _ in range(2)}

    assert len(drawn) == 4


def test_a_seed_gives_the_same_numbers_in_every_process(pair: list[QueryProcess]) -> None:
    drawn = {answer_of(process, "SELECT setseed(0.5), random() AS r") for process in pair}

    assert len(drawn) == 1


def test_a_query_writes_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody would remove it. Polars takes the host for a small one here, which has it write files."""
    monkeypatch.setenv("POLARS_OVERRIDE_TOTAL_MEMORY_MB", "100")
    monkeypatch.setenv("POLARS_OOC_SPILL_DIR", str(tmp_path))
    server = server_of(MODULE, 2)
    ours, theirs = socket.socketpair()

    with theirs:
        child = server.fork(Request(MODULE, ("sort", "5000000"), "odd"), theirs.fileno(), 2)
    answer = ours.recv(100)

    assert answer == b"5000000"
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []
    child.close()
    server.close()
