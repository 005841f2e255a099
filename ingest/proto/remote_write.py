"""Prometheus remote-write messages, versions 1.0 and 2.0, by their field numbers.

Protocol: https://prometheus.io/docs/specs/prw/remote_write_spec/ and .../remote_write_spec_2_0/.
"""

from typing import Final

from ingest.proto.building import message_classes

# What both versions share. `start_timestamp` is of 2.0.
_HISTOGRAM: Final = """
message BucketSpan {
  sint32 offset = 1;
  uint32 length = 2;
}
message Histogram {
  oneof count: uint64 count_int = 1;
  oneof count: double count_float = 2;
  double sum = 3;
  sint32 schema = 4;
  double zero_threshold = 5;
  oneof zero_count: uint64 zero_count_int = 6;
  oneof zero_count: double zero_count_float = 7;
  repeated BucketSpan negative_spans = 8;
  repeated sint64 negative_deltas = 9;
  repeated double negative_counts = 10;
  repeated BucketSpan positive_spans = 11;
  repeated sint64 positive_deltas = 12;
  repeated double positive_counts = 13;
  int32 reset_hint = 14;
  int64 timestamp = 15;
  repeated double custom_values = 16;
  int64 start_timestamp = 17;
}
"""

_VERSION_1: Final = message_classes(
    "prometheus",
    _HISTOGRAM
    + """
message WriteRequest {
  repeated TimeSeries timeseries = 1;
  repeated MetricMetadata metadata = 3;
}
message MetricMetadata {
  int32 type = 1;
  string metric_family_name = 2;
  string help = 4;
  string unit = 5;
}
message TimeSeries {
  repeated Label labels = 1;
  repeated Sample samples = 2;
  repeated Exemplar exemplars = 3;
  repeated Histogram histograms = 4;
}
message Label {
  string name = 1;
  string value = 2;
}
message Sample {
  double value = 1;
  int64 timestamp = 2;
}
message Exemplar {
  repeated Label labels = 1;
  double value = 2;
  int64 timestamp = 3;
}
message EncodedRequest {
  repeated bytes timeseries = 1;
  repeated MetricMetadata metadata = 3;
}
""",
)
WriteRequest: Final = _VERSION_1["WriteRequest"]
TimeSeries: Final = _VERSION_1["TimeSeries"]
# The same bytes as WriteRequest, its series left encoded.
EncodedRequest: Final = _VERSION_1["EncodedRequest"]

_VERSION_2: Final = message_classes(
    "io.prometheus.write.v2",
    _HISTOGRAM
    + """
message Request {
  repeated string symbols = 4;
  repeated TimeSeries timeseries = 5;
}
message TimeSeries {
  repeated uint32 labels_refs = 1;
  repeated Sample samples = 2;
  repeated Histogram histograms = 3;
  repeated Exemplar exemplars = 4;
  Metadata metadata = 5;
  int64 created_timestamp = 6;
}
message Sample {
  double value = 1;
  int64 timestamp = 2;
  int64 start_timestamp = 3;
}
message Exemplar {
  repeated uint32 labels_refs = 1;
  double value = 2;
  int64 timestamp = 3;
}
message Metadata {
  int32 type = 1;
  uint32 help_ref = 3;
  uint32 unit_ref = 4;
}
""",
)
Request: Final = _VERSION_2["Request"]
