"""Results of queries on their way to the client: in which coding, and what happens if they end half-way."""

import errno
import logging
from collections.abc import Iterator

from flask import request

from errors import WeirError
from query.process.result import Result
from query.results.content_coding import CODINGS

logger = logging.getLogger(__name__)


def accepted_coding() -> str:
    """The coding that the client likes best; of equals the one that packs better."""
    qualities = {coding: request.accept_encodings.quality(coding) for coding in ("zstd", "gzip") if coding in CODINGS}
    best = max(qualities, key=lambda coding: qualities[coding])
    return best if qualities[best] > 0 else "identity"


class Body:
    """A result as the server iterates over it."""

    def __init__(self, result: Result) -> None:
        self._result = result

    def __iter__(self) -> Iterator[bytes]:
        try:
            yield from self._result
        except WeirError as error:
            logger.info("a result ended half-way: %s", error.code)
            # The status is long out. A connection that breaks tells every client that this is not the whole result.
            raise ConnectionResetError(errno.ECONNRESET, "the query ended half-way") from error

    def close(self) -> None:
        self._result.close()
