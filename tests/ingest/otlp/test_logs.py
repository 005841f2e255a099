"""OTLP logs to rows. Spec 4.2; api.md section 4; OTLP 1.x protocol files."""

import base64
import math
from datetime import UTC, datetime

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, ArrayValue, KeyValue, KeyValueList
from opentelemetry.proto.logs.v1.logs_pb2 import LogRecord, LogsData

from bench import plain_otlp
from columns import Batch, ColumnType
from errors import InvalidBody, TooLarge, TooManyColumns, UnsupportedMedia
from ingest.otlp import logs

PROTOBUF, JSON = "application/x-protobuf", "application/json"


def rows(batch: Batch) -> list[dict[str, object]]:
    """Rows as {name: value}; values of a second type of one name as {"name:type": value}."""
    listed: list[dict[str, object]] = [{} for _ in range(batch.height)]
    first = {field.name: field for field in reversed(batch.fields)}
    for field, column in zip(batch.fields, batch.columns, strict=True):
        key = field.name if first[field.name] == field else f"{field.name}:{field.type}"
        for row, value in zip(listed, column.to_list(), strict=True):
            if value is not None:
                row[key] = value
    return listed


def typed_rows(batch: Batch) -> list[dict[str, object]]:
    listed: list[dict[str, object]] = [{} for _ in range(batch.height)]
    for field, column in zip(batch.fields, batch.columns, strict=True):
        is_time = field.type is ColumnType.TIMESTAMP_NS
        for row, value in zip(listed, (column.dt.epoch("ns") if is_time else column).to_list(), strict=True):
            if value is not None:
                assert field.name not in row
                row[field.name] = (str(field.type), value)
    return listed


def request(*records: LogRecord, resource: dict | None = None, scope: dict | None = None) -> bytes:
    data = LogsData()
    group = data.resource_logs.add()
    group.resource.attributes.extend(pair(name, value) for name, value in (resource or {}).items())
    scoped = group.scope_logs.add()
    scoped.scope.attributes.extend(pair(name, value) for name, value in (scope or {}).items())
    scoped.log_records.extend(records)
    return data.SerializeToString()


def pair(name: str, value: object) -> KeyValue:
    kinds = {str: "string_value", bool: "bool_value", int: "int_value", float: "double_value", bytes: "bytes_value"}
    return KeyValue(key=name, value=AnyValue(**{kinds[type(value)]: value}))


def record(**attributes: object) -> LogRecord:
    return LogRecord(attributes=[pair(name, value) for name, value in attributes.items()])


def decode(body: bytes) -> Batch:
    return logs.decode(body, PROTOBUF).batch


def decode_json(document: object) -> Batch:
    return logs.decode(orjson.dumps(document), JSON).batch


def json_body(record: str) -> bytes:
    return ('{"resourceLogs":[{"scopeLogs":[{"logRecords":[' + record + "]}]}]}").encode()


def json_request(**record: object) -> dict:
    return {"resourceLogs": [{"scopeLogs": [{"logRecords": [record]}]}]}


def in_order(listed: list[dict]) -> list[str]:
    """Text, because NaN does not equal itself."""
    return [repr(sorted(row.items())) for row in listed]


@settings(max_examples=100)
@given(data=st.data())
def test_columns_hold_what_a_plain_walk_over_the_records_finds(requests, data):
    """One row per log record; attribute precedence of docs/ingestion-otlp.md."""
    body = data.draw(requests["logs"]).SerializeToString()

    found = typed_rows(decode(body))

    expected = plain_otlp.rows(body)
    assert in_order(found) == in_order(expected)


