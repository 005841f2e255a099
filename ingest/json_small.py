"""Small JSON bodies of several requests, decoded together: Polars costs the same for one event as for twenty."""

from collections.abc import Sequence
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
    alike, counts = _alike(bodies, rules) or _exactly(bodies, rules)
    builder = BatchBuilder(max_columns=max_columns)
    builder.add(*alike)
    return builder.finish(), counts


def _alike(bodies: Sequence[bytes], rules: Rules) -> tuple[Alike, list[int]] | None:
    """The bodies' events, read as one array, and how many each body has; None if they are not all alike.

    Where an array of such events, which have no lists of objects, was joined between a `}` and a `{`, one event ends
    and the next begins, as at each `},{` that is not in a string. So no body has more events than were counted, and
    if all have as many together, each has.
    """
    arrays = [as_array(body) for body in bodies]
    counts = [text.count(b"},{") + 1 for text, _ in arrays]
    if not all(map(_is_countable, arrays, counts)):
        return None
    alike = shapes(rules).read(b"[" + b",".join([text[1:-1] for text, _ in arrays]) + b"]")
    return None if alike is None or alike.height != sum(counts) else (alike, counts)


def _is_countable(array: tuple[bytes, int], count: int) -> bool:
    text, lines = array
    return text.startswith(b"[{") and text.endswith(b"}]") and lines in (0, count)


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
