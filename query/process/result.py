"""The result of a query as its caller gets it: bytes in pieces, and what is known of them."""

from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Final

from errors import InternalError, QueryCancelled, WeirError
from query.parameters import RandomState
from query.process.lease import Lease
from query.process.protocol import Answer
from storage.context import Gap

KIB: Final = 1024
# A result up to this size is complete before its status goes out: its errors are proper answers, and it has a length.
HELD_BYTES: Final = 1024 * KIB


@dataclass(frozen=True, slots=True)
class Scanned:
    """What a query had to look into: files of the manifest and segments not yet converted.

    `outside_range`: datasets that have rows, none of them in the time range.
    """

    files: int
    bytes: int
    outside_range: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Beginning:
    """The beginning of the data; what else there is to know of a result is known when that is all of it."""

    data: bytes
    coding: str | None
    repeatable: bool = False
    rows: int | None = None
    random: RandomState | None = None


class Result:
    """The bytes of a result, once, in `coding`. While the query is still running `length` is None, and so are `rows`
    and `random`, where the random numbers of the session's next statement go on. `note` is what the query process told
    of the result ahead of its data, `gaps` the hosts that it lacks.

    `repeatable`: over the same rows the statement gives the same, at any time; False while that is not known.
    """

    def __init__(
        self,
        beginning: Beginning,
        rest: tuple[Lease, ExitStack] | None,
        coding: str,
        scanned: Scanned | None,
        elapsed_seconds: float,
        note: Answer,
        gaps: tuple[Gap, ...] = (),
    ) -> None:
        self._held, self._rest = beginning.data, rest
        self.coding = beginning.coding or coding
        self.repeatable = beginning.repeatable
        self.scanned = scanned
        self.elapsed_seconds = elapsed_seconds
        self.length = len(beginning.data) if rest is None else None
        self.rows, self.random = beginning.rows, beginning.random
        self.note, self.gaps = note, gaps

    def __iter__(self) -> Iterator[bytes]:
        """The pieces in order. Raises what ended the query half-way; then the result is not whole."""
        try:
            yield self._held
            if self._rest is not None:
                lease, _ = self._rest
                while isinstance(reply := lease.receive(), bytes):
                    yield reply
                if reply["expired"]:
                    raise InternalError("a file of the query vanished while it was read")
                self.rows = lease.work.rows = _rows(reply)
                self.random = _random(reply)
                self._leave()
        except WeirError as error:
            if self._rest is not None:
                self._rest[0].work.fail(error)
            raise
        finally:
            self.close()

    def close(self) -> None:
        """End the query if it still runs. Safe to call again."""
        if self._rest is not None:
            self._rest[0].work.fail(QueryCancelled("nobody waits for the rest of the result"))
            self._leave()

    def _leave(self) -> None:
        if self._rest is not None:
            _, stack = self._rest
            self._rest = None
            stack.close()


def receive_beginning(lease: Lease) -> Beginning | None:
    """None when the snapshot has expired, or the statement names something else than was expected."""
    data = bytearray()
    while isinstance(reply := lease.receive(), bytes):
        data += reply
        if len(data) >= HELD_BYTES:
            return Beginning(bytes(data), None)
    if reply.get("expired", True):
        return None
    return Beginning(bytes(data), str(reply["coding"]), reply["repeatable"] is True, _rows(reply), _random(reply))


def receive_answer(lease: Lease) -> Answer:
    """What a request without data is answered with."""
    answer = lease.receive()
    if isinstance(answer, bytes):
        raise InternalError("a query process answered out of order")
    return answer


def note_answer(lease: Lease, beginning: Beginning, scanned: Scanned | None) -> None:
    """For the list of slow queries."""
    lease.work.rows = beginning.rows
    if scanned is not None:
        lease.work.files, lease.work.bytes = scanned.files, scanned.bytes


def _rows(answer: Answer) -> int | None:
    """How many rows the result has, of formats that count them."""
    return answer["rows"] if isinstance(answer.get("rows"), int) else None


def _random(answer: Answer) -> RandomState | None:
    """Where the random numbers of the session go on, if it has set a seed."""
    match answer.get("random"):
        case [int(first), int(second)]:
            return first, second
    return None
