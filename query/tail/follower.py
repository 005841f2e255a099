"""One tail in its process: where in the log it is, what it has read and not sent yet, what it has to tell of gaps.

Nothing is read before the client has taken what was sent. Who does not read falls behind in the log, which is on disk.
"""

import math
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from time import monotonic
from types import MappingProxyType
from typing import Final

from query.tail import rendering
from query.tail.allowance import Allowance
from query.tail.log import Log
from query.tail.log_reader import Damaged, Unread
from query.tail.messages import Open
from query.tail.position import Batch, Position, Range, digest_of, mark_of
from query.tail.view_rows import Stale
from storage.names import made_ms

# What a worker holds of one tail is a piece of about this size, or one row.
PIECE_BYTES: Final = 256 * 1024
PIECE_ROWS: Final = 500
# A tail that is behind its dataset by more than either, and by more than one batch, goes on at the end.
MOST_BEHIND_BYTES: Final = 64 * 1024 * 1024
MOST_BEHIND_SECONDS: Final = 60.0
# A client that gets no rows gets a new position this often, since an old one is good for some minutes only.
PLACE_SECONDS: Final = 60.0
MS_PER_SECOND: Final = 1_000
GAPS: Final = MappingProxyType(
    {
        "slow": "the client reads more slowly than the dataset grows",
        "expired": "the position is older than what is kept to follow; POST /api/v1/query has these rows",
        "older": "only what was stored lately can be followed; POST /api/v1/query has older rows",
        "host_left": "a host has left; POST /api/v1/query has what it stored last",
        "damaged": "a record cannot be read",
    }
)
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Piece:
    """Bytes for a client, and the position behind them."""

    content: bytes
    position: str


