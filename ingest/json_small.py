"""Small JSON bodies of several requests, decoded together: Polars costs the same for one event as for twenty."""

from collections.abc import Iterator, Sequence
from typing import Any

from columns import Batch
from ingest.builder import BatchBuilder
from ingest.flatten import Rules, flatten
from ingest.json_alike import Alike, shapes
from ingest.json_events import RESERVED, has_rounded, require_objects
from ingest.json_framing import Run, as_array, runs
from ingest.routing import route


class NotTogether(Exception):
    """These events must be decoded request by request, each from its own text."""


def decode(bodies: Sequence[bytes], *, max_columns: int) -> tuple[Batch, list[int]]:
    """The events of several bodies, in order, as `json_events.decode` would give them for one; how many each has.

    Raises NotTogether when an integer was rounded on the way, and what `json_events.decode` raises; whose event that
    is about is for the caller to find out, by decoding the bodies one by one.
    """
    rules = Rules(max_columns=max_columns, reserved=RESERVED)
    builder = BatchBuilder(max_columns=max_columns)
    counts = []
    for alike, heights in _alike(bodies, rules) or [_exactly(bodies, rules)]:
        builder.add(*alike)
        counts += heights
    return builder.finish(), counts


def _alike(bodies: Sequence[bytes], rules: Rules) -> list[tuple[Alike, list[int]]]:
    """The bodies' events and their numbers, if those of each body are all alike; else nothing."""
    found = []
    for text, heights in _arrays(bodies):
        alike = shapes(rules).read(text)
        if alike is None or (heights and sum(heights) != alike.height):
            return []
        found.append((alike, heights or [alike.height]))
    return found


def _arrays(bodies: Sequence[bytes]) -> Iterator[tuple[bytes, list[int]]]:
    """The bodies as arrays, with the number of events of each body in them where that is known.

    Those of one object to a line make one array together. Where an array of events that are alike, and so have no
    lists of objects, has been joined between a `}` and a `{`, one event ends and another begins: if it has as many
    events as there were lines, each line was one.
    """
    arrays = [as_array(body) for body in bodies]
    if all(lines and text.startswith(b"[{") and text.endswith(b"}]") for text, lines in arrays):
        yield b"[" + b",".join(text[1:-1] for text, _ in arrays) + b"]", [lines for _, lines in arrays]
        return
    yield from ((text, [lines] if lines else []) for text, lines in arrays)


def _exactly(bodies: Sequence[bytes], rules: Rules) -> tuple[Alike, list[int]]:
    events = [_events(body) for body in bodies]
    together = [event for each in events for event in each]
    columns = flatten(together, rules)
    routed = route(columns)
    if has_rounded(columns, routed):
        raise NotTogether("an integer beyond 64 bits")
    shapes(rules).learn(together, routed)
    return Alike(routed, len(together)), list(map(len, events))


def _events(body: bytes) -> list[Any]:
    events = [event for run in runs(body) if isinstance(run, Run) for event in run.events]
    require_objects(events, 0)
    return events
