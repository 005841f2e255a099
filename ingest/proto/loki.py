"""Loki's push messages, by their field numbers (pkg/push/push.proto).

Texts are declared as bytes: Promtail sends the lines of a file as they are, and protobuf would refuse a whole request
for one byte that is not UTF-8. Structured metadata stays encoded, because most of it repeats (ingest/encoded_pairs.py).
"""

from typing import Final

from ingest.proto.building import message_classes

_MESSAGES: Final = message_classes(
    "logproto",
    """
message PushRequest {
  repeated Stream streams = 1;
}
message Stream {
  bytes labels = 1;
  repeated Entry entries = 2;
}
message Entry {
  Timestamp timestamp = 1;
  bytes line = 2;
  repeated bytes structuredMetadata = 3;
}
message LabelPair {
  bytes name = 1;
  bytes value = 2;
}
message Timestamp {
  int64 seconds = 1;
  int32 nanos = 2;
}
""",
)
LabelPair: Final = _MESSAGES["LabelPair"]
PushRequest: Final = _MESSAGES["PushRequest"]
