"""Protobuf bodies are refused for what they would become before any object exists (docs/security.md, "Costs")."""

import pytest
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, KeyValue
from opentelemetry.proto.logs.v1.logs_pb2 import LogRecord, LogsData

from ingest.loki import decoding as loki
from ingest.otlp import costs as otlp
from ingest.remote_write import costs as remote_write
from ingest.remote_write.decoding import Version

MIB = 1024 * 1024
LIMIT = 256 * MIB
COUNT = 32 * 1024
SERIES = b"\x0a\x06\x0a\x01a\x12\x01b"


def field(tag: int, payload: bytes) -> bytes:
    """A length-delimited field."""
    size, length = len(payload), b""
    while size > 0x7F:
        length += bytes((size & 0x7F | 0x80,))
        size >>= 7
    return bytes((tag,)) + length + bytes((size,)) + payload


def in_record(payload: bytes) -> bytes:
    """Within a resource and a scope."""
    return field(0x0A, field(0x12, payload))


def points(kind: int, payload: bytes) -> bytes:
    return in_record(field(0x12, field(kind, payload)))


def value(payload: bytes) -> bytes:
    """An attribute of a log record whose value is `payload`."""
    return in_record(field(0x12, field(0x32, b"\x0a\x01k" + field(0x12, payload))))


# Shape, bytes that repeat, what they stand in, and the least that one of them has to be charged.
BOMBS = {
    "Loki stream": (loki.COST, b"\x0a\x00", bytes, 300),
    "Loki entry": (loki.COST, b"\x12\x00", lambda body: field(0x0A, body), 700),
    "Loki metadata": (loki.COST, b"\x1a\x00", lambda body: field(0x0A, field(0x12, body)), 200),
    "ResourceLogs": (otlp.LOGS, b"\x0a\x00", bytes, 1000),
    "ScopeLogs": (otlp.LOGS, b"\x12\x00", lambda body: field(0x0A, body), 1000),
    "LogRecord": (otlp.LOGS, b"\x12\x00", in_record, 800),
    "LogRecord, length of two bytes": (otlp.LOGS, b"\x12\x80\x00", in_record, 800),
    "LogRecord, tag of two bytes": (otlp.LOGS, b"\x92\x00\x00", in_record, 800),
    "LogRecord in a group": (otlp.LOGS, b"\x1b\x1c\x12\x00", in_record, 800),
    "attribute": (otlp.LOGS, b"\x32\x00", lambda body: in_record(field(0x12, body)), 100),
    "attribute, tag of two bytes": (otlp.LOGS, b"\xb2\x00\x00", lambda body: in_record(field(0x12, body)), 100),
    "resource attribute": (otlp.LOGS, b"\x0a\x00", lambda body: field(0x0A, field(0x0A, body)), 100),
    "value in an array": (otlp.LOGS, b"\x0a\x00", lambda body: value(field(0x2A, body)), 60),
    "value in a kvlist": (otlp.LOGS, b"\x0a\x00", lambda body: value(field(0x32, body)), 60),
    "array in an array": (otlp.LOGS, b"\x0a\x02\x2a\x00", lambda body: value(field(0x2A, body)), 120),
    "Span": (otlp.TRACES, b"\x12\x00", in_record, 1000),
    "event": (otlp.TRACES, b"\x5a\x00", lambda body: in_record(field(0x12, body)), 1000),
    "link": (otlp.TRACES, b"\x6a\x00", lambda body: in_record(field(0x12, body)), 1000),
    "Metric": (otlp.METRICS, b"\x12\x00", in_record, 1100),
    "number point": (otlp.METRICS, b"\x0a\x00", lambda body: points(0x2A, body), 700),
    "histogram point": (otlp.METRICS, b"\x0a\x00", lambda body: points(0x4A, body), 1300),
    "exponential point": (otlp.METRICS, b"\x0a\x00", lambda body: points(0x52, body), 1800),
    "summary point": (otlp.METRICS, b"\x0a\x00", lambda body: points(0x5A, body), 1100),
    "exemplar": (otlp.METRICS, b"\x2a\x00", lambda body: points(0x2A, field(0x0A, body)), 1000),
    "quantile": (otlp.METRICS, b"\x32\x00", lambda body: points(0x5A, field(0x0A, body)), 280),
    "bucket": (otlp.METRICS, b"\x01", lambda body: points(0x52, field(0x0A, field(0x42, field(0x12, body)))), 31),
    "TimeSeries 1.0": (remote_write.VERSION_1, b"\x0a\x00", bytes, 120),
    "label": (remote_write.VERSION_1, b"\x0a\x00", lambda body: field(0x0A, body), 140),
    "sample": (remote_write.VERSION_1, b"\x12\x00", lambda body: field(0x0A, SERIES + body), 250),
    "exemplar 1.0": (remote_write.VERSION_1, b"\x1a\x00", lambda body: field(0x0A, SERIES + body), 700),
    "native histogram": (remote_write.VERSION_1, b"\x22\x00", lambda body: field(0x0A, SERIES + body), 1900),
    "delta": (remote_write.VERSION_1, b"\x02", lambda body: field(0x0A, field(0x22, field(0x62, body))), 57),
    "delta, not packed": (remote_write.VERSION_1, b"\x60\x02", lambda body: field(0x0A, field(0x22, body)), 30),
    "span of buckets": (remote_write.VERSION_1, b"\x5a\x00", lambda body: field(0x0A, field(0x22, body)), 190),
    "symbol": (remote_write.VERSION_2, b"\x22\x00", bytes, 30),
    "TimeSeries 2.0": (remote_write.VERSION_2, b"\x2a\x00", bytes, 70),
    "reference": (remote_write.VERSION_2, b"\x00", lambda body: field(0x2A, field(0x0A, body)), 60),
    "sample 2.0": (remote_write.VERSION_2, b"\x12\x00", lambda body: field(0x2A, body), 250),
    "unknown field": (otlp.LOGS, b"\x78\x01", in_record, 30),
}


