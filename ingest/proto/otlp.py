"""OTLP message classes in which attributes and bodies stay encoded.

They come from the descriptors of `opentelemetry-proto`, with one change: outside `common.proto`, every field whose
type is `KeyValue` or `AnyValue` is declared as `bytes`. On the wire a message and its bytes are the same thing, so
any OTLP payload parses, and a decoder may look an encoded attribute up in a dictionary instead of walking it: the
same few attributes fill most payloads (bench/otlp_decode.py).
"""

from typing import Any, Final

from google.protobuf import descriptor_pool, message_factory
from google.protobuf.descriptor_pb2 import FieldDescriptorProto, FileDescriptorProto
from opentelemetry.proto.common.v1 import common_pb2
from opentelemetry.proto.logs.v1 import logs_pb2
from opentelemetry.proto.metrics.v1 import metrics_pb2
from opentelemetry.proto.resource.v1 import resource_pb2
from opentelemetry.proto.trace.v1 import trace_pb2

_PACKAGE: Final = "opentelemetry.proto"
_KEPT_ENCODED: Final = frozenset({f".{_PACKAGE}.common.v1.KeyValue", f".{_PACKAGE}.common.v1.AnyValue"})


def _file(module: Any) -> FileDescriptorProto:
    file = FileDescriptorProto()
    module.DESCRIPTOR.CopyToProto(file)
    return file


def _keep_encoded(message: Any) -> None:
    for field in message.field:
        if field.type_name in _KEPT_ENCODED:
            field.type = FieldDescriptorProto.TYPE_BYTES
            field.ClearField("type_name")
    for nested in message.nested_type:
        _keep_encoded(nested)


def _pool() -> Any:
    """A pool of our own: the default one holds the unchanged messages under the same names."""
    pool = descriptor_pool.DescriptorPool()
    common = _file(common_pb2)
    for message in common.message_type:
        if message.name == "InstrumentationScope":
            _keep_encoded(message)
    pool.Add(common)
    for module in (resource_pb2, logs_pb2, metrics_pb2, trace_pb2):
        file = _file(module)
        for message in file.message_type:
            _keep_encoded(message)
        pool.Add(file)
    return pool


_POOL: Final = _pool()


def _message(name: str) -> Any:
    return message_factory.GetMessageClass(_POOL.FindMessageTypeByName(f"{_PACKAGE}.{name}"))


AnyValue: Final = _message("common.v1.AnyValue")
KeyValue: Final = _message("common.v1.KeyValue")

# An export request and the stored form of a signal have the same one field.
LogsData: Final = _message("logs.v1.LogsData")
MetricsData: Final = _message("metrics.v1.MetricsData")
TracesData: Final = _message("trace.v1.TracesData")
