"""Small JSON bodies of several requests, decoded together: Polars costs the same for one event as for twenty."""

from collections.abc import Sequence
from typing import Any

from columns import Batch
from ingest.builder import BatchBuilder
from ingest.flatten import Rules, flatten
from ingest.json_events import RESERVED, has_rounded, require_objects
from ingest.json_framing import runs
from ingest.routing import route


class NotTogether(Exception):
    """These events must be decoded request by request, each from its own text."""


def read(body: bytes) -> list[Any]:
    """The events of one body, not flattened yet. Raises InvalidJSON, InvalidEvent."""
    events = [event for run in runs(body) for event in run.events]
    require_objects(events, 0)
    return events


def decode(events: Sequence[Any], *, max_columns: int) -> Batch:
    """The events of several bodies, in order, as `json_events.decode` would give them for one.

    Raises NotTogether when an integer was rounded on the way, and what `json_events.decode` raises; whose event that
    is about is for the caller to find out, by decoding the bodies one by one.
    """
    columns = flatten(events, Rules(max_columns=max_columns, reserved=RESERVED))
    routed = route(columns)
    if has_rounded(columns, routed):
        raise NotTogether("an integer beyond 64 bits")
    builder = BatchBuilder(max_columns=max_columns)
    builder.add(routed, len(events))
    return builder.finish()