def test_where_an_attribute_goes_does_not_depend_on_the_rest_of_the_request():
    """docs/ingestion-otlp.md: a row depends on its record, scope and resource alone."""
    scope_logs = {
        "scope": {"attributes": [text("a", "of the scope"), text("scope_a", "its own")]},
        "logRecords": [{"attributes": [text("a", "of the record")]}],
    }
    other = {"scope": {"attributes": [text("scope_a", "elsewhere")]}, "logRecords": [{}]}

    for scopes in ([scope_logs], [other, scope_logs], [scope_logs, other]):
        decoded = rows(decode_json({"resourceLogs": [{"scopeLogs": scopes}]}))
        (row,) = [each for each in decoded if "a" in each and each["a"] is not None]
        assert (row["a"], row["scope_a"], row["scope_scope_a"]) == ("of the record", "its own", "of the scope")


def text(key: str, value: str) -> dict:
    return {"key": key, "value": {"stringValue": value}}


def test_a_full_record_fills_every_column():
    body = orjson.dumps(
        {
            "resourceLogs": [
                {
                    "resource": {"attributes": [{"key": "service.name", "value": {"stringValue": "shop"}}]},
                    "schemaUrl": "resource-url",
                    "scopeLogs": [
                        {
                            "scope": {"name": "lib", "version": "2", "droppedAttributesCount": 4},
                            "schemaUrl": "scope-url",
                            "logRecords": [
                                {
                                    "timeUnixNano": "1795000000000000001",
                                    "observedTimeUnixNano": 1795000000000000002,
                                    "severityNumber": 17,
                                    "severityText": "Bad",
                                    "body": {"stringValue": "no stock"},
                                    "attributes": [{"key": "n", "value": {"intValue": "-5"}}],
                                    "droppedAttributesCount": 3,
                                    "flags": 1,
                                    "traceId": "5B8EFFF798038103D269B633813FC60C",
                                    "spanId": "eee19b7ec3c1b174",
                                    "eventName": "order.failed",
                                }
                            ],
                        }
                    ],
                }
            ]
        }
    )

    (row,) = rows(logs.decode(body, JSON).batch)

    assert row.pop("time_unix_nano") == datetime(2026, 11, 18, 11, 6, 40, tzinfo=UTC)
    assert row.pop("observed_time_unix_nano") == datetime(2026, 11, 18, 11, 6, 40, tzinfo=UTC)
    assert row == {
        "severity_number": 17,
        "severity_text": "Bad",
        "body": "no stock",
        "n": -5,
        "log_record_dropped_attributes_count": 3,
        "flags": 1,
        "trace_id": "5b8efff798038103d269b633813fc60c",
        "span_id": "eee19b7ec3c1b174",
        "event_name": "order.failed",
        "scope_name": "lib",
        "scope_version": "2",
        "scope_dropped_attributes_count": 4,
        "scope_log_schema_url": "scope-url",
        "resource_dropped_attributes_count": 0,
        "schema_url": "resource-url",
        "service.name": "shop",
    }


def test_times_keep_every_nanosecond():
    batch = decode(request(LogRecord(time_unix_nano=1_795_000_000_123_456_789)))

    assert batch.columns[0].dt.epoch("ns").to_list() == [1_795_000_000_123_456_789]


def test_a_record_without_time_has_the_time_of_its_observation():
    """OTLP log data model, field Timestamp."""
    (row,) = rows(decode(request(LogRecord(observed_time_unix_nano=10**18))))

    assert row["time_unix_nano"] == row["observed_time_unix_nano"]


def test_a_record_without_any_time_has_null_times():
    (row,) = rows(decode(request(LogRecord(severity_number=9))))

    assert "time_unix_nano" not in row


def test_a_time_beyond_2262_is_kept_as_text():
    (row,) = rows(decode(request(LogRecord(time_unix_nano=2**64 - 1))))

    assert row["time_unix_nano"] == "18446744073709551615"


@pytest.mark.parametrize(("number", "name"), [(1, "TRACE"), (4, "TRACE4"), (9, "INFO"), (14, "WARN2"), (24, "FATAL4")])
def test_a_record_without_severity_text_gets_the_short_name_of_its_number(number, name):
    """OTLP log data model, "Displaying Severity"."""
    (row,) = rows(decode(request(LogRecord(severity_number=number))))

    assert row["severity_text"] == name


