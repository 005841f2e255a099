"""Answers that are still right: small results kept with what they were computed from.

Dashboards and alerts ask the same again and again, mostly of data that has not changed meanwhile. Files are immutable
and segments only grow, so an answer holds as long as the same files and the same frames are all that the time range
has, and the statement asks for neither the time nor chance.
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
    """The bytes of an answer, in their coding, and what was told ahead of them."""

    data: bytes
    note: Answer
    answer: Answer


class RecordingOutput:
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

    def remembered(self, answer: Answer) -> CachedResult:
        """What was said."""
        return CachedResult(bytes(self._data), self._note, answer)


class ResultCache:
    """The answers of one query process, the latest used last."""

    def __init__(self, places: SegmentIndex) -> None:
        self._places = places
        self._kept: OrderedDict[Key, CachedResult] = OrderedDict()

    def recall(self, key: Key) -> CachedResult | None:
        """The answer that was kept under the key."""
        result = self._kept.get(key)
        if result is not None:
            self._kept.move_to_end(key)
        return result

    def keep(self, key: Key, result: CachedResult) -> None:
        """Keep an answer if it is small."""
        if len(result.data) <= LARGEST_BYTES:
            self._kept[key] = result
            if len(self._kept) > MOST_ANSWERS:
                self._kept.popitem(last=False)

    def fingerprint(self, views: Mapping[str, DatasetView]) -> tuple[Fingerprint, ...] | None:
        """What the views read; None unless all that their files and frames hold is in their ranges, or it is much."""
        fingerprints: list[Fingerprint] = []
        for view in views.values():
            view_fingerprint = fingerprint(view.part, self._places)
            if view_fingerprint is None:
                return None
            fingerprints.append(view_fingerprint)
        return tuple(fingerprints)


def key_of(
    statement: Statement, request: Execute, views: Mapping[str, DatasetView], fingerprints: tuple[Fingerprint, ...]
) -> Key:
    """What an answer depends on: the statement, its form, who reads, and what there is to read."""
    return (
        statement.sql,
        # As text: in Python 1 equals 1.0 and true.
        repr(statement.parameters),
        request.options,
        request.coding,
        *((name, view.visible, view.source.only, view.source.snapshot.root) for name, view in views.items()),
        fingerprints,
    )
