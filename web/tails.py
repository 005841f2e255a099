"""A live tail as the server iterates over it: pieces for the client, signs of life, and whether it may still go on."""

import logging
import time
from collections.abc import Callable, Collection, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Final

from auth.identity import Identity
from errors import DatasetNotFound, InternalError, Overloaded, StorageUnavailable, Unauthenticated, WeirError
from metrics.meters import Meters
from models import column
from models.dataset import Dataset
from query.process.messages import Source, Tags
from query.tail import rendering
from query.tail.messages import Presentation, View
from query.tail.service import Outdated, Piece, Start, TailService
from query.timerange import TimeRange
from storage.read.snapshot import take_snapshot
from storage.write.engine import Storage
from web.credentials import REFUSAL
from web.sources import Sources

logger = logging.getLogger(__name__)

# How often is looked after clients, rights and other hosts while there are no rows.
LOOK_SECONDS: Final = 0.5
# The number that guards rights is in memory on one host, and a round trip away on several.
CHECK_SECONDS: Final = 2.0
# Proxies close what is silent for a minute, some for half of that. Who reads lines of JSON ignores an empty one, but
# not every reader does, so there they are rare.
ALIVE_SECONDS: Final = 5.0
QUIET_SECONDS: Final = 30.0
# A process that ends so often without a row between is beyond help.
MOST_RESTARTS: Final = 5
# As long as this the database may be away: a restart. Until it is back nothing is sent, as nobody knows who may read.
MOST_ATTEMPTS: Final = 20

Visible = Callable[[Callable[[], Source]], frozenset[str]]


@dataclass(frozen=True, slots=True)
class Right:
    """What a reader may follow: the dataset as it is now, and of its rows those with one of the tags (None: all)."""

    dataset: Dataset
    tags: Tags | None


@dataclass(frozen=True, slots=True)
class Reader:
    """Whose tail it is. `prove` gives who that is now, None once the credential is worth nothing any more.

    `visible`: the columns that a narrowed reader sees of a source, which it takes.
    """

    prove: Callable[[], Identity | None]
    storage: Storage
    visible: Visible

    def right(self, name: str) -> Right:
        """Raises Unauthenticated, Forbidden, DatasetNotFound."""
        identity = self.prove()
        if identity is None:
            raise Unauthenticated(REFUSAL)
        return Right(*Sources(self.storage, identity, TimeRange(), None).followed(name))

    def view(self, right: Right) -> View:
        """The dataset as the reader may see it now."""
        found, tags = right.dataset, right.tags
        schema = column.schema(found.id)
        if tags is None:
            return View(found.name, schema, frozenset(each.stored for each in schema.columns))
        visible = self.visible(lambda: Source(take_snapshot(self.storage.layout, found), None, None, tags))
        return View(found.name, schema, visible, tags)