@pytest.mark.parametrize("name", BOMBS)
def test_every_message_is_charged(name):
    shape, message, wrap, least = BOMBS[name]

    cost = shape.estimate(wrap(message * COUNT), LIMIT)

    assert least * COUNT <= cost


@pytest.mark.parametrize("name", BOMBS)
def test_what_stands_before_a_fault_is_charged(name):
    """The parser makes objects until it meets the fault."""
    shape, message, wrap, least = BOMBS[name]

    cost = shape.estimate(wrap(message * COUNT) + b"\x0a", LIMIT)

    assert least * COUNT <= cost


def test_counting_ends_at_the_limit():
    """64 MiB of empty records would take as many seconds to walk."""
    cost = otlp.LOGS.estimate(in_record(b"\x12\x00" * MIB), 1000 * 1000)

    assert 1000 * 1000 < cost < 1002 * 1000


@pytest.mark.parametrize("body", [b"", b"\x0a", b"\x0a\x05", b"\x0f", b"\x80" * 20, b"\x0a\xff\xff\xff\xff\xff"])
def test_broken_bodies_cost_little(body):
    assert otlp.LOGS.estimate(body, LIMIT) < 2000


def test_ordinary_records_cost_about_what_they_are():
    """10,000 records of a kilobyte fit the default budget several times."""
    pairs = [KeyValue(key=f"key.{number}", value=AnyValue(string_value="value" * 10)) for number in range(10)]
    record = LogRecord(body=AnyValue(string_value="GET /a/b?c=22 took 32 ms " * 12), attributes=pairs)
    request = LogsData()
    request.resource_logs.add().scope_logs.add().log_records.extend([record] * 10_000)
    body = request.SerializeToString()

    cost = otlp.LOGS.estimate(body, LIMIT)

    assert len(body) + cost < LIMIT / 2


def test_fifty_thousand_known_series_cost_less_than_the_budget():
    labels = b"".join(field(0x0A, field(0x0A, b"name%d" % number) + field(0x12, b"value")) for number in range(8))
    series = field(0x0A, labels + b"\x12\x10\x09aaaaaaaa\x10\x80\x80\x80\x80\x80\x01")

    cost = remote_write.estimate_encoded(series * 50_000)

    assert cost < LIMIT / 2


def test_small_and_large_bodies_of_series_are_bounded_alike():
    assert remote_write.estimate_encoded(b"\x0a\x00" * 1000) >= 60 * 1000
    assert remote_write.estimate_encoded(b"\x0a\x00" * MIB) >= 60 * MIB


def test_version_decides_the_shape():
    body = field(0x2A, b"\x12\x00" * COUNT)

    assert remote_write.estimate(body, Version.TWO, LIMIT) > 200 * COUNT
    assert remote_write.estimate(body, Version.ONE, LIMIT) < 100
