"""The log as the tails of one process share it: what is listed, what may still grow, and positions in it."""

from collections.abc import Mapping
from dataclasses import dataclass

from query.tail.batch import Evaluations
from query.tail.log_reader import LogReader
from query.tail.messages import Begin, Surveyed
from query.tail.position import Position, Sealer, mark_of
from storage.names import made_ms


@dataclass
class Log:
    """`listed_ms`: when the segments were listed last. `surveyed`: what the worker has told of them."""

    begun: Begin
    reader: LogReader
    sealer: Sealer
    surveyed: Surveyed
    evaluations: Evaluations
    listed_ms: int = 0

    @property
    def floor_ms(self) -> int:
        """Segments with older names than this are all listed."""
        return self.listed_ms - self.begun.margin_ms

    def refresh(self, now_ms: int) -> None:
        """List the segments anew."""
        self.reader.refresh()
        self.listed_ms = now_ms

    def learn(self, surveyed: Surveyed) -> None:
        """From now on this is known of segments."""
        self.surveyed = surveyed
        self.reader.tell_mirrors(each for mirrors in surveyed.mirrors.values() for each in mirrors)

    def position(self, offsets: Mapping[str, int]) -> Position:
        """These offsets as a position. Left out is what was read to its end, will not grow, and is not new."""
        kept = {mark_of(name): at for name, at in offsets.items() if not self._is_over(name, at)}
        return Position(self.listed_ms, self.floor_ms, kept)

    def _is_over(self, name: str, offset: int) -> bool:
        segment = self.reader.segments.get(name)
        is_read = segment is None or offset >= segment.size
        return is_read and self._is_final(name) and made_ms(name) <= self.floor_ms

    def _is_final(self, name: str) -> bool:
        """Whether the segment will not grow. The other hosts' offers have those that may, and some others."""
        if not self.reader.is_mirror(name):
            return name in self.surveyed.converted
        return not any(each.name == name for mirrors in self.surveyed.mirrors.values() for each in mirrors)
