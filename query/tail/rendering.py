"""What a tail writes to its client: server-sent events (WHATWG HTML section 9.2) or lines of JSON. Pure, over bytes."""

from collections.abc import Iterable, Mapping
from typing import Final

import orjson

Told = Mapping[str, str | int | None]

# How long a client waits before it connects again (milliseconds); at a stop another worker has room at once.
RETRY_MS: Final = 1000


def begin(position: str, *, is_sse: bool) -> bytes:
    """The first bytes, which take the head of the answer with them. None does so too (`serving`).

    Whoever is interrupted before the first row goes on from here as well.
    """
    return b": following\nretry: %d\nid: %b\n\n" % (RETRY_MS, position.encode()) if is_sse else b""


def rows(lines: Iterable[tuple[str, bytes]], *, is_sse: bool) -> bytes:
    r"""Rows, each a position and an object of JSON.

    >>> rows([("p1", b'{"a":1}')], is_sse=True)
    b'id: p1\ndata: {"a":1}\n\n'
    """
    if is_sse:
        return b"".join(b"id: %b\ndata: %b\n\n" % (position.encode(), line) for position, line in lines)
    return b"".join(b"%b\n" % line for _, line in lines)


def end(told: Told, retry_seconds: int | None, *, is_sse: bool) -> bytes:
    r"""Why the stream ends, and after how many seconds it is worth coming again, if it is.

    >>> end({"code": "shutting_down"}, 1, is_sse=True)
    b'retry: 1000\nevent: end\ndata: {"code":"shutting_down","retryAfterSeconds":1}\n\n'
    """
    retry = b"retry: %d\n" % (retry_seconds * 1000) if is_sse and retry_seconds is not None else b""
    return retry + event("end", {**told, "retryAfterSeconds": retry_seconds}, is_sse=is_sse)


def event(name: str, told: Told, *, is_sse: bool, position: str | None = None) -> bytes:
    r"""Something about the rows: what was skipped, who is missing, why this ends. Members that are None are left out.

    >>> event("gap", {"reason": "slow", "rows": None}, is_sse=False)
    b'{"_weir":{"event":"gap","reason":"slow"}}\n'
    """
    known = {key: value for key, value in told.items() if value is not None}
    if not is_sse:
        return orjson.dumps({"_weir": {"event": name, **known}}) + b"\n"
    identified = b"" if position is None else b"id: %b\n" % position.encode()
    return b"event: %b\n%bdata: %b\n\n" % (name.encode(), identified, orjson.dumps(known))


def place(position: str, *, is_sse: bool) -> bytes:
    """A position without a row: a client that connects again then need not go back to the last row, long ago.

    An event without data is none, but its `id` counts (section 9.2.6).
    """
    return b"id: %b\n\n" % position.encode() if is_sse else b""


def alive(*, is_sse: bool) -> bytes:
    """A sign of life that is no event. A line without content is no JSON, and ignored by those who read lines of it."""
    return b": alive\n\n" if is_sse else b"\n"
