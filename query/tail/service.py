"""Live tails as the rest of the service sees them: a statement in, pieces of bytes out, for as long as somebody reads.

One tail process per worker does the work. It is started with the first tail, and ends some time after the last.
"""

import itertools
import json
import logging
import threading
import time
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from errors import InternalError, Overloaded, ShuttingDown, TooManyTails, WeirError
from query.process.query_process import QueryProcess
from query.tail.link import WATCH_SECONDS, Heard, Link, Mailbox, to_error, to_names
from query.tail.messages import Begin, Close, Inspect, More, Open, Presentation, Said, Surveyed, View
from query.tail.position import Sealer
from storage.context import Layout
from storage.read.survey import Surveyor

logger = logging.getLogger(__name__)

MOST_TAILS: Final = 64
SURVEY_SECONDS: Final = 1.0
# A process without tails stays for the next one: a console that is reloaded comes back at once.
IDLE_SECONDS: Final = 30.0
# In which the process says something about a statement: it may have to be started, on a busy machine.
ANSWER_SECONDS: Final = 30.0
# A process that cannot start is not tried again at full speed.
RESTART_SECONDS: Final = 1.0
# Segments are deleted in rounds, and clocks are not exact: a position is good for this much less than they stay.
SAFETY_SECONDS: Final = 30.0
MS_PER_SECOND: Final = 1_000


@dataclass(frozen=True, slots=True)
class Options:
    """`key`: positions are sealed under it. `grace_seconds`: so long segments stay once they are converted.

    `memory_bytes`: the most that the tail process may use.
    """

    layout: Layout
    key: bytes
    grace_seconds: float
    memory_bytes: int


@dataclass(frozen=True, slots=True)
class Start:
    """Where a tail begins: at a position, or with what was stored at most `seconds` ago."""

    position: str | None = None
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class Piece:
    """Bytes for the client, and the position behind them."""

    content: bytes
    position: str


class Outdated(Exception):
    """The tail has to be opened again: its view lacks `columns` that records have, or its process is gone.

    `position`: behind what was read, if that is known.
    """

    def __init__(self, columns: Collection[str] = (), position: str = "") -> None:
        super().__init__()
        self.columns = frozenset(columns)
        self.position = position


class TailService:
    """The tails of one worker. Nothing runs before the first; `close` after the last.

    `take_process` gives a query process, to keep.
    """

    def __init__(self, options: Options, take_process: Callable[[], QueryProcess]) -> None:
        self._options, self._take_process = options, take_process
        self._surveyor = Surveyor(options.layout)
        self._surveying = threading.Lock()
        self._begun = Begin(
            options.layout.staging,
            options.key,
            self._surveyor.margin_ms,
            int(max(0.0, options.grace_seconds - SAFETY_SECONDS) * MS_PER_SECOND),
        )
        self._sealer = Sealer(options.key)
        self._changed = threading.Condition()
        self._numbers = itertools.count(1)
        self._tails = 0
        self._link: Link | None = None
        self._idle_since = 0.0
        self._surveyed = Surveyed(frozenset(), {}, ())
        self._is_running = self._is_closed = False
        self._is_stopping: Callable[[], bool] = bool
        self.missing: Mapping[str, str] = MappingProxyType({})

    def watch_stop(self, is_stopping: Callable[[], bool]) -> None:
        """Tell by what the tails see that the worker is to stop: they would keep it from that."""
        self._is_stopping = is_stopping

    def require_running(self) -> None:
        """Raises ShuttingDown when the worker is to stop."""
        if self._is_closed or self._is_stopping():
            raise ShuttingDown("the service is shutting down")

    @property
    def count(self) -> int:
        """How many tails are open."""
        return self._tails

    def begin(self) -> "LiveTail":
        """A new tail, which the caller must close. Raises TooManyTails, ShuttingDown."""
        self.require_running()
        with self._changed:
            if self._tails >= MOST_TAILS:
                raise TooManyTails(f"this worker follows {MOST_TAILS} live tails already", retry_after_seconds=5)
            self._tails += 1
            self._start()
            self._changed.notify_all()
        return LiveTail(self)

    def end(self) -> None:
        """A tail is closed."""
        with self._changed:
            self._tails -= 1
            self._idle_since = time.monotonic()

    def close(self) -> None:
        """End all tails and the process."""
        with self._changed:
            self._is_closed = True
            self._changed.notify_all()
        if self._link is not None:
            self._link.close()

    def number(self) -> int:
        """One that no tail has had."""
        return next(self._numbers)

    def link(self) -> Link:
        """The process, once there is one. Raises Overloaded, ShuttingDown."""
        deadline = time.monotonic() + ANSWER_SECONDS
        with self._changed:
            while self._link is None or self._link.is_lost:
                self.require_running()
                if time.monotonic() > deadline:
                    raise Overloaded("no process for live tails became ready")
                self._changed.wait(WATCH_SECONDS)
            return self._link

    def prepare(self, start: Start, now_ns: int) -> None:
        """Have the process know the other hosts' segments that a tail from there on reads.

        Raises InvalidPosition, StorageUnavailable.
        """
        now_ms = now_ns // 1_000_000
        position = None if start.position is None else self._sealer.unseal(start.position)
        since_ms = now_ms - int(start.seconds * MS_PER_SECOND) if position is None else position.taken_ms
        if self._options.layout.peers is not None:
            self._survey(max(since_ms, now_ms - self._begun.horizon_ms))

    def _start(self) -> None:
        """Begin to look after a process, and to survey."""
        if not self._is_running:
            self._is_running = True
            for target in (self._keep, self._survey_on):
                threading.Thread(target=target, name=f"tail{target.__name__}", daemon=True).start()

    def _keep(self) -> None:
        """Have a process as long as there are tails."""
        while not self._is_closed:
            link = self._link
            if link is not None and link.is_lost:
                self._link = None
                link.reap()
                time.sleep(RESTART_SECONDS)
            elif link is not None and not self._tails and time.monotonic() > self._idle_since + IDLE_SECONDS:
                link.close()
            elif link is not None:
                link.watch()
            elif self._tails:
                self._spawn()
            with self._changed:
                self._changed.wait(WATCH_SECONDS)

    def _spawn(self) -> None:
        try:
            link = Link(self._take_process(), self._begun, self._options.memory_bytes)
        except (OSError, WeirError) as error:
            logger.error("no process for live tails: %s", error)
            time.sleep(RESTART_SECONDS)
            return
        link.send(self._surveyed)
        with self._changed:
            self._link = link
            self._changed.notify_all()

    def _survey_on(self) -> None:
        while not self._is_closed:
            if self._tails:
                try:
                    self._survey(None)
                except WeirError as error:
                    logger.warning("live tails: %s; trying again", error.message)
            time.sleep(SURVEY_SECONDS)

    def _survey(self, since_ms: int | None) -> None:
        with self._surveying:
            survey = self._surveyor.survey(since_ms)
            self._surveyed = Surveyed(survey.converted, survey.mirrors, survey.left)
            self.missing = survey.missing
            if self._link is not None:
                self._link.send(self._surveyed)