def test_the_severity_text_of_the_client_is_kept():
    (row,) = rows(decode(request(LogRecord(severity_number=9, severity_text="Information"))))

    assert row["severity_text"] == "Information"


def test_every_kind_of_attribute_has_its_type():
    """api.md section 4: integers stay integers, arrays and lists of keys are JSON, bytes are base64 text."""
    body = request(
        LogRecord(
            attributes=[
                pair("text", "a"),
                pair("truth", True),
                pair("int", -(2**63)),
                pair("double", 0.5),
                pair("bytes", b"\xff\x00"),
                KeyValue(
                    key="array",
                    value=AnyValue(
                        array_value=ArrayValue(
                            values=[AnyValue(int_value=1), AnyValue(), AnyValue(bytes_value=b"\xff")]
                        )
                    ),
                ),
                KeyValue(
                    key="object",
                    value=AnyValue(kvlist_value=KeyValueList(values=[pair("b", 1), pair("a", math.nan), pair("b", 2)])),
                ),
                KeyValue(key="null", value=AnyValue()),
            ]
        )
    )

    batch = decode(body)

    (row,) = rows(batch)
    types = {field.name: field.type for field in batch.fields}
    assert row["text"] == "a"
    assert row["truth"] is True
    assert row["int"] == -(2**63)
    assert row["double"] == 0.5
    assert row["bytes"] == base64.b64encode(b"\xff\x00").decode()
    assert row["array"] == '[1,null,"/w=="]'
    assert row["object"] == '{"b":1,"a":null}'
    assert "null" not in row
    assert types["array"] is types["object"] is ColumnType.JSON


@pytest.mark.parametrize("value", [math.inf, -math.inf])
def test_an_infinite_attribute_is_stored_as_such(value):
    (row,) = rows(decode(request(record(a=value))))

    assert row["a"] == value


def test_a_nan_attribute_is_stored_as_such():
    (row,) = rows(decode(request(record(a=math.nan))))

    assert math.isnan(row["a"])


def test_a_structured_body_is_json():
    values = KeyValueList(values=[pair("k", 1)])

    batch = decode(request(LogRecord(body=AnyValue(kvlist_value=values)), LogRecord(body=AnyValue(string_value=""))))

    assert rows(batch)[0]["body"] == '{"k":1}'
    assert rows(batch)[1]["body:utf8"] == ""


@pytest.mark.parametrize("size", [127, 128, 129, 130, 16_383, 16_384])
def test_a_body_of_any_length_is_kept(size):
    (row,) = rows(decode(request(LogRecord(body=AnyValue(string_value="x" * size)))))

    assert row["body"] == "x" * size


def test_values_of_two_types_stand_in_two_columns_in_order_of_appearance():
    """columns.Batch."""
    batch = decode(request(record(a="x"), record(a=1), record(a="y")))

    columns = [
        (field.type, column.to_list())
        for field, column in zip(batch.fields, batch.columns, strict=True)
        if field.name == "a"
    ]
    assert columns == [(ColumnType.UTF8, ["x", None, "y"]), (ColumnType.INT64, [None, 1, None])]


def test_a_repeated_key_keeps_its_first_value_whatever_the_types():
    """api.md section 4: a key repeated in one object keeps its first value, on every path."""
    body = request(LogRecord(attributes=[pair("a", 1), pair("a", "x"), pair("a", 2)]), record(a="y"))

    first, second = rows(decode(body))

    assert first["a"] == 1
    assert second["a:utf8"] == "y"
    assert "a:utf8" not in first


def test_a_record_keeps_the_name_and_outer_levels_are_prefixed():
    """api.md section 4: the others become `resource_<name>`, `scope_<name>`."""
    body = request(record(k=1), resource={"k": 3}, scope={"k": 2})

    (row,) = rows(decode(body))

    assert (row["k"], row["scope_k"], row["resource_k"]) == (1, 2, 3)


