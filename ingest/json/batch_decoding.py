"""Small JSON bodies of several requests, decoded together: Polars costs the same for one event as for twenty."""

from collections.abc import Sequence
from itertools import islice
from typing import Any

from columns import Batch
from ingest.batch_builder import BatchBuilder
from ingest.column_values import route
from ingest.decoded import NotTogether
from ingest.flatten import Rules, flatten
from ingest.json.decoding import RESERVED, has_rounded, require_objects
from ingest.json.fast_path import shapes
from ingest.json.framing import Chunk, parts_of, runs


def decode(bodies: Sequence[bytes], max_columns: int) -> tuple[Batch, list[int]]:
    """The events of several bodies, in order, as `decoding.decode` would give them for one; how many each has.

    Raises NotTogether when an integer was rounded on the way, and what `decoding.decode` raises; whose event that is
    about is for the caller to find out, by decoding the bodies one by one.
    """
    rules = Rules(max_columns=max_columns, reserved=RESERVED)
    return _alike(bodies, rules) or _exactly(bodies, rules)


def _alike(bodies: Sequence[bytes], rules: Rules) -> tuple[Batch, list[int]] | None:
    """The bodies' events, read as one array, and how many each body has; None if they are not all alike."""
    parts = list(map(parts_of, bodies))
    read = shapes(rules).read_parts([part for each, _ in parts for part in each])
    if read is None:
        return None
    batch, of_parts = read[0], iter(read[1])
    counts = [sum(islice(of_parts, len(each))) for each, _ in parts]
    is_right = all(objects in (0, count) for (_, objects), count in zip(parts, counts, strict=True))
    return (batch, counts) if is_right else None


def _exactly(bodies: Sequence[bytes], rules: Rules) -> tuple[Batch, list[int]]:
    events = [_events(body) for body in bodies]
    together = [event for each in events for event in each]
    columns = flatten(together, rules)
    routed = route(columns)
    if has_rounded(columns, routed):
        raise NotTogether("an integer beyond 64 bits")
    shapes(rules).learn(together, routed)
    builder = BatchBuilder(max_columns=rules.max_columns)
    builder.add(routed, len(together))
    return builder.finish(), list(map(len, events))


def _events(body: bytes) -> list[Any]:
    events = [event for run in runs(body) if isinstance(run, Chunk) for event in run.events]
    require_objects(events, 0)
    return events
