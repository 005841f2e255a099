"""What query processes are started with."""

import socket
from pathlib import Path

import pytest

from processes.fork_server import Request
from query.process.query_process import server_of

MODULE = "tests.processes.odd_children"


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