def test_precedence_is_settled_row_by_row():
    """A record gives the same row in whatever company it is sent."""
    body = request(record(k=1), record(other=1), resource={"k": 3})

    first, second = rows(decode(body))

    assert (first["k"], first["resource_k"]) == (1, 3)
    assert second["k"] == 3
    assert "resource_k" not in second


def test_the_scope_comes_before_the_resource():
    (row,) = rows(decode(request(record(), resource={"k": 3}, scope={"k": 2})))

    assert (row["k"], row["resource_k"]) == (2, 3)


def test_a_prefixed_name_that_is_taken_is_prefixed_again():
    body = request(record(k=1, resource_k=2), resource={"k": 3})

    (row,) = rows(decode(body))

    assert (row["k"], row["resource_k"], row["resource_resource_k"]) == (1, 2, 3)


def test_an_attribute_with_the_name_of_a_log_column_is_prefixed():
    body = request(record(body=1, attribute_body=2), resource={"time_unix_nano": 3}, scope={"flags": 4})

    (row,) = rows(decode(body))

    assert row["attribute_attribute_body"] == 1
    assert row["attribute_body"] == 2
    assert row["resource_time_unix_nano"] == 3
    assert row["scope_flags"] == 4


def test_records_with_an_attribute_p_timestamp_are_refused_and_the_others_kept():
    """api.md section 4: an event with its own p_timestamp is refused; partialSuccess when records were refused."""
    decoded = logs.decode(request(record(a=1), record(p_timestamp="now", b=1), record(a=2)), PROTOBUF)

    assert (decoded.rejected, decoded.reasons) == (1, {"reserved_name": 1})
    assert "p_timestamp" in decoded.message
    assert [row["a"] for row in rows(decoded.batch)] == [1, 2]
    assert "b" not in {field.name for field in decoded.batch.fields}


@pytest.mark.parametrize("name", ["a\0b", "x" * 1001, "é" * 501], ids=["NUL", "too long", "too many bytes"])
def test_records_with_an_impossible_attribute_name_are_refused_and_the_others_kept(name):
    """Column names are kept in PostgreSQL."""
    decoded = logs.decode(request(record(a=1), LogRecord(attributes=[pair(name, 1)])), PROTOBUF)

    assert (decoded.reasons, decoded.batch.height) == ({"invalid_name": 1}, 1)
    assert "attribute name" in decoded.message


def test_an_endless_chain_of_taken_names_ends():
    names = ["resource_" * count + "k" for count in range(200)]

    decoded = logs.decode(request(record(**dict.fromkeys(names, 1)), record(a=1), resource={"k": 2}), PROTOBUF)

    assert decoded.batch.height == 1
    assert decoded.rejected == 1


def test_more_records_than_memory_should_hold_are_refused():
    """A body of 2 MB; what it asks for is gigabytes of nulls."""
    attributes = {f"a{number}": 1 for number in range(50)}
    body = request(record(**attributes)) + request(*[LogRecord()] * 400_000)

    with pytest.raises(TooLarge, match="400001 events"):
        logs.decode(body, PROTOBUF)


def test_concatenated_messages_are_one_request():
    """Protobuf merges them; Fluent Bit sends such bodies."""
    assert decode(request(record(a=1)) + request(record(a=2))).height == 2


@pytest.mark.parametrize(
    ("body", "media_type"), [(b"", PROTOBUF), (b"", JSON), (b"{}", JSON), (b'{"resourceLogs":null}', JSON)]
)
def test_an_empty_request_has_no_rows(body, media_type):
    decoded = logs.decode(body, media_type)

    assert (decoded.batch.height, decoded.batch.fields, decoded.rejected) == (0, (), 0)


def test_a_record_without_anything_is_a_row():
    assert decode(request(LogRecord())).height == 1


def test_another_media_type_is_not_supported():
    with pytest.raises(UnsupportedMedia, match="text/plain"):
        logs.decode(b"{}", "text/plain")


