"""What whoever follows the write-ahead log needs to know beyond this host's staging directory.

Knows the manifest and the other hosts, not what is in a segment. The log's readers list the staging directory on their
own, many times a second; this is asked once a second.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from models import segment
from storage.context import Layout
from storage.names import earliest, made_ms
from storage.wal.segments import SegmentRef, list_segments

# A segment may appear this much after another one that has a later name: from the making of its name to the directory
# entry it takes some milliseconds, and a stalled host some seconds.
MARGIN_MS: Final = 10_000
# So far the clocks of two hosts may be apart (auth/peers.py), by which segments are named.
CLOCKS_MS: Final = 30_000


@dataclass(frozen=True, slots=True)
class Survey:
    """`converted`: local segments that will not grow. `mirrors`: by host, its segments that may.

    `missing`: by host, why it cannot be asked; `mirrors` has then what it had. `left`: hosts that were there at the
    survey before, and are none of the deployment's any more.
    """

    converted: frozenset[str] = frozenset()
    mirrors: Mapping[str, Sequence[SegmentRef]] = field(default_factory=dict)
    missing: Mapping[str, str] = field(default_factory=dict)
    left: tuple[str, ...] = ()


class Surveyor:
    """Makes one survey after another. Not for two threads at once."""

    def __init__(self, layout: Layout) -> None:
        self._layout = layout
        self._last = Survey()

    @property
    def margin_ms(self) -> int:
        """A segment may still be unknown whose name is not older than this."""
        return MARGIN_MS if self._layout.peers is None else MARGIN_MS + CLOCKS_MS

    def survey(self, since_ms: int | None = None) -> Survey:
        """What is known now. Raises StorageUnavailable.

        `since_ms`: of the other hosts' converted segments those are wanted too that were made since then.
        """
        converted = self._converted()
        outcomes = {} if self._layout.peers is None else self._layout.peers.survey(self._after(since_ms))
        missing = {name: outcome for name, outcome in outcomes.items() if isinstance(outcome, str)}
        mirrors = {
            name: self._last.mirrors.get(name, ()) if isinstance(outcome, str) else outcome
            for name, outcome in outcomes.items()
        }
        left = tuple(sorted(self._last.mirrors.keys() - outcomes.keys()))
        self._last = Survey(converted, mirrors, missing, left)
        return self._last

    def _converted(self) -> frozenset[str]:
        names = {each.name for each in list_segments(self._layout.staging)}
        remembered = self._layout.converted
        if unknown := names - remembered.names:
            remembered.add(segment.converted(unknown))
        return remembered.names & names

    def _after(self, since_ms: int | None) -> Callable[[str], str | None]:
        """By host, the name beyond which its segments may be unknown here."""
        mirrors = self._last.mirrors
        newest = {host: max(each.name for each in segments) for host, segments in mirrors.items() if segments}
        known = {host: earliest(made_ms(last) - MARGIN_MS) for host, last in newest.items()}
        if since_ms is None:
            return known.get
        wanted = earliest(since_ms - CLOCKS_MS)
        return lambda host: min(known.get(host, wanted), wanted)
