"""Answers that are still right: small results kept with what they were computed from.

Dashboards and alerts ask the same again and again, mostly of data that has not changed meanwhile. Files are immutable
and segments only grow, so an answer holds as long as the same files and the same decoded rows are all that the time
range has, and the statement asks for neither the time nor chance.
"""

import weakref
from collections import OrderedDict
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import polars as pl

from query.parse import Statement
from query.protocol import Answer
from query.requests import Execute
from query.view import View
from query.worker import Output
from storage.scan import unconverted
from storage.snapshot import Snapshot
from storage.tails import Tails
from storage.times import span

MOST_ANSWERS: Final = 256
LARGEST_BYTES: Final = 32 * 1024

Key = tuple[Hashable, ...]


@dataclass(frozen=True, slots=True)
class Remembered:
    """The bytes of an answer, in their coding, and what was told ahead of them."""

    data: bytes
    note: Answer
    answer: Answer
    rows: tuple["weakref.ref[pl.DataFrame]", ...]


class Recorded:
    """An output that remembers what went through it, as long as that is little."""

    def __init__(self, output: Output) -> None:
        self._output = output
        self._data = bytearray()
        self._note: Answer = {}
        self.is_repeatable = False

    def __call__(self, content: bytes, /) -> None:
        self._output(content)
        if len(self._data) <= LARGEST_BYTES:
            self._data += content

    def note(self, content: Answer, /) -> None:
        self._output.note(content)
        self._note = content

    def remembered(self, answer: Answer, rows: Sequence[pl.DataFrame]) -> Remembered:
        """What was said, and the rows of segments that it came from."""
        return Remembered(bytes(self._data), self._note, answer, tuple(map(weakref.ref, rows)))


class Memory:
    """The answers of one query process, the latest used last."""

    def __init__(self, tails: Tails) -> None:
        self._tails = tails
        self._kept: OrderedDict[Key, Remembered] = OrderedDict()

    def recall(self, key: Key, rows: Sequence[pl.DataFrame]) -> Remembered | None:
        """The answer that was kept under the key, if its rows of segments are these still."""
        found = self._kept.get(key)
        if found is None:
            return None
        if len(found.rows) != len(rows) or any(kept() is not now for kept, now in zip(found.rows, rows, strict=True)):
            del self._kept[key]
            return None
        self._kept.move_to_end(key)
        return found

    def keep(self, key: Key, found: Remembered) -> None:
        """Keep an answer if it is small."""
        if len(found.data) <= LARGEST_BYTES:
            self._kept[key] = found
            if len(self._kept) > MOST_ANSWERS:
                self._kept.popitem(last=False)

    def rows(self, views: Mapping[str, View]) -> list[pl.DataFrame] | None:
        """The rows of segments that the views read; None unless all of them, and of the files, are in range."""
        found: list[pl.DataFrame] = []
        for view in views.values():
            snapshot = view.part
            if not all(_holds(snapshot, file.tmin, file.tmax) for file in snapshot.files):
                return None
            rows = unconverted(snapshot, self._tails)
            if not all(_holds(snapshot, *span(each, snapshot.time_column)) for each in rows if each.height):
                return None
            found += rows
        return found


def key_of(statement: Statement, request: Execute, views: Mapping[str, View]) -> Key:
    """What an answer depends on besides the rows of segments: the statement, its form, and each view's files."""
    return (
        statement.sql,
        # As text: in Python 1 equals 1.0 and true.
        repr(statement.parameters),
        request.options,
        request.coding,
        *((name, *_identity(view)) for name, view in views.items()),
    )


def _identity(view: View) -> tuple[Hashable, ...]:
    snapshot = view.part
    paths = tuple(file.path for file in snapshot.files)
    return view.visible, view.source.only, snapshot.root, snapshot.schema, snapshot.time_column, paths


def _holds(snapshot: Snapshot, first: int, last: int) -> bool:
    """Whether all of a span of times (ns, both inclusive) is in the snapshot's range."""
    return (snapshot.start is None or first >= snapshot.start) and (snapshot.end is None or last < snapshot.end)
