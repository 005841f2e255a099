"""The query process: takes requests from the service that owns it, one after another, until that is gone.

A fork server runs its `main` with the arguments `<module> <log format> <log level>` and the socket as standard input.
The module's `handler()` gives the function that runs one request.
"""

import gc
import importlib
import logging
import os
import signal
import socket
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Final, Protocol

import logs
from errors import InternalError, QueryTooLarge, WeirError
from query.process import protocol
from query.process.protocol import Answer, Become, ConnectionLost

logger = logging.getLogger(__name__)

# Ingestion comes first. A small question still gets its turn beside other programs of the machine; one that takes long
# steps back further (query/process/query_process.py).
NICENESS: Final = 5
# Should the host run out of memory all the same, the kernel is to end a query and nothing else.
FIRST_TO_GO: Final = 1000

# Of what queries leave behind, trees of statements above all, some 100,000 objects (20 MB) wait for a full collection.
THRESHOLDS: Final = (5_000, 5, 3)

Emit = Callable[[bytes], None]


class Output(Protocol):
    """Where a request's result goes: a note about it, then its data."""

    def __call__(self, content: bytes, /) -> None: ...

    def note(self, content: Answer, /) -> None: ...


Handle = Callable[[object, Output], Answer]
"""Runs one request: data to the output, the answer returned."""


def main() -> None:
    """Serve until the owner is gone."""
    module, form, level = sys.argv[1:]
    logs.configure(form, level)
    logs.withhold()
    settle()
    handle: Handle = importlib.import_module(module).handler()
    _spare_collections()
    with socket.socket(fileno=0) as connection:
        # The service made it with gevent, whose sockets do not block.
        connection.setblocking(True)
        protocol.send(connection, protocol.answer({}))
        while True:
            try:
                _, payload = protocol.receive(connection, protocol.LARGEST_REQUEST_BYTES)
                request = protocol.unpack(payload)
                if isinstance(request, Become):
                    importlib.import_module(request.module).serve(connection, request.content)
                _serve(connection, handle, request)
            except ConnectionLost:
                # Nobody is left to clean up for, and threads of a running query must not keep the process.
                os._exit(0)


def settle() -> None:
    """Be nice to others, and leave the terminal's Ctrl-C to the owner."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    os.nice(NICENESS)
    Path("/proc/self/oom_score_adj").write_text(str(FIRST_TO_GO), "ascii")


def _spare_collections() -> None:
    """Leave what was imported to itself: it stays for good, and a full collection took 10 ms of a query to walk it."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(*THRESHOLDS)


def _serve(connection: socket.socket, handle: Handle, request: object) -> None:
    output = _BufferedOutput(connection)
    try:
        answer = handle(request, output)
        output.flush(protocol.answer(answer))
    except WeirError as error:
        if isinstance(error, InternalError):
            logger.error("%s", error, exc_info=error)
        protocol.send(connection, protocol.fault(error))
    except MemoryError:
        protocol.send(connection, protocol.fault(QueryTooLarge("the query needs more memory than it may use")))
    except ConnectionLost:
        raise
    except Exception as error:
        logger.error("%s", error, exc_info=error)
        protocol.send(connection, protocol.fault(InternalError("the query failed by an error on our side")))


class _BufferedOutput:
    """Collects data on its way to the service into frames."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        self._content = bytearray()
        self._notes: list[bytes] = []

    def note(self, content: Answer) -> None:
        self._notes.append(protocol.note(content))

    def __call__(self, content: bytes) -> None:
        if len(self._content) + len(content) < protocol.DATA_BYTES:
            self._content += content
            return
        self.flush()
        for piece in protocol.data(content):
            protocol.send(self._connection, piece)

    def flush(self, *after: bytes) -> None:
        """Send what there is, and the frames after it, in one write."""
        content = [*self._notes, *protocol.data(self._content)]
        self._content.clear()
        self._notes.clear()
        protocol.send(self._connection, *content, *after)