class Stream:
    """What one client gets. `open` first, which raises what is wrong with the request; then iterate; then `close`."""

    _right: Right

    def __init__(
        self,
        service: TailService,
        reader: Reader,
        presentation: Presentation,
        is_gone: Callable[[], bool],
        meters: Meters,
    ) -> None:
        """Raises TooManyTails, ShuttingDown."""
        self._service, self._reader, self._presentation = service, reader, presentation
        self._is_gone, self._meters = is_gone, meters
        self._tail = service.begin()
        self._sql = ""
        self._position = ""
        self._unknown: frozenset[str] = frozenset()
        self._seen: frozenset[str] = frozenset()
        self._missing: frozenset[str] = frozenset()
        self._restarts = 0
        self._alive_at = self._checked_at = time.monotonic()
        self._is_over = False
        meters.tail_opened()

    def open(self, sql: str, start: Start) -> str:
        """Begin to follow the statement; the name of its dataset. Raises WeirError."""
        self._sql = sql
        name = self._inspect()
        self._right = self._reader.right(name)
        self._reopen(start)
        return name

    def __iter__(self) -> Iterator[bytes]:
        yield rendering.begin(self._position, is_sse=self._presentation.is_sse)
        try:
            while not self._is_gone():
                yield from self._next()
        except WeirError as error:
            if isinstance(error, InternalError):
                logger.error("a live tail ended: %s", error.message, exc_info=error)
            yield self._end(error)

    def close(self) -> None:
        """Make room for another one. Safe to call again."""
        if not self._is_over:
            self._is_over = True
            self._tail.close()
            self._meters.tail_closed()

    def _inspect(self) -> str:
        for _ in range(MOST_RESTARTS):
            with suppress(Outdated):
                return self._tail.inspect(self._sql)
        raise InternalError("the process for live tails ends again and again")

    def _reopen(self, start: Start, columns: Collection[str] = ()) -> None:
        """Follow from there on with the rights and columns of now.

        `columns`: those that records have and the last view had not, or had with another type. What the new view does
        not know either was dropped.
        """
        view = self._reader.view(self._right)
        self._unknown |= frozenset(columns) - view.visible
        for _ in range(MOST_RESTARTS):
            with suppress(Outdated):
                known = replace(view, unknown=self._unknown)
                begun = self._tail.open(self._sql, known, self._presentation, start)
                self._position = start.position or begun
                self._tail.more()
                return
        raise InternalError("the process for live tails ends again and again")

    def _refresh(self, columns: frozenset[str] = frozenset()) -> None:
        """Follow from the last delivered row on, with the rights and columns of now. Raises WeirError."""
        self._restarts += self._seen >= columns
        if self._restarts > MOST_RESTARTS:
            raise InternalError("a live tail had to begin again too often")
        self._seen |= columns
        self._has_right_changed()
        self._reopen(Start(self._position), columns)

    def _next(self) -> Iterator[bytes]:
        """What there is to send after a short wait, if the reader may still have it. Raises WeirError."""
        try:
            piece = self._tail.receive(LOOK_SECONDS)
        except Outdated as outdated:
            self._position = outdated.position or self._position
            self._refresh(outdated.columns)
            return
        self._service.require_running()
        if (piece is not None or time.monotonic() > self._checked_at + CHECK_SECONDS) and self._has_right_changed():
            # What was read under other rights, or with other columns, is read again.
            self._refresh()
            return
        yield from self._told_of_hosts()
        if piece is not None:
            yield from self._deliver(piece)
        elif time.monotonic() > self._alive_at + (ALIVE_SECONDS if self._presentation.is_sse else QUIET_SECONDS):
            yield self._sent(rendering.alive(is_sse=self._presentation.is_sse))

    def _deliver(self, piece: Piece) -> Iterator[bytes]:
        if piece.content:
            yield self._sent(piece.content)
            self._meters.tail_sent(len(piece.content))
        # It was taken: the generator goes on.
        self._position, self._restarts = piece.position, 0
        self._tail.more()

    def _sent(self, content: bytes) -> bytes:
        self._alive_at = time.monotonic()
        return content

    def _has_right_changed(self) -> bool:
        """Raises Unauthenticated, Forbidden, DatasetNotFound; StorageUnavailable if nobody can say for a while."""
        before, self._right = self._right, self._ask_right()
        self._checked_at = time.monotonic()
        if before.dataset.id != self._right.dataset.id:
            raise DatasetNotFound(f"dataset {before.dataset.name} was deleted", dataset=before.dataset.name)
        return before != self._right

    def _ask_right(self) -> Right:
        for _ in range(MOST_ATTEMPTS):
            try:
                return self._reader.right(self._right.dataset.name)
            except StorageUnavailable as error:
                reason = error
                time.sleep(LOOK_SECONDS)
        raise reason

    def _told_of_hosts(self) -> Iterator[bytes]:
        """Which hosts do not answer, and which do again: their rows then follow."""
        missing = self._service.missing
        if missing.keys() == self._missing:
            return
        for name in sorted(missing.keys() - self._missing):
            yield self._told("missing", {"host": name, "message": f"the host does not answer: {missing[name]}"})
        for name in sorted(self._missing - missing.keys()):
            yield self._told("returned", {"host": name, "message": "the host answers again; its rows follow"})
        self._missing = frozenset(missing)

    def _told(self, event: str, told: rendering.Told) -> bytes:
        return self._sent(rendering.event(event, told, is_sse=self._presentation.is_sse))

    def _end(self, error: WeirError) -> bytes:
        """The last bytes: why the stream ends, as an error's body says it."""
        self._meters.tail_ended(error.code)
        told = {"code": error.code, "message": error.message, **error.details}
        retry_seconds = error.retry_after_seconds if isinstance(error, Overloaded) else None
        return rendering.end(told, retry_seconds, is_sse=self._presentation.is_sse)
