"""What every decoder gives, and what a protocol says to its senders. Knows no HTTP library and no storage."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final, Generic, NamedTuple, TypeVar

from columns import Batch
from errors import WeirError
from metric_columns import MetricMetadata


@dataclass(frozen=True, slots=True)
class Decoded:
    """The rows of a request and what its answer has to say: how many records were refused, and why.

    `reasons` counts the refused by a word for each kind of objection; `message` tells of the first in full.
    `metadata`: what the request says of metrics, by their names.
    """

    batch: Batch
    reasons: Mapping[str, int] = field(default_factory=dict)
    message: str = ""
    metadata: Mapping[str, MetricMetadata] = field(default_factory=dict)

    @property
    def rejected(self) -> int:
        """How many are left out, for all reasons together."""
        return sum(self.reasons.values())


class Part(NamedTuple):
    """What of a request goes to one dataset, and what it says of metrics there. No other part goes there."""

    dataset: str
    batch: Batch
    metadata: Mapping[str, MetricMetadata] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Divided(Decoded):
    """A request whose events name their datasets: its rows are those of its parts, `batch` has none."""

    parts: tuple[Part, ...] = ()


EMPTY: Final = Batch((), (), 0)


class NotTogether(Exception):
    """These bodies must be decoded one by one, each from its own text."""


D = TypeVar("D", bound=Decoded)


class RefusedPart(NamedTuple):
    """Why nothing was stored in one of the request's datasets, and the HTTP status of that."""

    status: int
    error: WeirError


class Stored(NamedTuple, Generic[D]):
    """What became of a request whose events are durable, now or, for a duplicate, since the first of its kind.

    `refused` names the datasets of a divided request in which nothing was stored, where the others were.
    `decoded` gives what its body holds. It costs a duplicate its decoding, so only who needs it should ask.
    """

    dataset: str
    events: int
    is_duplicate: bool
    media_type: str
    decoded: Callable[[], D]
    refused: Mapping[str, "RefusedPart"] = MappingProxyType({})


class Answer(NamedTuple):
    """An answer as it goes out. `media_type` is exact: OTLP's clients compare it as text, without parameters."""

    body: bytes
    media_type: str
    status: int = 200
    headers: Mapping[str, str] = MappingProxyType({})