class LiveTail:
    """One live tail of a worker: `inspect`, `open`, then `receive` and `more` in turns. Not for two threads at once."""

    def __init__(self, service: TailService) -> None:
        self._service = service
        self._link: Link | None = None
        self._mailbox: Mailbox | None = None
        self._number = 0
        self._is_closed = False
        self._pieces: list[bytes] = []

    def inspect(self, sql: str) -> str:
        """The one dataset that the statement names. Raises InvalidSQL, UnsupportedSQL, Overloaded."""
        self._join()
        self._send(Inspect(self._number, sql))
        told = json.loads(self._answer(Said.INSPECTED).content)
        return str(told["dataset"])

    def open(self, sql: str, view: View, presentation: Presentation, start: Start) -> str:
        """Begin, or begin again; the position where. Raises as `inspect`, and InvalidPosition, Outdated."""
        now_ns = time.time_ns()
        self._service.prepare(start, now_ns)
        self._join()
        self._send(Open(self._number, sql, view, presentation, now_ns, start.position, start.seconds))
        return self._answer(Said.OPENED).position

    def more(self) -> None:
        """The client has taken everything so far."""
        self._send(More(self._number))

    def receive(self, seconds: float) -> Piece | None:
        """The next piece, if it comes within so many seconds. Raises Outdated, WeirError."""
        heard = None if self._mailbox is None else self._mailbox.get(seconds)
        while heard is not None and heard.said is Said.PIECE:
            self._pieces.append(heard.content)
            heard = None if self._mailbox is None else self._mailbox.get(seconds)
        if heard is None:
            return None
        _raise_end(heard)
        pieces, self._pieces = self._pieces, []
        return Piece(b"".join((*pieces, heard.content)), heard.position)

    def close(self) -> None:
        """Make room for another tail. Safe to call again."""
        if not self._is_closed:
            self._is_closed = True
            self._leave()
            self._service.end()

    def _join(self) -> None:
        """Take part in the current process, under a new number."""
        self._leave()
        self._link, self._number = self._service.link(), self._service.number()
        self._mailbox = self._link.join(self._number)
        self._pieces = []

    def _leave(self) -> None:
        if self._link is not None:
            self._send(Close(self._number))
            self._link.leave(self._number)
            self._link = self._mailbox = None

    def _send(self, message: object) -> None:
        if self._link is not None:
            self._link.send(message)

    def _answer(self, expected: Said) -> Heard:
        heard = None if self._mailbox is None else self._mailbox.get(ANSWER_SECONDS)
        if heard is None:
            raise Overloaded("the process for live tails does not answer")
        _raise_end(heard)
        if heard.said is not expected:
            raise InternalError("a tail process answered out of order")
        return heard


def _raise_end(heard: Heard) -> None:
    if heard.said is None:
        raise Outdated
    if heard.said is Said.STALE:
        raise Outdated(to_names(heard.content), heard.position)
    if heard.said is Said.FAULT:
        raise to_error(heard.content)
