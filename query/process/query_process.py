"""One query process as its owner sees it: start, send, receive, measure, kill. Knows nothing of queries."""

import contextlib
import json
import os
import re
import socket
import time
from typing import Final

import logs
from processes.fork_server import Request
from processes.forked import ForkServer, environment
from query.process import protocol
from query.process.protocol import Answer, ConnectionLost, Kind
from query.process.worker import NICENESS

START_SECONDS: Final = 60.0
KIB: Final = 1024
# Lines of /proc/<pid>/status that count: private memory, shared memory, and what of them was swapped out. Mapped
# files do not: the kernel drops their pages when it needs the memory.
CHARGED: Final = re.compile(rb"^(?:RssAnon|RssShmem|VmSwap):\s*(\d+)", re.MULTILINE)
# More than there is in such a file.
STATUS_BYTES: Final = 16 * 1024
# How much nicer than the service a process is that has run one question for long: it takes the processor time that
# ingestion leaves.
LONG_NICENESS: Final = 10
NICEST: Final = 19
NAME: Final = "weir-query"
WORKER: Final = "query.process.worker"
# Polars would write to files what exceeds a share of the host's memory. The thread that removes them is not in a forked
# process. What bounds a query is our own limit of its memory.
FOR_ALL: Final = {
    "POLARS_OOC_MEMORY_BUDGET_FRACTION": "100.0",
    "OPENBLAS_NUM_THREADS": "1",
    "RUST_BACKTRACE": "0",
}
# What else a query process comes to import: with its first array, and when it becomes a tail process.
SHARED: Final = ("numpy.ma", "query.tail.process")


class QueryProcess:
    """A process that runs one request after another, connected by a socket that is its standard input.

    A fork server forks it: a child forked from a process that has used Polars hangs. Raises OSError if there is none.
    """

    def __init__(self, server: ForkServer, module: str) -> None:
        ours, theirs = socket.socketpair()
        request = Request(WORKER, (module, *logs.arguments()), NAME)
        with theirs:
            try:
                self._child = server.fork(request, theirs.fileno(), logs.outlet())
            except OSError:
                ours.close()
                raise
        self.pid = self._child.pid
        self.connection = ours
        self._owes_answer = False
        self._killed = False
        # What the process has told of the request's result so far.
        self.note: Answer = {}
        self.idle_since = 0.0
        self.most_charged = 0
        self.is_back = False

    def wait_until_ready(self) -> None:
        """Raises ConnectionLost if it does not come up."""
        self.connection.settimeout(START_SECONDS)
        protocol.receive(self.connection)
        self.connection.settimeout(None)

    def send(self, request: object) -> None:
        """Start a request; `receive` until its answer. Raises ConnectionLost."""
        self._owes_answer = True
        self.most_charged = 0
        self.note = {}
        protocol.send(self.connection, protocol.request(request))

    def receive(self) -> bytes | Answer:
        """A piece of data, or the answer that ends the request. Raises the request's error, ConnectionLost."""
        kind, payload = protocol.receive(self.connection)
        while kind is Kind.NOTE:
            self.note = _parse_answer(payload)
            kind, payload = protocol.receive(self.connection)
        if kind is Kind.DATA:
            return payload
        self._owes_answer = False
        if kind is Kind.FAULT:
            raise protocol.to_error(payload)
        return _parse_answer(payload)

    def charged_bytes(self) -> int:
        """The memory that this process holds and no other can use."""
        try:
            with open(f"/proc/{self.pid}/status", "rb", buffering=0) as file:
                status = file.read(STATUS_BYTES) or b""
        except OSError:
            return 0
        charged = KIB * sum(map(int, CHARGED.findall(status)))
        self.most_charged = max(self.most_charged, charged)
        return charged

    def step_back(self) -> None:
        """Give way to ingestion, and to shorter questions."""
        self.is_back = True
        self._renice(LONG_NICENESS)

    def step_forward(self) -> bool:
        """Take the place of a small question again. False: the kernel allows that to its administrator only."""
        try:
            if self.is_back:
                self._renice(NICENESS)
        except PermissionError:
            return False
        self.is_back = False
        return True

    def _renice(self, more: int) -> None:
        """Be so much nicer than the service.

        Linux keeps the niceness of each thread apart (setpriority(2), "C library/kernel differences")."""
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            niceness = min(NICEST, os.getpriority(os.PRIO_PROCESS, 0) + more)
            for thread in os.listdir(f"/proc/{self.pid}/task"):
                os.setpriority(os.PRIO_PROCESS, int(thread), niceness)

    def is_alive(self) -> bool:
        return self._child.status() is None

    def is_ready(self) -> bool:
        """Whether it waits for its next request."""
        return not (self._owes_answer or self._killed)

    def kill(self) -> None:
        """SIGKILL; whoever reads from it finds the end of the stream at once. Safe to call again."""
        self._killed = True
        self._child.kill()
        # A process that held gigabytes takes a while to be torn down, and its socket closes last.
        with contextlib.suppress(OSError):
            self.connection.shutdown(socket.SHUT_RDWR)

    def ended_by(self, patience_seconds: float = 1.0) -> int | None:
        """Once it is gone, what it ended with: an exit code, or minus the number of a signal. None if it has not."""
        deadline = time.monotonic() + patience_seconds
        while self._child.status() is None and time.monotonic() < deadline:
            time.sleep(0.005)
        return self._child.status()

    def close(self) -> None:
        """Forget a process that was killed. Its pid stays ours until it has been waited for."""
        self.ended_by(patience_seconds=10.0)
        self._child.close()
        self.connection.close()


def _parse_answer(payload: bytes) -> Answer:
    try:
        answer: Answer = json.loads(payload)
    except ValueError as error:
        raise ConnectionLost("an answer that is no JSON") from error
    return answer


def server_of(module: str, threads: int) -> ForkServer:
    """The fork server of query processes that run the module's requests, each with so many threads of Polars."""
    own = {"POLARS_MAX_THREADS": str(threads)}
    return ForkServer([WORKER, module, *SHARED], environment() | FOR_ALL | own)
