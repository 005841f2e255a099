"""What a call's failure looks like: a status of gRPC, and whether and when to try again. OTLP/gRPC, "Failures"."""

from typing import Any, Final, NamedTuple

import grpc

from errors import Overloaded, WeirError
from ingest.otlp.answers import rpc_code, rpc_status
from web.errors import status_of

# By the number that google.rpc.Code and gRPC have in common.
_CODES: Final = {code.value[0]: code for code in grpc.StatusCode}
# A text goes as a header, of which a connection takes so much; the rest of it would be lost with the status.
LONGEST_TEXT: Final = 1_000
DETAILS: Final = "grpc-status-details-bin"


class Failure(NamedTuple):
    """`status` is that which the same refusal has over HTTP: what is counted has one vocabulary."""

    status: int
    code: grpc.StatusCode
    text: str
    metadata: tuple[tuple[str, Any], ...]


def failure_of(error: WeirError, request_id: str) -> Failure:
    """Only with RetryInfo does an exporter try again what was refused as too much."""
    status = status_of(error)
    code = rpc_code(status)
    text = error.message[:LONGEST_TEXT]
    retry_seconds = error.retry_after_seconds if isinstance(error, Overloaded) else None
    return Failure(
        status,
        _CODES[code],
        text,
        ((DETAILS, rpc_status(code, text, retry_seconds)), ("x-request-id", request_id)),
    )