class Follower:
    """A tail. `is_ready`: its client waits for more."""

    def __init__(self, opened: Open, log: Log) -> None:
        """Raises InvalidSQL, UnsupportedSQL, InvalidPosition."""
        self.is_ready = False
        self._log, self._presentation = log, opened.presentation
        now = _EPOCH + timedelta(microseconds=opened.now_ns // 1000)
        self._evaluation = log.evaluations.of(opened.sql, opened.view, now)
        self._sees_all = opened.view.permitted_tags is None
        self._dataset_id = opened.view.schema.dataset_id
        self._digest = digest_of(opened.sql, self._dataset_id, sorted(opened.view.permitted_tags or ()))
        self._allowance = Allowance(opened.presentation.rows_per_second)
        self._offsets: dict[str, int] = {}
        self._pending: deque[tuple[Batch, int, bytes]] = deque()
        self._told: list[tuple[str, rendering.Told]] = []
        self._replay: tuple[Range, ...] = ()
        self._skip = 0
        # Not before it has caught up once is it too far behind: an older position asks for just that.
        self._caught_up_at = math.inf
        self._opened_at = self._placed_at = monotonic()
        self._version = -1
        self._begin(opened)

    @property
    def position(self) -> str:
        """The text of the place behind everything that was read. In the middle of a batch it is still the old one."""
        return self._log.sealer.seal(self._origin if self._replay else self._log.position(self._offsets))

    @property
    def has_more(self) -> bool:
        """Whether the next piece is there already, or at least more of the log."""
        return bool(self._pending or self._told) or not self._is_at_end

    def _begin(self, opened: Open) -> None:
        now_ms = opened.now_ns // 1_000_000
        horizon_ms = now_ms - self._log.begun.horizon_ms
        position = None if opened.position is None else self._log.sealer.unseal(opened.position)
        if position is None:
            self._start(now_ms - int(opened.seconds * MS_PER_SECOND), is_now=opened.seconds <= 0)
            if self._origin.taken_ms < horizon_ms:
                self._tell_gap("older", self._origin.taken_ms, horizon_ms)
        elif position.taken_ms < horizon_ms:
            self._start(now_ms, is_now=True)
            self._tell_gap("expired", position.taken_ms, now_ms)
        else:
            self._resume(position)

    def _start(self, since_ms: int, *, is_now: bool) -> None:
        """Begin at the end of the log, or with what has arrived since."""
        self._is_at_end = is_now
        self._is_new = True
        self._origin = Position(since_ms, self._log.floor_ms, {})
        for name, segment in self._log.reader.segments.items():
            self._offsets[name] = segment.size if is_now else self._arrived_since(name)

    def _resume(self, position: Position) -> None:
        self._is_at_end = self._is_new = False
        self._origin = position
        self._admit()
        ends = {name: end for name in self._offsets if (end := position.ends.get(mark_of(name)))}
        if len(ends) < len(position.ends):
            # A host is missing. Its part of the batch cannot be counted, so all of it comes again.
            return
        self._replay = tuple(Range(name, self._offsets[name], end) for name, end in sorted(ends.items()))
        self._skip = position.rows if position.digest == self._digest else 0

    def _admit(self) -> None:
        """Take note of segments that have appeared, and of those that are gone."""
        reader = self._log.reader
        segments = reader.segments
        gone = {name: self._offsets.pop(name) for name in self._offsets.keys() - segments.keys()}
        if any(reader.has_lost(name, offset) for name, offset in gone.items()):
            self._tell_gap("expired", self._caught_up_ms, self._log.listed_ms)
        for name in segments.keys() - self._offsets.keys():
            self._offsets[name] = self._first_offset(name)

    def _first_offset(self, name: str) -> int:
        """Where to begin in a segment that was not listed when the tail was opened, or that it goes on in."""
        offset, size = self._origin.offset(name), self._log.reader.segments[name].size
        if self._log.reader.is_mirror(name) and (
            offset is None or (self._is_new and made_ms(name) <= self._origin.taken_ms)
        ):
            # Of a host that was missing; it may have what was stored before, too.
            return self._arrived_since(name)
        return size if offset is None else min(offset, size)

    def _arrived_since(self, name: str) -> int:
        segment = self._log.reader.segments[name]
        return self._log.reader.first_since(self._dataset_id, segment, self._origin.taken_ms * MS_PER_SECOND)

    def tell_left(self, host: str, since_ms: int) -> None:
        """A host has left the deployment. What it stored at last may be in files only."""
        self._tell_gap("host_left", since_ms, self._log.listed_ms, host=host)

    def _tell_gap(self, reason: str, start_ms: int, end_ms: int, **details: str | int | None) -> None:
        span = {"from": _instant(start_ms), "to": _instant(end_ms)}
        self._tell("gap", {"reason": reason, **span, **details, "message": GAPS[reason]})

    def _tell(self, name: str, told: rendering.Told) -> None:
        self._told.append((name, told))

    def step(self) -> Piece | None:
        """The next piece for the client, if there is anything to send. Raises Stale, WeirError."""
        if not (self._pending or self._told):
            self._read()
        if self._pending or self._told:
            return self._piece()
        return self._place() if monotonic() > self._placed_at + PLACE_SECONDS else None

    def _piece(self) -> Piece:
        is_sse = self._presentation.is_sse
        rows = list(self._next_rows())
        position = rows[-1][0] if rows else self.position
        # Rows that are still to come must not be passed over by whoever is interrupted after this.
        place = None if rows else position
        told = b"".join(rendering.event(name, each, is_sse=is_sse, position=place) for name, each in self._told)
        self._told, self._placed_at = [], monotonic()
        return Piece(told + rendering.rows(rows, is_sse=is_sse), position)

    def _next_rows(self) -> Iterator[tuple[str, bytes]]:
        room, count = PIECE_BYTES, 0
        while self._pending and room > 0 and count < PIECE_ROWS:
            batch, number, line = self._pending.popleft()
            room, count = room - len(line), count + 1
            yield batch.text(number), line

    def _place(self) -> Piece:
        self._placed_at = monotonic()
        position = self.position
        return Piece(rendering.place(position, is_sse=self._presentation.is_sse), position)

    def _read(self) -> None:
        """Read the next batch, or leave out what is too far behind."""
        if self._replay:
            self._read_again()
            return
        if self._is_at_end and self._version == self._log.reader.version:
            return
        self._version = self._log.reader.version
        self._admit()
        unread = self._log.reader.unread(self._dataset_id, self._offsets)
        if self._is_too_far_behind(unread):
            self._go_to_end(unread)
        else:
            self._read_some(unread)

    def _read_some(self, unread: Unread) -> None:
        """The batch, or what of it is before the first record for which the view has to be taken anew. Raises Stale."""
        try:
            if self._read_batch(unread.ranges):
                self._advance(unread)
        except Stale as stale:
            kept = self._log.reader.first_records(self._dataset_id, unread.ranges, stale.before)
            if not kept:
                raise
            if self._read_batch(kept):
                self._offsets.update({each.segment: each.end for each in kept})
            self._is_at_end = False

    def _advance(self, unread: Unread) -> None:
        self._offsets.update(unread.upto)
        self._is_at_end = unread.is_all
        if unread.is_all:
            self._caught_up_at = monotonic()
        if unread.damaged:
            self._tell_gap("damaged", self._log.listed_ms, self._log.listed_ms)

    def _read_again(self) -> None:
        """The batch in which the client was interrupted, without the rows that it has."""
        if self._read_batch(self._replay, self._skip):
            self._offsets.update({each.segment: each.end for each in self._replay})
            self._replay = ()

    def _read_batch(self, ranges: Sequence[Range], skip: int = 0) -> bool:
        """Whether all of the ranges could be read; else the next listing tells what became of them."""
        if not ranges:
            return True
        try:
            lines = self._evaluation.lines(self._log.reader, ranges, send_null=self._presentation.send_null)
        except (Damaged, FileNotFoundError):
            return False
        batch = Batch(self._log.sealer, self._log.position(self._offsets).with_batch(ranges, self._digest))
        kept = skip + self._allowance.take(max(0, len(lines) - skip))
        self._pending.extend((batch, number + 1, lines[number]) for number in range(skip, min(kept, len(lines))))
        if kept < len(lines):
            self._tell("skipped", {"rows": len(lines) - kept, "message": "more rows than the client wants in a second"})
        return True

    def _is_too_far_behind(self, unread: Unread) -> bool:
        seconds = monotonic() - self._caught_up_at
        is_late = seconds > MOST_BEHIND_SECONDS and not unread.is_all
        return self._caught_up_at < math.inf and (is_late or unread.bytes > MOST_BEHIND_BYTES)

    def _go_to_end(self, unread: Unread) -> None:
        """Leave out what is unread. How much that is, tells of hidden rows."""
        start_ms = self._caught_up_ms
        self._offsets = {name: each.size for name, each in self._log.reader.segments.items()}
        self._is_at_end, self._caught_up_at = True, monotonic()
        sizes = {"rows": unread.rows, "bytes": unread.bytes} if self._sees_all else {}
        self._tell_gap("slow", start_ms, self._log.listed_ms, **sizes)

    @property
    def _caught_up_ms(self) -> int:
        """When everything had been read; before that, when it was opened."""
        since = min(self._caught_up_at, monotonic()) if self._caught_up_at < math.inf else self._opened_at
        return self._log.listed_ms - int((monotonic() - since) * MS_PER_SECOND)


def _instant(ms: int) -> str:
    return (_EPOCH + timedelta(milliseconds=ms)).isoformat(timespec="milliseconds").replace("+00:00", "Z")
