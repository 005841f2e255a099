"""What one protocol of ingestion is: values and pure functions, no more. The pipeline does everything with them."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Generic

from flask import Request

from columns import Batch
from errors import InternalError, WeirError
from ingest.decoded import Answer, D, Stored

# Handing a small body to another thread costs more than decoding it here.
INLINE_BYTES: Final = 64 * 1024

# Decoding JSON, OTLP and Loki's pushes holds the interpreter wherever it runs: up to this size, some milliseconds, a
# thread only costs (docs/decisions/ingestion.md).
MOST_INLINE_BYTES: Final = 512 * 1024

# Of several bodies, with the limit of columns: their events in order, and how many each body has. Raises NotTogether.
DecodeTogether = Callable[[Sequence[bytes], int], tuple[Batch, list[int]]]

# From the request's media type, the status and the error.
Failure = Callable[[str, int, WeirError], Answer]


# An estimate of the memory that decoding takes, from the body, its media type and a limit at which counting may stop.
Cost = Callable[[bytes, str, int], int]


@dataclass(frozen=True, slots=True)
class Shortcut(Generic[D]):
    """A cheaper decoder for most bodies. It gives None for one that it cannot take; `Endpoint.decode` then gets it."""

    decode: Callable[[bytes, str, int], D | None]
    cost: Cost


@dataclass(frozen=True, slots=True)
class Endpoint(Generic[D]):
    """One path of a protocol. Its dataset is named by the path, where that has a `<name>`, else by X-P-Stream.

    - `media_type` gives what the decoder has to know of the request's media type. Raises UnsupportedMedia.
    - `decode` takes the body, that media type and the limit of columns. Bodies of `inline_bytes` and more are decoded
      in a thread.
    - `cost`: its estimate counts as in flight while the body is decoded, and beyond that limit it is refused before
      any object exists. None: the decoder bounds its memory by itself.
    - `shortcut` is tried first.
    - `success` makes the answer when the events are durable, also that of a partial success.
    - `telemetry_type` of a dataset that is created. None: what X-P-Telemetry-Type says, or logs.
    - `time_field`: the records' own time, by which ranges go in a dataset that is created here. Records without it get
      the time of their arrival. None: the time of arrival, unless X-P-Time-Partition names a field.
    - `log_source` has to be in X-P-Log-Source. None: anything may, but what belongs to OTLP.
    - `decode_together`: small bodies wait for each other and are decoded and stored as one batch. The decoder must not
      depend on the media type then.
    - `names_datasets`: X-P-Stream may be missing, the decoder then takes names from the body and gives a `Divided`.
    - `refuses_parts`: what is wrong with one of several datasets is told by `success`, and the others are stored.
    - `bound` gives the endpoint as one request wants it: from the request, the dataset that X-P-Stream names, if it
      does, and the `<name>` of the path.
    - `coding` gives the content coding of a body whose request names none.
    """

    name: str
    path: str
    media_type: Callable[[Request], str]
    decode: Callable[[bytes, str, int], D]
    success: Callable[[Stored[D]], Answer]
    telemetry_type: str | None = None
    time_field: str | None = None
    log_source: str | None = None
    must_exist: bool = False
    inline_bytes: int = INLINE_BYTES
    decode_together: DecodeTogether | None = None
    cost: Cost | None = None
    shortcut: Shortcut[D] | None = None
    names_datasets: bool = False
    refuses_parts: bool = False
    bound: "Callable[[Request, str | None, str | None], Endpoint[D]] | None" = None
    coding: Callable[[Request], str] | None = None
    aliases: tuple[str, ...] = ()
    methods: tuple[str, ...] = ("POST",)


@dataclass(frozen=True, slots=True)
class Protocol:
    """A row of the table. `name` is that of its routes, and what its rejected events are counted under.

    - `failure` makes the answer to a refusal. None: it has the error shape of all other routes.
    - `fault` is what an error that nobody foresaw is told as.
    - `key_of` reads a key's secret from an Authorization header of the protocol's own scheme.
    - `headers` go with every answer.
    """

    name: str
    endpoints: tuple[Endpoint[Any], ...]
    failure: Failure | None = None
    fault: type[WeirError] = InternalError
    key_of: Callable[[str], str | None] | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