@pytest.mark.parametrize("body", [b"\xff\xff", b"\x0a\x05abc", request(record(a="abc")).replace(b"abc", b"a\xffc")])
def test_bytes_that_are_not_the_message_are_refused(body):
    with pytest.raises(InvalidBody, match="not an OTLP protobuf message"):
        logs.decode(body, PROTOBUF)


def test_a_body_text_that_is_not_utf8_is_refused():
    with pytest.raises(InvalidBody):
        logs.decode(request(LogRecord(body=AnyValue(string_value="abc"))).replace(b"abc", b"a\xffc"), PROTOBUF)


@pytest.mark.parametrize("body", [b"{", b"[]", b'"a"', b'{"resourceLogs":[]} x', b"\xff", b'{"a":"\\ud800"}'])
def test_what_is_not_a_json_object_is_refused(body):
    with pytest.raises(InvalidBody):
        logs.decode(body, JSON)


ATTRIBUTES = "resourceLogs[0].scopeLogs[0].logRecords[0].attributes"


@pytest.mark.parametrize(
    ("document", "path"),
    [
        ({"resourceLogs": {}}, "resourceLogs"),
        ({"resourceLogs": [1]}, "resourceLogs[0]"),
        ({"resourceLogs": [{}, {"scopeLogs": [{"logRecords": 5}]}]}, "resourceLogs[1].scopeLogs[0].logRecords"),
        ({"resourceLogs": [{"resource": []}]}, "resourceLogs[0].resource"),
        (json_request(severityText=5), "resourceLogs[0].scopeLogs[0].logRecords[0].severityText"),
        (json_request(timeUnixNano="x"), "resourceLogs[0].scopeLogs[0].logRecords[0].timeUnixNano"),
        (json_request(timeUnixNano=-1), "resourceLogs[0].scopeLogs[0].logRecords[0].timeUnixNano"),
        (json_request(timeUnixNano=True), "resourceLogs[0].scopeLogs[0].logRecords[0].timeUnixNano"),
        (json_request(timeUnixNano=1.5), "resourceLogs[0].scopeLogs[0].logRecords[0].timeUnixNano"),
        (json_request(severityNumber="INFO"), "resourceLogs[0].scopeLogs[0].logRecords[0].severityNumber"),
        (json_request(traceId="xyz"), "resourceLogs[0].scopeLogs[0].logRecords[0].traceId"),
        (json_request(traceId="abc"), "resourceLogs[0].scopeLogs[0].logRecords[0].traceId"),
        (json_request(traceId=7), "resourceLogs[0].scopeLogs[0].logRecords[0].traceId"),
        (json_request(body="plain"), "resourceLogs[0].scopeLogs[0].logRecords[0].body"),
        (json_request(body={"stringValue": 1}), "resourceLogs[0].scopeLogs[0].logRecords[0].body.stringValue"),
        (json_request(body={"stringValue": "a", "intValue": 1}), "resourceLogs[0].scopeLogs[0].logRecords[0].body"),
        (json_request(attributes={"a": 1}), ATTRIBUTES),
        (json_request(attributes=[None]), f"{ATTRIBUTES}[0]"),
        (json_request(attributes=[{"key": 5}]), f"{ATTRIBUTES}[0]"),
        (json_request(attributes=[{"key": "a", "value": "b"}]), f"{ATTRIBUTES}[0].value"),
        (json_request(attributes=[{"key": "a", "value": {"intValue": 2**63}}]), f"{ATTRIBUTES}[0].value.intValue"),
        (json_request(attributes=[{"key": "a", "value": {"intValue": "1_0"}}]), f"{ATTRIBUTES}[0].value.intValue"),
        (json_request(attributes=[{"key": "a", "value": {"boolValue": 1}}]), f"{ATTRIBUTES}[0].value.boolValue"),
        (json_request(attributes=[{"key": "a", "value": {"doubleValue": "x"}}]), f"{ATTRIBUTES}[0].value.doubleValue"),
        (json_request(attributes=[{"key": "a", "value": {"bytesValue": "&"}}]), f"{ATTRIBUTES}[0].value.bytesValue"),
        (
            json_request(attributes=[{"key": "a", "value": {"arrayValue": {"values": [{}, {"intValue": "x"}]}}}]),
            f"{ATTRIBUTES}[0].value.arrayValue.values[1].intValue",
        ),
        (
            json_request(
                attributes=[
                    {"key": "a", "value": {"kvlistValue": {"values": [{"key": "b", "value": {"boolValue": 0}}]}}}
                ]
            ),
            f"{ATTRIBUTES}[0].value.kvlistValue.values[0].value.boolValue",
        ),
    ],
)
def test_json_of_the_wrong_shape_is_refused_by_its_path(document, path):
    body = orjson.dumps(document)

    with pytest.raises(InvalidBody) as caught:
        logs.decode(body, JSON)

    assert caught.value.message.startswith(f"{path}: expected ")


