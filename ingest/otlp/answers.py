"""The bodies of OTLP answers, in the encoding of the request. OTLP/HTTP, "OTLP/HTTP Response"."""

from typing import Final, NamedTuple

import orjson

from ingest.otlp.messages import camel_case
from ingest.otlp.reading import JSON, PROTOBUF
from ingest.proto.building import message_classes

# The responses of the three signals differ in names only, which protobuf does not send.
_ANSWERS: Final = message_classes(
    "weir.otlp",
    """
message ExportResponse {
  PartialSuccess partial_success = 1;
}
message PartialSuccess {
  int64 rejected = 1;
  string error_message = 2;
}
message Status {
  int32 code = 1;
  string message = 2;
}
""",
)

MEDIA_TYPES: Final = (PROTOBUF, JSON)


class Answer(NamedTuple):
    """A body and exactly the media type that it has: clients compare it as text, without parameters."""

    body: bytes
    media_type: str


def answer_type(media_type: str) -> str:
    """What to answer a request of this media type in; JSON for one that OTLP does not know."""
    return media_type if media_type in MEDIA_TYPES else JSON


def success(media_type: str, *, rejected: int, rejected_name: str, message: str) -> Answer:
    """An export response. Full success is the empty message: `partial_success` must not be there at all then.

    `rejected_name` is the field of the signal: `rejected_log_records`, `rejected_data_points`, `rejected_spans`.
    """
    if media_type == PROTOBUF:
        response = _ANSWERS["ExportResponse"]()
        if rejected:
            response.partial_success.rejected = rejected
            response.partial_success.error_message = message
        return Answer(response.SerializeToString(), PROTOBUF)
    # 64-bit integers are text in JSON.
    partial = {camel_case(rejected_name): str(rejected), "errorMessage": message}
    return Answer(orjson.dumps({"partialSuccess": partial} if rejected else {}), JSON)


# HTTP status to google.rpc.Code, as documented in google/rpc/code.proto.
_CODES: Final = {400: 3, 401: 16, 403: 7, 404: 5, 409: 6, 413: 8, 415: 3, 422: 3, 429: 8, 500: 13, 503: 14, 504: 4}
_UNKNOWN: Final = 2


def failure(media_type: str, *, status: int, message: str) -> Answer:
    """A google.rpc.Status for an HTTP status."""
    code = _CODES.get(status, _UNKNOWN)
    if media_type == PROTOBUF:
        return Answer(_ANSWERS["Status"](code=code, message=message).SerializeToString(), PROTOBUF)
    return Answer(orjson.dumps({"code": code, "message": message}), JSON)
