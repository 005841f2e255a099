"""Prometheus' remote-read request, by its field numbers (prompb/remote.proto)."""

from typing import Final

from ingest.proto.building import message_classes

_MESSAGES: Final = message_classes(
    "prometheus.read",
    """
message ReadRequest {
  repeated Query queries = 1;
  repeated int32 accepted_response_types = 2;
}
message Query {
  int64 start_timestamp_ms = 1;
  int64 end_timestamp_ms = 2;
  repeated LabelMatcher matchers = 3;
}
message LabelMatcher {
  int32 type = 1;
  string name = 2;
  string value = 3;
}
""",
)
ReadRequest: Final = _MESSAGES["ReadRequest"]
# prometheus.LabelMatcher.Type
OPERATIONS: Final = ("=", "!=", "=~", "!~")
# prometheus.ReadRequest.ResponseType
SAMPLES, STREAMED_XOR_CHUNKS = 0, 1