def test_a_json_integer_beyond_64_bits_is_refused():
    with pytest.raises(InvalidBody, match=r"logRecords\[0\].timeUnixNano: expected an integer"):
        logs.decode(json_body('{"timeUnixNano":' + "9" * 30 + "}"), JSON)


def test_json_nested_beyond_measure_is_refused():
    value = '{"arrayValue":{"values":[' * 300 + "{}" + "]}}" * 300
    body = json_body('{"attributes":[{"key":"a","value":' + value + "}]}")

    with pytest.raises(InvalidBody, match="levels of nesting"):
        logs.decode(body, JSON)


def test_json_takes_64_bit_integers_as_text_and_as_numbers():
    """OTLP JSON writes text; the JavaScript exporter writes numbers."""
    (row,) = rows(
        decode_json(
            json_request(
                timeUnixNano=1_795_000_000_000_000_000,
                observedTimeUnixNano="1795000000000000000",
                severityNumber=9.0,
                attributes=[{"key": "a", "value": {"intValue": 5}}, {"key": "b", "value": {"intValue": "5"}}],
            )
        )
    )

    assert row["time_unix_nano"] == row["observed_time_unix_nano"]
    assert row["a"] == row["b"] == 5


@pytest.mark.parametrize(("text", "value"), [("Infinity", math.inf), ("-Infinity", -math.inf), ("1.5", 1.5)])
def test_json_takes_doubles_as_text(text, value):
    (row,) = rows(decode_json(json_request(attributes=[{"key": "a", "value": {"doubleValue": text}}])))

    assert row["a"] == value


def test_json_takes_bytes_of_either_base64_alphabet():
    values = [{"key": "a", "value": {"bytesValue": "_-8"}}, {"key": "b", "value": {"bytesValue": "/+8="}}]

    (row,) = rows(decode_json(json_request(attributes=values)))

    assert row["a"] == row["b"] == "/+8="


def test_json_null_members_and_unknown_ones_are_absent():
    """OTLP JSON: null is absent, unknown members are ignored."""
    document = json_request(severityText=None, attributes=None, body={"stringValue": None, "intValue": 1}, novel=[1])

    (row,) = rows(decode_json(document))

    assert row["body"] == 1
    assert "severity_text" not in row


def test_json_with_the_field_names_of_the_protocol_file_is_taken():
    document = {
        "resource_logs": [{"scope_logs": [{"log_records": [{"severity_text": "A", "body": {"string_value": "b"}}]}]}]
    }

    (row,) = rows(decode_json(document))

    assert (row["severity_text"], row["body"]) == ("A", "b")


def test_more_attribute_names_than_columns_are_refused():
    body = request(*(record(**{f"a{number}": 1}) for number in range(11)))

    with pytest.raises(TooManyColumns, match="10 different attribute names"):
        logs.decode(body, PROTOBUF, max_columns=10)
