"""The bodies of OTLP answers, in the encoding of the request. OTLP/HTTP, "OTLP/HTTP Response"."""

from typing import Final

import orjson

from errors import WeirError
from ingest.decoded import Answer, Decoded, Stored
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
  repeated Any details = 3;
}
message Any {
  string type_url = 1;
  bytes value = 2;
}
message RetryInfo {
  Duration retry_delay = 1;
}
message Duration {
  int64 seconds = 1;
}
""",
)


def success(stored: Stored[Decoded], *, rejected_name: str) -> Answer:
    """An export response. Full success is the empty message: `partial_success` must not be there at all then.

    `rejected_name` is the field of the signal: `rejected_log_records`, `rejected_data_points`, `rejected_spans`.
    """
    decoded = stored.decoded()
    if stored.media_type == PROTOBUF:
        response = _ANSWERS["ExportResponse"]()
        if decoded.rejected:
            response.partial_success.rejected = decoded.rejected
            response.partial_success.error_message = decoded.message
        return Answer(response.SerializeToString(), PROTOBUF)
    # 64-bit integers are text in JSON.
    partial = {camel_case(rejected_name): str(decoded.rejected), "errorMessage": decoded.message}
    return Answer(orjson.dumps({"partialSuccess": partial} if decoded.rejected else {}), JSON)


# HTTP status to google.rpc.Code, as documented in google/rpc/code.proto.
_CODES: Final = {400: 3, 401: 16, 403: 7, 404: 5, 409: 6, 413: 8, 415: 3, 422: 3, 429: 8, 500: 13, 503: 14, 504: 4}
_UNKNOWN: Final = 2


_RETRY_INFO: Final = "type.googleapis.com/google.rpc.RetryInfo"


def rpc_code(status: int) -> int:
    """The google.rpc.Code of an HTTP status."""
    return _CODES.get(status, _UNKNOWN)


def rpc_status(code: int, message: str, retry_seconds: int | None = None) -> bytes:
    """A google.rpc.Status, with a RetryInfo (google/rpc/error_details.proto) where a time is known."""
    status = _ANSWERS["Status"](code=code, message=message)
    if retry_seconds is not None:
        info = _ANSWERS["RetryInfo"](retry_delay=_ANSWERS["Duration"](seconds=retry_seconds))
        status.details.add(type_url=_RETRY_INFO, value=info.SerializeToString())
    return bytes(status.SerializeToString())


def failure(media_type: str, status: int, error: WeirError) -> Answer:
    """A google.rpc.Status for an HTTP status, in the encoding of the request; JSON where OTLP does not know that."""
    code = rpc_code(status)
    if media_type == PROTOBUF:
        return Answer(rpc_status(code, error.message), PROTOBUF, status)
    return Answer(orjson.dumps({"code": code, "message": error.message}), JSON, status)
