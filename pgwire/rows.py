"""Rows on their way to a client: of a running query, or at hand. Taken some at a time, in whole messages.

A block (query/results/data_rows.py) is some rows as whole messages; what is not asked for yet stays here, or in the
query process, which waits.
"""

import tempfile
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import IO, Final, Protocol

from errors import InternalError
from pgwire.errors import PgError
from pgwire.messages import LENGTH, data_row
from query.parameters import RandomState
from query.process.result import Result

HEAD_BYTES: Final = 8
# A cursor's rows beyond this are more than a client will ever read from it (docs/postgres.md).
LARGEST_SPOOL_BYTES: Final = 1024 * 1024 * 1024


class Rows(Protocol):
    """`take` gives so many rows at most, 0: all. Then `given` is their number, and `is_over` if no more come."""

    given: int
    is_over: bool

    def take(self, most: int) -> Iterator[bytes | memoryview]: ...
    def spool(self, directory: Path) -> None: ...
    def close(self) -> None: ...


class HeldRows:
    """Rows at hand."""

    def __init__(self, rows: list[bytes]) -> None:
        self._rows = rows
        self.given = 0
        self.is_over = False

    @classmethod
    def of_texts(cls, rows: Iterable[Sequence[str]]) -> "HeldRows":
        return cls([data_row(text.encode() for text in row) for row in rows])

    def take(self, most: int) -> Iterator[bytes | memoryview]:
        taken, self._rows = (self._rows[:most], self._rows[most:]) if most else (self._rows, [])
        self.given, self.is_over = len(taken), not self._rows and (not most or len(taken) < most)
        yield b"".join(taken)

    def spool(self, directory: Path) -> None:
        """They are here already."""

    def close(self) -> None:
        self._rows = []


class CursorRows:
    """The next rows of a cursor, which others take later."""

    def __init__(self, rows: Rows, most: int, keep: bool = True) -> None:
        self._rows, self._left, self._keep = rows, most, keep
        self.given = 0
        self.is_over = False

    def take(self, most: int) -> Iterator[bytes | memoryview]:
        """At most what FETCH says; of those, what Execute says."""
        self.given = 0
        if self._left == 0:
            self.is_over = True
            return
        wanted = self._left if self._left > 0 else 0
        limit = min(wanted, most) if wanted and most else wanted or most
        for piece in self._rows.take(limit):
            if self._keep:
                yield piece
        self.given = self._rows.given
        if self._left > 0:
            self._left -= self.given
        self.is_over = self._left == 0 or self._rows.is_over or not most

    def spool(self, directory: Path) -> None:
        """The cursor does."""

    def close(self) -> None:
        """The cursor does."""


class QueryRows:
    """The rows of a query that may still run. It holds its query process until the last row is taken."""

    def __init__(self, result: Result) -> None:
        self._result = result
        self._blocks = _blocks(iter(result))
        self._rest, self._rest_rows = memoryview(b""), 0
        self._spool: IO[bytes] | None = None
        self.given = 0
        self.is_over = False

    @property
    def random(self) -> RandomState | None:
        """Where the session's random numbers go on after the last row, if it has set a seed."""
        return self._result.random

    def take(self, most: int) -> Iterator[bytes | memoryview]:
        self.given = 0
        while not most or self.given < most:
            if not self._rest:
                block = next(self._blocks, None)
                if block is None:
                    self.is_over = True
                    return
                self._rest_rows, self._rest = block
            yield self._cut(most - self.given if most else 0)

    def _cut(self, most: int) -> memoryview:
        """What is left of the block, or its first rows."""
        if not most or self._rest_rows <= most:
            content, self._rest = self._rest, memoryview(b"")
            self.given += self._rest_rows
            return content
        end = 0
        for _ in range(most):
            end += 1 + int(LENGTH.unpack_from(self._rest, end + 1)[0])
        content, self._rest = self._rest[:end], self._rest[end:]
        self._rest_rows -= most
        self.given += most
        return content

    def spool(self, directory: Path) -> None:
        """Read the query to its end into a file that has no name, so that its process is free for other statements."""
        if self._spool is not None or self._result.length is not None:
            return
        self._spool = tempfile.TemporaryFile(dir=directory)  # noqa: SIM115  # open as long as the cursor is
        for piece in self._unread():
            self._spool.write(piece)
            if self._spool.tell() > LARGEST_SPOOL_BYTES:
                self.close()
                raise PgError("54000", f"a cursor of more than {LARGEST_SPOOL_BYTES} bytes beside other statements")
        self._spool.seek(0)
        self._blocks = _blocks(iter(lambda: self._spool.read(1 << 18) if self._spool else b"", b""))

    def _unread(self) -> Iterator[bytes]:
        for count, content in self._blocks:
            yield len(content).to_bytes(4, "little") + count.to_bytes(4, "little")
            yield bytes(content)

    def close(self) -> None:
        self._result.close()
        self._blocks, self._rest = iter(()), memoryview(b"")
        if self._spool is not None:
            self._spool.close()


def _blocks(pieces: Iterator[bytes]) -> Iterator[tuple[int, memoryview]]:
    """Number of rows and content of each block, however the bytes were cut on their way."""
    held = bytearray()
    for piece in pieces:
        held += piece
        if _block_end(held, 0) > len(held):
            continue
        content, start = memoryview(bytes(held)), 0
        while (end := _block_end(content, start)) <= len(content):
            yield int.from_bytes(content[start + 4 : start + HEAD_BYTES], "little"), content[start + HEAD_BYTES : end]
            start = end
        held = bytearray(content[start:])
    if held:
        raise InternalError("a query process ended within a block of rows")


def _block_end(content: bytearray | memoryview, start: int) -> int:
    """Where the block that begins there ends; its head has to be there to know."""
    head_end = start + HEAD_BYTES
    if head_end > len(content):
        return head_end
    return head_end + int.from_bytes(content[start : start + 4], "little")
