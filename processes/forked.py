"""Processes that a fork server forks for this one: they are asked for, watched and ended over a lifeline each.

Written against the standard library's threads and sockets, which under gunicorn are gevent's.
"""

import json
import os
import secrets
import signal
import socket
import sys
from collections.abc import Mapping, Sequence
from hashlib import blake2b
from pathlib import Path
from typing import Final

import logs
from processes.fork_server import CREDENTIALS, NUMBER, Request

ROOT: Final = Path(__file__).resolve().parents[1]
# A variable of the environment: processes with the same value share their fork servers. A deployment gets another one
# at each start and at each reload, so that nobody's children have the code of another time.
GROUP: Final = "FORK_GROUP"
START_SECONDS: Final = 60.0
# A server whose last client is just leaving accepts a connection and ends.
ATTEMPTS: Final = 3


class Child:
    """A process that a fork server has forked for this one. It ends when this object is closed, or its owner."""

    def __init__(self, connection: socket.socket) -> None:
        """Raises OSError if there is no process."""
        self._connection = connection
        connection.settimeout(START_SECONDS)
        packet = connection.recv(NUMBER.size)
        if len(packet) != NUMBER.size:
            raise ConnectionResetError("the fork server has ended, or cannot fork")
        (self.pid,) = NUMBER.unpack(packet)
        self._status: int | None = None
        connection.settimeout(0.0)

    def status(self) -> int | None:
        """What it ended with: an exit code, or minus the number of a signal. None: it has not."""
        if self._status is None:
            try:
                packet = self._connection.recv(NUMBER.size)
            except BlockingIOError:
                return None
            except OSError:
                packet = b""
            # Without its server a child is killed.
            self._status = NUMBER.unpack(packet)[0] if packet else -signal.SIGKILL
        return self._status

    def kill(self) -> None:
        """SIGKILL. The process id is this one's until `close`, so it hits nobody else. Safe to call again."""
        if self.status() is None:
            os.kill(self.pid, signal.SIGKILL)

    def close(self) -> None:
        """End it, if it has not, and let its process id go."""
        self.status()
        self._connection.close()


class ForkServer:
    """The fork server with these modules and this environment, started by whoever needs it first.

    All processes of a group share it. It ends with the last child and the last open object of this kind.
    """

    def __init__(self, modules: Sequence[str], environment: Mapping[str, str]) -> None:
        self._modules, self._environment = modules, environment
        group = os.environ.setdefault(GROUP, new_group())
        shared = json.dumps([group, sys.executable, list(modules), sorted(environment.items())])
        self._address = f"weir-{blake2b(shared.encode(), digest_size=16).hexdigest()}"
        self._kept: socket.socket | None = None
        self._is_closed = False

    def open(self) -> None:
        """Let processes be forked again after `close`."""
        self._is_closed = False

    def fork(self, request: Request, *descriptors: int) -> Child:
        """A new process: standard input, standard error and others are these `descriptors`. Raises OSError."""
        for _ in range(ATTEMPTS):
            self._keep()
            connection = self._connect()
            try:
                socket.send_fds(connection, [request.pack()], descriptors)
                return Child(connection)
            except ConnectionError:
                connection.close()
            except OSError:
                connection.close()
                raise
        raise ConnectionAbortedError("the fork server ends again and again")

    def close(self) -> None:
        """Fork no more. Safe to call again."""
        self._is_closed = True
        if self._kept is not None:
            self._kept.close()

    def _keep(self) -> None:
        """Hold a connection, so that the server stays while this process has no child."""
        if self._kept is None or _has_ended(self._kept):
            self._kept = self._connect()
            self._kept.settimeout(0.0)
        if self._is_closed:
            self._kept.close()
            raise ConnectionAbortedError("no process is forked any more")

    def _connect(self) -> socket.socket:
        try:
            return _connect(self._address)
        except ConnectionRefusedError:
            self._start()
            return _connect(self._address)

    def _start(self) -> None:
        """Return when somebody has taken the address: this server, or another process was faster."""
        pid = os.posix_spawn(
            sys.executable,
            [sys.executable, "-m", "processes.fork_server", self._address, *logs.arguments(), *self._modules],
            self._environment,
            # Ctrl-C reaches every process of a terminal, and is the owner's to act on.
            setsigmask=[signal.SIGINT, signal.SIGQUIT],
            file_actions=[
                (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
                (os.POSIX_SPAWN_DUP2, logs.outlet(), 2),
                (os.POSIX_SPAWN_DUP2, 2, 1),
            ],
        )
        os.waitpid(pid, 0)


def new_group() -> str:
    """A value of GROUP that no other process has."""
    return secrets.token_hex(16)


def environment() -> dict[str, str]:
    """Ours without the service's own settings, which hold secrets that no child has a use for.

    And without those of Polars' allocator: memory that it keeps would count as the query's.
    """
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("WEIR_", "_RJEM_", GROUP))}
    path = [str(ROOT), *filter(None, [kept.get("PYTHONPATH")])]
    return kept | {"PYTHONPATH": os.pathsep.join(path)}


def _connect(address: str) -> socket.socket:
    """A connection to the server, which is ours: any user of the host may take the name. Raises OSError."""
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    try:
        connection.connect(f"\0{address}")
        found = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, CREDENTIALS.size)
        if CREDENTIALS.unpack(found)[1] != os.geteuid():
            raise PermissionError("another user has taken the fork server's address")
    except OSError:
        connection.close()
        raise
    return connection


def _has_ended(kept: socket.socket) -> bool:
    """Whether the server at its other end, which never says anything, is gone."""
    try:
        return not kept.recv(1)
    except BlockingIOError:
        return False
    except OSError:
        return True
