"""The result cache: small results, kept with the fingerprints of the rows that they were computed from.

Dashboards and alerts repeat their queries, mostly over data that has not changed meanwhile. Files are immutable and
segments only grow, so a result is valid as long as the time range has the same files and the same records, and the
statement calls neither the clock nor a random function.
"""

from collections import OrderedDict
from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import Final

from query.process.dataset_view import DatasetView
from query.process.messages import Execute
from query.process.protocol import Answer
from query.process.worker import Output
from query.syntax.parse import Statement
from storage.read.fingerprint import Fingerprint, fingerprint
from storage.wal.index import SegmentIndex

MOST_ANSWERS: Final = 256
LARGEST_BYTES: Final = 32 * 1024

Key = tuple[Hashable, ...]


@dataclass(frozen=True, slots=True)
class CachedResult:
    """The bytes of a result in their coding, the note before them, and the answer after them."""

    data: bytes
    note: Answer
    answer: Answer


class RecordingOutput:
    """An output that records the data that passes through it, up to a limit."""

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

    def result(self, answer: Answer) -> CachedResult:
        """The recorded data, with the answer that ended it."""
        return CachedResult(bytes(self._data), self._note, answer)


class ResultCache:
    """The results of one query process, in order of their last use."""

    def __init__(self, segment_index: SegmentIndex) -> None:
        self._segment_index = segment_index
        self._results: OrderedDict[Key, CachedResult] = OrderedDict()

    def get(self, key: Key) -> CachedResult | None:
        """The result under the key."""
        result = self._results.get(key)
        if result is not None:
            self._results.move_to_end(key)
        return result

    def put(self, key: Key, result: CachedResult) -> None:
        """Keep a result if it is small."""
        if len(result.data) <= LARGEST_BYTES:
            self._results[key] = result
            if len(self._results) > MOST_ANSWERS:
                self._results.popitem(last=False)

    def fingerprint(self, views: Mapping[str, DatasetView]) -> tuple[Fingerprint, ...] | None:
        """The fingerprints of what the views read; None if files or records reach beyond a range, or are too many."""
        fingerprints: list[Fingerprint] = []
        for view in views.values():
            view_fingerprint = fingerprint(view.part, self._segment_index)
            if view_fingerprint is None:
                return None
            fingerprints.append(view_fingerprint)
        return tuple(fingerprints)


def key_of(
    statement: Statement, request: Execute, views: Mapping[str, DatasetView], fingerprints: tuple[Fingerprint, ...]
) -> Key:
    """What a result depends on: the statement, the output format, the reader's view, and the rows."""
    return (
        statement.sql,
        # As text: in Python 1 equals 1.0 and true.
        repr(statement.parameters),
        request.options,
        request.coding,
        request.route,
        request.zone,
        *((name, view.visible, view.source.permitted_tags, view.source.snapshot.root) for name, view in views.items()),
        fingerprints,
    )
