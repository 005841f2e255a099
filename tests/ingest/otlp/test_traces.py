"""OTLP traces to rows. Spec 4.2; api.md section 4: one row per span, events and links as JSON arrays."""

import math

import orjson
import pytest
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, KeyValue
from opentelemetry.proto.trace.v1.trace_pb2 import Span, Status, TracesData

from errors import InvalidBody
from ingest.otlp import traces

PROTOBUF, JSON = "application/x-protobuf", "application/json"
START = 1_795_000_000_000_000_001


def rows(decoded):
    listed = [{} for _ in range(decoded.batch.height)]
    for field, column in zip(decoded.batch.fields, decoded.batch.columns, strict=True):
        for row, value in zip(listed, column.to_list(), strict=True):
            if value is not None:
                row[field.name] = value
    return listed


def request(*spans: Span) -> bytes:
    data = TracesData()
    data.resource_spans.add().scope_spans.add().spans.extend(spans)
    return data.SerializeToString()


def decode(*spans: Span):
    return rows(traces.decode(request(*spans), PROTOBUF))


def pair(key: str, **value) -> KeyValue:
    return KeyValue(key=key, value=AnyValue(**value))


def test_a_span_is_one_row_however_many_events_and_links_it_has():
    span = Span(
        trace_id=b"\xab" * 16,
        span_id=b"\xcd" * 8,
        parent_span_id=b"\xef" * 8,
        trace_state="a=b",
        flags=257,
        name="GET /",
        kind=2,
        start_time_unix_nano=START,
        end_time_unix_nano=START + 5_000,
        attributes=[pair("http.status", int_value=200)],
        dropped_attributes_count=1,
        dropped_events_count=2,
        dropped_links_count=3,
        status=Status(code=2, message="broken"),
        events=[Span.Event(time_unix_nano=START), Span.Event()],
        links=[Span.Link()],
    )

    (row,) = decode(span)

    start, end = row.pop("span_start_time_unix_nano"), row.pop("span_end_time_unix_nano")
    assert end > start
    assert len(orjson.loads(row.pop("events"))) == 2
    assert len(orjson.loads(row.pop("links"))) == 1
    assert row == {
        "span_trace_id": "ab" * 16,
        "span_span_id": "cd" * 8,
        "span_parent_span_id": "ef" * 8,
        "span_trace_state": "a=b",
        "span_flags": 257,
        "span_name": "GET /",
        "span_kind": 2,
        "span_kind_description": "SERVER",
        "span_duration_ns": 5_000,
        "span_dropped_attributes_count": 1,
        "span_dropped_events_count": 2,
        "span_dropped_links_count": 3,
        "span_status_code": 2,
        "span_status_description": "ERROR",
        "span_status_message": "broken",
        "http.status": 200,
    }


def test_an_event_is_an_object_of_the_array():
    event = Span.Event(
        time_unix_nano=START,
        name="exception",
        attributes=[pair("a", int_value=1), pair("a", int_value=2), pair("nan", double_value=math.nan)],
        dropped_attributes_count=4,
    )

    (row,) = decode(Span(events=[event]))

    assert orjson.loads(row["events"]) == [
        {
            "time_unix_nano": "2026-11-18T11:06:40.000000001Z",
            "name": "exception",
            "attributes": {"a": 1, "nan": None},
            "dropped_attributes_count": 4,
        }
    ]


def test_a_link_is_an_object_of_the_array():
    link = Span.Link(
        trace_id=b"\xab" * 16,
        span_id=b"\xcd" * 8,
        trace_state="a=b",
        attributes=[pair("a", bool_value=True)],
        dropped_attributes_count=1,
        flags=256,
    )

    (row,) = decode(Span(links=[link]))

    assert orjson.loads(row["links"]) == [
        {
            "trace_id": "ab" * 16,
            "span_id": "cd" * 8,
            "trace_state": "a=b",
            "attributes": {"a": True},
            "dropped_attributes_count": 1,
            "flags": 256,
        }
    ]


def test_events_and_links_go_to_their_own_spans():
    spans = [
        Span(name=name, events=[Span.Event(name=f"{name}{n}") for n in range(count)])
        for name, count in (("a", 2), ("b", 0), ("c", 1))
    ]

    found = [[event["name"] for event in orjson.loads(row["events"])] for row in decode(*spans)]

    assert found == [["a0", "a1"], [], ["c0"]]


def test_a_span_without_status_has_none():
    with_status, without = decode(Span(status=Status()), Span())

    assert (with_status["span_status_code"], with_status["span_status_description"]) == (0, "UNSET")
    assert without.keys().isdisjoint({"span_status_code", "span_status_description"})


@pytest.mark.parametrize(("start", "end"), [(0, START), (START, 0), (2**64 - 1, START)])
def test_a_span_without_a_known_time_has_no_duration(start, end):
    (row,) = decode(Span(start_time_unix_nano=start, end_time_unix_nano=end))

    assert "span_duration_ns" not in row


def test_an_attribute_events_does_not_hide_the_events():
    (row,) = decode(Span(attributes=[pair("events", string_value="mine")], events=[Span.Event(name="x")]))

    assert row["attribute_events"] == "mine"
    assert orjson.loads(row["events"])[0]["name"] == "x"


def test_json_with_an_empty_parent_id_is_a_root_span():
    """Some producers send an empty text."""
    document = {"resourceSpans": [{"scopeSpans": [{"spans": [{"parentSpanId": "", "spanId": "ABCDEF0123456789"}]}]}]}

    (row,) = rows(traces.decode(orjson.dumps(document), JSON))

    assert row["span_span_id"] == "abcdef0123456789"
    assert "span_parent_span_id" not in row


def test_json_of_the_wrong_shape_inside_an_event_is_refused_by_its_path():
    spans = [{}, {"events": [{}, {"attributes": [{"key": "a", "value": {"intValue": "x"}}]}]}]
    body = orjson.dumps({"resourceSpans": [{"scopeSpans": [{"spans": spans}]}]})

    with pytest.raises(InvalidBody) as caught:
        traces.decode(body, JSON)

    path = "resourceSpans[0].scopeSpans[0].spans[1].events[1].attributes[0].value.intValue"
    assert caught.value.message.startswith(f"{path}: expected an integer")
