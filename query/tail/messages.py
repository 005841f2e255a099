"""What a worker and its tail process say to each other. To the process it is pickled; what comes back never is."""

import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path
from typing import Final

from query.process.messages import Tags
from storage.read.contents import Schema
from storage.wal.segments import SegmentRef


@dataclass(frozen=True, slots=True)
class Begin:
    """The first message. Segments are in `staging`; positions are sealed under `key`; `cell` is the descriptor of
    the busy cell in the process `owner`.

    `margin_ms`: as `Surveyor.margin_ms`. A position is good for `horizon_ms`: segments stay longer than that.
    """

    staging: Path
    key: bytes
    margin_ms: int
    horizon_ms: int
    cell: int = -1
    owner: int = 0


@dataclass(frozen=True, slots=True)
class Surveyed:
    """What is known beyond the staging directory (`storage.read.survey`)."""

    converted: frozenset[str]
    mirrors: Mapping[str, Sequence[SegmentRef]]
    left: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Inspect:
    """Which datasets does the statement of a new tail name? Answered by `Said.INSPECTED`."""

    tail: int
    sql: str


@dataclass(frozen=True, slots=True)
class Presentation:
    """How a client wants its rows. `is_sse`: as server-sent events, else as lines of JSON.

    `rows_per_second`: others are counted rather than sent; None: all are sent.
    """

    is_sse: bool = True
    send_null: bool = True
    rows_per_second: int | None = None


@dataclass(frozen=True, slots=True)
class View:
    """The dataset as the tail's reader may see it: rows with one of the `permitted_tags` (None: all), of the `visible`
    columns, as stored. `unknown`: columns that records have and the manifest has not: they were dropped."""

    dataset: str
    schema: Schema
    visible: frozenset[str]
    permitted_tags: Tags | None = None
    unknown: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Open:
    """Follow the statement from `position` on, or, without one, from what was stored at most `seconds` ago.

    Answered by `Said.OPENED`, or by `Said.FAULT` for a statement that cannot be followed.
    """

    tail: int
    sql: str
    view: View
    presentation: Presentation
    now_ns: int
    position: str | None = None
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class More:
    """The tail's client has taken what was sent: one more batch may come."""

    tail: int


@dataclass(frozen=True, slots=True)
class Close:
    """Forget the tail."""

    tail: int


class Said(IntEnum):
    """What the process says of a tail. The content is JSON but for PIECE and BATCH."""

    INSPECTED = 1
    OPENED = 2
    PIECE = 3  # bytes for the client, more of the same batch follows
    BATCH = 4  # the last bytes of a batch, after the position behind them
    STALE = 5  # records have columns that the view lacks: open again with a new one, at the position
    FAULT = 6  # the tail ends by this error


REPLY: Final = struct.Struct("<IBH")
"""The beginning of a reply: the tail, what is said, the length of the position before the content."""


def reply(tail: int, said: Said, content: bytes, position: str = "") -> bytes:
    """The payload of a frame."""
    told = position.encode("ascii")
    return REPLY.pack(tail, said, len(told)) + told + content


def read_reply(payload: bytes) -> tuple[int, Said, str, bytes]:
    """The parts of a reply: tail, what is said, position, content."""
    tail, said, length = REPLY.unpack_from(payload)
    first = REPLY.size
    return tail, Said(said), payload[first : first + length].decode("ascii"), payload[first + length :]
