"""The collector's answers: a text and Splunk's code for it."""

from typing import Final

import orjson

from errors import WeirError
from ingest.decoded import Answer, Divided, Stored
from ingest.splunk import codes

_JSON: Final = "application/json"
_CODES: Final = {
    401: codes.TOKEN_REQUIRED,
    403: codes.FORBIDDEN,
    413: codes.TOO_LARGE,
    500: codes.INTERNAL_ERROR,
    503: codes.BUSY,
}


def answer(text: str, code: int, status: int = 200, **members: object) -> Answer:
    """One of the collector's answers."""
    return Answer(orjson.dumps({"text": text, "code": code, **members}), _JSON, status)


def success(stored: Stored[Divided]) -> Answer:
    return answer("Success", codes.SUCCESS)


def failure(media_type: str, status: int, error: WeirError) -> Answer:
    """Senders read the code; `invalid-event-number` counts from 0, and nothing of the batch is stored."""
    index = error.details.get("index")
    members = {} if index is None else {"invalid-event-number": index}
    code = error.details.get(codes.DETAIL, _CODES.get(status, codes.INVALID_DATA))
    return answer(error.message, int(code), status, **members)


def key_of(authorization: str) -> str | None:
    """The secret in `Authorization: Splunk <secret>`.

    >>> key_of("Splunk abc"), key_of("Basic abc")
    ('abc', None)
    """
    scheme, _, secret = authorization.partition(" ")
    return secret.strip() if scheme.lower() == "splunk" else None
