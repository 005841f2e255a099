"""One query process as its owner sees it: start, send, receive, measure, kill. Knows nothing of queries."""

import contextlib
import json
import os
import re
import signal
import socket
import sys
import time
from pathlib import Path
from typing import Final

import logs
from query.process import protocol
from query.process.protocol import Answer, ConnectionLost, Kind
from query.process.worker import NICENESS

ROOT: Final = Path(__file__).resolve().parents[2]
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
# Stands for an end that somebody else was told of, or that gevent has forgotten because nobody asked for a minute; no
# exit code and no signal has this number.
UNKNOWN_STATUS: Final = -1000


class QueryProcess:
    """A process that runs one request after another, connected by a socket that is its standard input.

    It is started by posix_spawn, never forked: a child forked from a process that has used Polars hangs. It dies
    with the thread that started it, so it must be started by one that lives as long as the service.
    """

    def __init__(self, module: str, threads: int) -> None:
        ours, theirs = socket.socketpair()
        with theirs:
            self.pid = os.posix_spawn(
                sys.executable,
                [sys.executable, "-m", "query.process.worker", str(os.getpid()), module, *logs.arguments()],
                _environment(threads),
                # Ctrl-C reaches every process of a terminal, and is the owner's to act on.
                setsigmask=[signal.SIGINT, signal.SIGQUIT],
                file_actions=[
                    (os.POSIX_SPAWN_DUP2, theirs.fileno(), 0),
                    (os.POSIX_SPAWN_DUP2, logs.outlet(), 2),
                    (os.POSIX_SPAWN_DUP2, 2, 1),
                ],
            )
        self.connection = ours
        self._ended: int | None = None
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
        return self._reap() is None

    def is_ready(self) -> bool:
        """Whether it waits for its next request."""
        return not (self._owes_answer or self._killed)

    def kill(self) -> None:
        """SIGKILL; whoever reads from it finds the end of the stream at once. Safe to call again."""
        self._killed = True
        if self._reap() is None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, signal.SIGKILL)
        # A process that held gigabytes takes a while to be torn down, and its socket closes last.
        with contextlib.suppress(OSError):
            self.connection.shutdown(socket.SHUT_RDWR)

    def ended_by(self, patience_seconds: float = 1.0) -> int | None:
        """Once it is gone, what it ended with: an exit code, or minus the number of a signal. None if it has not."""
        deadline = time.monotonic() + patience_seconds
        while self._reap() is None and time.monotonic() < deadline:
            time.sleep(0.005)
        return self._ended

    def close(self) -> None:
        """Forget a process that was killed. Its pid stays ours until it has been waited for."""
        self.ended_by(patience_seconds=10.0)
        self.connection.close()

    def _reap(self) -> int | None:
        if self._ended is None:
            try:
                pid, status = os.waitpid(self.pid, os.WNOHANG)
            except ChildProcessError:
                self._ended = UNKNOWN_STATUS
            else:
                self._ended = os.waitstatus_to_exitcode(status) if pid else None
        return self._ended


def _parse_answer(payload: bytes) -> Answer:
    try:
        answer: Answer = json.loads(payload)
    except ValueError as error:
        raise ConnectionLost("an answer that is no JSON") from error
    return answer


def _environment(threads: int) -> dict[str, str]:
    """Ours without the service's own settings, which hold secrets that no query has a use for.

    And without those of Polars' allocator: memory that it keeps would count as the query's.
    """
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("WEIR_", "_RJEM_"))}
    path = [str(ROOT), *filter(None, [environment.get("PYTHONPATH")])]
    return environment | {
        "PYTHONPATH": os.pathsep.join(path),
        "POLARS_MAX_THREADS": str(threads),
        "RUST_BACKTRACE": "0",
    }
