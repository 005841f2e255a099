"""The fork server: a process that has imported what its children use, and forks one for each connection that asks.

Run by `processes.forked` as `python -m processes.fork_server ADDRESS FORMAT LEVEL MODULE...`. It never runs what its
children run, and has one thread of Python: only what no thread has used can be forked safely
(docs/decisions/query-processes.md, "A fork server").

A connection is a child's lifeline. Its first packet says what to run and brings the child's descriptors; the answers
are the process id and, once the child has ended, its status. When the other end is closed the child is killed. The
process id is nobody else's until then. The server ends with its last connection.
"""

import errno
import gc
import importlib
import json
import logging
import os
import selectors
import signal
import socket
import struct
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import logs
from processes.child import die_with_parent, set_name
from processes.importing import import_for_forks

logger = logging.getLogger(__name__)

# Process ids and exit codes, of which those of signals are negative.
NUMBER: Final = struct.Struct("<i")
LARGEST_REQUEST_BYTES: Final = 16 * 1024
MOST_DESCRIPTORS: Final = 8
# Clients that connect while this process still imports wait here.
BACKLOG: Final = 512
# Who has started it connects at once.
FIRST_CLIENT_SECONDS: Final = 60.0
# struct ucred: process, user, group.
CREDENTIALS: Final = struct.Struct("3i")


@dataclass(frozen=True, slots=True)
class Request:
    """What to run: `main` of a module, with these arguments, under this name. `end_signal`: when its owner is gone.

    An argument may name a descriptor, the first one as `{0}`. The first two are standard input and standard error.
    """

    module: str
    arguments: tuple[str, ...]
    name: str
    end_signal: int = signal.SIGKILL

    def pack(self) -> bytes:
        return json.dumps([self.module, self.arguments, self.name, self.end_signal]).encode()

    @classmethod
    def unpack(cls, packet: bytes) -> "Request":
        module, arguments, name, end_signal = json.loads(packet)
        return cls(module, tuple(arguments), name, end_signal)


class _Child:
    """A connection: first of somebody who may ask for a child, then the lifeline of that child."""

    def __init__(self, connection: socket.socket) -> None:
        self.connection = connection
        self.pid = 0
        self.end_signal = 0
        self.has_ended = False
        self.is_left = False

    def look(self) -> None:
        """Say what the child has ended with, once it has."""
        if not self.pid or self.has_ended:
            return
        found = os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        if found is not None:
            self.has_ended = True
            is_exit = found.si_code == os.CLD_EXITED
            _say(self.connection, found.si_status if is_exit else -found.si_status)

    def leave(self) -> None:
        """The owner is gone."""
        self.is_left = True
        if self.pid and not self.has_ended:
            os.kill(self.pid, self.end_signal)

    @property
    def is_over(self) -> bool:
        return self.is_left and (self.has_ended or not self.pid)


class _Server:
    """Its connections, watched by one thread."""

    def __init__(self, listener: socket.socket) -> None:
        self._listener = listener
        self._selector = selectors.DefaultSelector()
        self._children: dict[socket.socket, _Child] = {}
        self._wakeup, self._woken = socket.socketpair()
        for each in (listener, self._wakeup, self._woken):
            each.setblocking(False)
        self._selector.register(listener, selectors.EVENT_READ)
        self._selector.register(self._wakeup, selectors.EVENT_READ)

    def run(self) -> None:
        """Serve until the last connection is closed."""
        signal.set_wakeup_fd(self._woken.fileno(), warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        ready = self._selector.select(FIRST_CLIENT_SECONDS)
        while ready or self._children:
            for key, _ in ready:
                self._serve(key.fileobj)
            ready = self._selector.select(None if self._children else 0)

    def _serve(self, ready: Any) -> None:
        if ready is self._listener:
            self._accept()
        elif ready is self._wakeup:
            self._wakeup.recv(4096)
            for child in [*self._children.values()]:
                child.look()
                self._forget(child)
        else:
            self._hear(self._children[ready])

    def _accept(self) -> None:
        """Names of sockets are open to all users of a host."""
        connection, _ = self._listener.accept()
        _, user, _ = CREDENTIALS.unpack(connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, CREDENTIALS.size))
        if user != os.geteuid():
            connection.close()
            return
        self._children[connection] = _Child(connection)
        self._selector.register(connection, selectors.EVENT_READ)

    def _hear(self, child: _Child) -> None:
        try:
            packet, descriptors, _, _ = socket.recv_fds(child.connection, LARGEST_REQUEST_BYTES, MOST_DESCRIPTORS)
        except OSError:
            packet, descriptors = b"", []
        try:
            if packet and not child.pid:
                self._fork(child, Request.unpack(packet), descriptors)
                return
        except OSError as error:
            # No memory for one more, or too many processes: its owner tries again later.
            logger.warning("cannot fork: %s", error)
        finally:
            for each in descriptors:
                os.close(each)
        self._selector.unregister(child.connection)
        child.leave()
        self._forget(child)

    def _fork(self, child: _Child, request: Request, descriptors: Sequence[int]) -> None:
        server = os.getpid()
        child.pid = os.fork()
        if not child.pid:
            self._become(server, request, descriptors)
        child.end_signal = request.end_signal
        _say(child.connection, child.pid)

    def _forget(self, child: _Child) -> None:
        """Only now is its process id free for others."""
        if child.is_over:
            del self._children[child.connection]
            child.connection.close()
            if child.pid:
                os.waitpid(child.pid, 0)

    def _become(self, server: int, request: Request, descriptors: Sequence[int]) -> None:
        """In the child: run what was asked for, and end."""
        code = 1
        try:
            die_with_parent(signal.Signals(request.end_signal))
            if os.getppid() == server:
                self._leave_behind()
                _settle(request, descriptors)
                importlib.import_module(request.module).main()
            code = 0
        except SystemExit as ending:
            code = ending.code if isinstance(ending.code, int) else int(ending.code is not None)
        except BaseException:
            sys.excepthook(*sys.exc_info())
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(code)

    def _leave_behind(self) -> None:
        """Close what is the server's: a lifeline that a child had open, too, would never end."""
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        self._selector.close()
        for each in (self._listener, self._wakeup, self._woken, *self._children):
            each.close()


def _settle(request: Request, descriptors: Sequence[int]) -> None:
    """Take the descriptors, the name and the command line of the request."""
    standard_input, standard_error, *others = descriptors
    os.dup2(standard_input, 0)
    os.dup2(standard_error, 2)
    os.dup2(2, 1)
    os.close(standard_input)
    os.close(standard_error)
    set_name(request.name)
    sys.argv = [request.module, *(argument.format(*others) for argument in request.arguments)]
    gc.enable()


def _say(connection: socket.socket, number: int) -> None:
    """Tell the owner, if it is still there."""
    try:
        connection.send(NUMBER.pack(number), socket.MSG_DONTWAIT | socket.MSG_NOSIGNAL)
    except OSError:
        return


def main() -> None:
    """Take the address, let go of who has started this process, import the modules, serve."""
    address, form, level, *modules = sys.argv[1:]
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    try:
        listener.bind(f"\0{address}")
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            return  # Another process was faster.
        raise
    listener.listen(BACKLOG)
    # A child of nobody: it must outlive the worker that happened to start it.
    if os.fork():
        os._exit(0)
    logs.configure(form, level)
    import_for_forks(modules)
    _Server(listener).run()


if __name__ == "__main__":
    main()
