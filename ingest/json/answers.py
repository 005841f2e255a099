"""The answer to JSON events (api.md section 4)."""

import orjson

from ingest.decoded import Answer, Decoded, Stored


def success(stored: Stored[Decoded]) -> Answer:
    """How many events, and whether an earlier request with this Idempotency-Key stored them.

    >>> success(Stored("app", 3, False, "application/json", lambda: None)).body
    b'{"dataset":"app","events":3}'
    """
    answer = {"dataset": stored.dataset, "events": stored.events}
    return Answer(orjson.dumps({**answer, "duplicate": True} if stored.is_duplicate else answer), "application/json")
