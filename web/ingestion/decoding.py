"""The stage that decodes: within the memory that is free for it, and in a thread where it takes long."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

from ingest.decoded import Decoded
from web.inflight import Inflight
from web.ingestion.protocol import Cost, Endpoint

# Objects estimated to take more are made off the hub: this much takes 5 to 15 ms. Half of it are 1,000 usual records.
INLINE_COST_BYTES: Final = 4 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Decoder:
    """Decodes the bodies of one process. `inflight` is what its bodies, and their objects, take of its memory.

    `offload` calls a function where that may take long.
    """

    inflight: Inflight
    max_columns: int
    offload: Callable[[Callable[[], Any]], Any]

    def decode(
        self, endpoint: Endpoint[Any], body: bytes, media_type: str, require_present: Callable[[], None]
    ) -> Decoded:
        """What the body holds.

        `require_present` raises ClientGone when nobody waits for the answer; it is asked before work that takes long.
        Raises TooLarge, Overloaded, ClientGone, and what the decoder raises.
        """
        way = _Way(self, body, media_type, len(body) < endpoint.inline_bytes, require_present)
        if endpoint.shortcut is not None:
            decoded: Decoded | None = way.take(endpoint.shortcut.decode, endpoint.shortcut.cost)
            if decoded is not None:
                return decoded
        whole: Decoded = way.take(endpoint.decode, endpoint.cost)
        return whole


@dataclass(frozen=True, slots=True)
class _Way:
    decoder: Decoder
    body: bytes
    media_type: str
    is_small: bool
    require_present: Callable[[], None]

    def take(self, decode: Callable[[bytes, str, int], Any], cost: Cost | None) -> Any:
        """The result of `decode`, whose objects are accounted for before they exist."""
        inflight, offload = self.decoder.inflight, self.decoder.offload
        work = partial(decode, self.body, self.media_type, self.decoder.max_columns)
        if cost is None:
            return work() if self.is_small else offload(work)
        estimate = partial(cost, self.body, self.media_type, inflight.limit_bytes)
        estimated_bytes = estimate() if self.is_small else offload(estimate)
        with inflight.decoding(self.body, estimated_bytes):
            if self.is_small and estimated_bytes < INLINE_COST_BYTES:
                return work()
            self.require_present()
            return offload(work)
