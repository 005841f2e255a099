"""The tail process: looks several times a second at what was appended, and gives each tail its rows of it.

A query process becomes it (`query.process.protocol.Become`). One for all tails of a worker, so that what several of
them read is decoded once.
"""

import json
import logging
import os
import select
import socket
import time
from functools import partial
from typing import Final

from errors import InternalError, QueryTooLarge, WeirError
from query.process import protocol
from query.process.protocol import ConnectionLost, Kind
from query.tail.batch import Evaluations
from query.tail.busy_cell import BusyCell
from query.tail.follower import Follower
from query.tail.log import Log
from query.tail.log_reader import LogReader
from query.tail.messages import Begin, Close, Inspect, More, Open, Said, Surveyed, reply
from query.tail.position import Sealer
from query.tail.statement import inspect
from query.tail.view_rows import Stale

logger = logging.getLogger(__name__)

# From an acknowledgement to this process it takes half of this on average. An idle log costs one listing per look.
SHORTEST_LOOK_SECONDS: Final = 0.1
# Half of what people notice as late, and of what docs/tail.md promises.
LONGEST_LOOK_SECONDS: Final = 0.25
# A look and what follows from it takes one part of so many of a core, as long as looks are not the longest.
LOOK_COST: Final = 40


class TailProcess:
    """The tails, by number, and the log that they follow."""

    def __init__(self, connection: socket.socket, cell: BusyCell, begun: Begin) -> None:
        self._connection, self._cell = connection, cell
        reader, sealer = LogReader(begun.staging), Sealer(begun.key)
        self._log = Log(begun, reader, sealer, Surveyed(frozenset(), {}, ()), Evaluations())
        self._followers: dict[int, Follower] = {}
        self._look_at = 0.0
        self._looked_cpu = time.process_time()

    def run(self) -> None:
        """Serve until the owner is gone. Raises ConnectionLost."""
        while True:
            while select.select([self._connection], [], [], self._pause())[0]:
                _, payload = protocol.receive(self._connection, protocol.LARGEST_REQUEST_BYTES)
                self._handle(protocol.unpack(payload))
            self._look()
            for number in list(self._followers):
                self._serve(number)

    def _pause(self) -> float | None:
        """Seconds until there is something to do."""
        if not self._followers:
            return None
        if any(each.is_ready and each.has_more for each in self._followers.values()):
            return 0.0
        return max(0.0, self._look_at - time.monotonic())

    def _look(self) -> None:
        """List what is new, if it is time. Under load looks are rarer: many rows at once cost less than few often."""
        if time.monotonic() >= self._look_at:
            begun_cpu = time.process_time()
            pause = look_seconds(begun_cpu - self._looked_cpu)
            self._looked_cpu = begun_cpu
            self._log.refresh(time.time_ns() // 1_000_000)
            self._look_at = time.monotonic() + pause

    def _handle(self, message: object) -> None:
        match message:
            case Surveyed():
                self._learn(message)
            case Inspect():
                self._attempt(message.tail, partial(self._inspect, message))
            case Open():
                self._attempt(message.tail, partial(self._open, message))
            case More():
                if message.tail in self._followers:
                    self._followers[message.tail].is_ready = True
            case Close():
                self._followers.pop(message.tail, None)
            case _:
                raise ConnectionLost(f"an unknown message: {type(message).__name__}")

    def _learn(self, surveyed: Surveyed) -> None:
        before_ms = self._log.listed_ms
        self._log.learn(surveyed)
        for follower in self._followers.values():
            for host in surveyed.left:
                follower.tell_left(host, before_ms)

    def _inspect(self, message: Inspect) -> None:
        statement = inspect(message.sql)
        self._say(message.tail, Said.INSPECTED, json.dumps({"dataset": statement.datasets[0]}).encode())

    def _open(self, message: Open) -> None:
        self._log.refresh(time.time_ns() // 1_000_000)
        follower = Follower(message, self._log)
        self._followers[message.tail] = follower
        self._say(message.tail, Said.OPENED, b"{}", follower.position)

    def _serve(self, number: int) -> None:
        if self._followers[number].is_ready:
            self._attempt(number, partial(self._step, number))

    def _step(self, number: int) -> None:
        follower = self._followers[number]
        piece = follower.step()
        if piece is not None:
            follower.is_ready = False
            for start in range(0, max(1, len(piece.content)), protocol.DATA_BYTES):
                content = piece.content[start : start + protocol.DATA_BYTES]
                is_last = start + protocol.DATA_BYTES >= len(piece.content)
                self._say(number, Said.BATCH if is_last else Said.PIECE, content, piece.position)

    def _attempt(self, tail: int, work: "partial[None]") -> None:
        """Do something for a tail, which ends if it fails."""
        try:
            with self._cell.working_for(tail):
                work()
        except Stale as stale:
            follower = self._followers[tail]
            self._end(tail, Said.STALE, json.dumps(stale.columns).encode(), follower.position)
        except ConnectionLost:
            raise
        except WeirError as error:
            self._fail(tail, error)
        except MemoryError:
            self._fail(tail, QueryTooLarge("the live tail needs more memory than it may use"))
        except Exception as error:
            logger.error("a tail failed: %s", type(error).__name__, exc_info=error)
            self._fail(tail, InternalError("the live tail failed by an error on our side"))

    def _fail(self, tail: int, error: WeirError) -> None:
        self._end(tail, Said.FAULT, protocol.fault_content(error))

    def _end(self, tail: int, said: Said, content: bytes, position: str = "") -> None:
        self._followers.pop(tail, None)
        self._say(tail, said, content, position)

    def _say(self, tail: int, said: Said, content: bytes, position: str = "") -> None:
        protocol.send(self._connection, protocol.frame(Kind.DATA, reply(tail, said, content, position)))


def look_seconds(cost_seconds: float) -> float:
    """From one look to the next, given what the last one and its rows took of a core.

    >>> look_seconds(0.0), look_seconds(0.005), look_seconds(1.0)
    (0.1, 0.2, 0.25)
    """
    return min(LONGEST_LOOK_SECONDS, max(SHORTEST_LOOK_SECONDS, LOOK_COST * cost_seconds))


def serve(connection: socket.socket, content: object) -> None:
    """Serve until the owner is gone. Raises ConnectionLost."""
    if not isinstance(content, Begin):
        raise ConnectionLost("a tail process was begun by something else")
    descriptor = os.open(f"/proc/{content.owner}/fd/{content.cell}", os.O_RDWR | os.O_CLOEXEC)
    try:
        cell = BusyCell(descriptor)
    finally:
        os.close(descriptor)
    TailProcess(connection, cell, content).run()
