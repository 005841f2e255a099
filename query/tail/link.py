"""A worker's end of its tail process: starts it, passes messages both ways, and ends it when a tail blocks the others.

Written against the standard library's threads and sockets, which under gunicorn are gevent's.
"""

import json
import logging
import os
import threading
from dataclasses import dataclass, replace
from queue import Empty, SimpleQueue
from typing import Final

from errors import InternalError, QueryTooLarge, TimedOut, WeirError
from query.process import protocol
from query.process.protocol import Become, ConnectionLost
from query.process.query_process import QueryProcess
from query.tail.busy_cell import NOBODY, BusyCell, create
from query.tail.messages import Begin, Said, read_reply

logger = logging.getLogger(__name__)

# A batch is 2 MiB of the log at most. A tail whose batch takes longer than this stops all others.
LONGEST_STEP_SECONDS: Final = 20.0
WATCH_SECONDS: Final = 0.25


@dataclass(frozen=True, slots=True)
class Heard:
    """What the process has said of a tail. `said` None: the process is gone."""

    said: Said | None
    content: bytes = b""
    position: str = ""


LOST: Final = Heard(None)


class Mailbox:
    """What is said of one tail, in order."""

    def __init__(self) -> None:
        self._queue: SimpleQueue[Heard] = SimpleQueue()

    def put(self, heard: Heard) -> None:
        self._queue.put(heard)

    def get(self, seconds: float) -> Heard | None:
        """The next, or None if there is none within so many seconds."""
        try:
            return self._queue.get(timeout=seconds)
        except Empty:
            return None


class Link:
    """One tail process, which a query process becomes. Somebody has to `watch` it."""

    def __init__(self, process: QueryProcess, begun: Begin, memory_bytes: int) -> None:
        self._process = process
        # Open as long as this is: the process opens it too, by the path of this descriptor.
        self._descriptor = create()
        self._cell = BusyCell(self._descriptor)
        self._memory_bytes = memory_bytes
        self._mailboxes: dict[int, Mailbox] = {}
        self._sending = threading.Lock()
        self._lock = threading.Lock()
        self.is_lost = False
        self.send(Become("query.tail.process", replace(begun, cell=self._descriptor, owner=os.getpid())))
        threading.Thread(target=self._listen, name="tails", daemon=True).start()

    def join(self, tail: int) -> Mailbox:
        """The mailbox of a new tail."""
        mailbox = Mailbox()
        with self._lock:
            if self.is_lost:
                mailbox.put(LOST)
            else:
                self._mailboxes[tail] = mailbox
        return mailbox

    def leave(self, tail: int) -> None:
        with self._lock:
            self._mailboxes.pop(tail, None)

    def send(self, message: object) -> None:
        """Say something to the process. If that is gone, every mailbox says so."""
        try:
            with self._sending:
                protocol.send(self._process.connection, protocol.request(message))
        except ConnectionLost:
            self._lose()

    def watch(self) -> None:
        """Look after the process once: end it if a tail takes too long, or too much memory."""
        tail, seconds = self._cell.read()
        if seconds > LONGEST_STEP_SECONDS:
            self._blame(tail, TimedOut("the live tail takes too long for each of its batches"))
        elif self._process.charged_bytes() > self._memory_bytes:
            mib = self._memory_bytes // 1024 // 1024
            self._blame(tail, QueryTooLarge(f"the live tail needs more than {mib} MiB of memory"))

    def _blame(self, tail: int, error: WeirError) -> None:
        """End the process; this tail by the error, the others go on in the next process."""
        logger.warning("tail process %d is ended: %s", self._process.pid, error.message)
        with self._lock:
            blamed = self._mailboxes.pop(tail, None) if tail != NOBODY else None
        if blamed is not None:
            blamed.put(Heard(Said.FAULT, protocol.fault_content(error)))
        self.close()

    def close(self) -> None:
        """End the process. Safe to call again."""
        self._process.kill()
        self._lose()

    def reap(self) -> None:
        """Forget a process that has ended."""
        self._process.close()
        os.close(self._descriptor)

    def _listen(self) -> None:
        try:
            while True:
                _, payload = protocol.receive(self._process.connection)
                tail, said, position, content = read_reply(payload)
                with self._lock:
                    mailbox = self._mailboxes.get(tail)
                if mailbox is not None:
                    mailbox.put(Heard(said, content, position))
        except (ConnectionLost, ValueError):
            self._lose()

    def _lose(self) -> None:
        with self._lock:
            self.is_lost = True
            mailboxes, self._mailboxes = list(self._mailboxes.values()), {}
        for each in mailboxes:
            each.put(LOST)
        self._process.kill()


def to_error(content: bytes) -> WeirError:
    """The error behind a fault."""
    try:
        return protocol.to_error(content)
    except (ValueError, KeyError, TypeError):
        return InternalError("a tail process failed in an unknown way")


def to_names(content: bytes) -> list[str]:
    """A list of names as the process says it."""
    names = json.loads(content)
    return [str(each) for each in names] if isinstance(names, list) else []
