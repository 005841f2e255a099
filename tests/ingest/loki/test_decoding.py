"""Loki push bodies as rows. Protocol: Loki's HTTP API, "Ingest logs", and pkg/push/push.proto."""

import orjson
import pytest

from errors import InvalidBody, InvalidEvent, InvalidJSON, MissingHeader, TooManyColumns, UnsupportedMedia, WeirError
from ingest.decoded import Divided
from ingest.loki.decoding import JSON, PROTOBUF, decode, media_type_of
from ingest.loki.labels import parse
from ingest.proto.loki import LabelPair, PushRequest

NOW = 1_795_000_000_123_456_789


def push(*streams: object) -> bytes:
    return orjson.dumps({"streams": streams})


def stream(labels: dict[str, str], *entries: object) -> dict[str, object]:
    return {"stream": labels, "values": entries}


def rows(decoded: Divided) -> dict[str, list[dict[str, object]]]:
    """The rows by dataset, without nulls; times as nanoseconds."""
    found: dict[str, list[dict[str, object]]] = {}
    for part in decoded.parts:
        names = [field.name for field in part.batch.fields]
        columns = [
            column.to_physical().to_list() if column.name == "time" else column.to_list()
            for column in part.batch.columns
        ]
        found[part.dataset] = [
            {name: value for name, value in zip(names, row, strict=True) if value is not None}
            for row in zip(*columns, strict=True)
        ]
    return found


def test_json_entry_is_a_row_with_its_labels_and_metadata():
    body = push(stream({"service_name": "app", "env": "prod"}, [str(NOW), "paid", {"trace_id": "1"}]))

    assert rows(decode(body, JSON)) == {
        "app": [{"time": NOW, "message": "paid", "service_name": "app", "env": "prod", "trace_id": "1"}]
    }


def test_protobuf_entry_is_the_same_row():
    request = PushRequest()
    sent = request.streams.add(labels=b'{env="prod", service_name="app"}')
    entry = sent.entries.add(line=b"paid")
    entry.timestamp.seconds, entry.timestamp.nanos = divmod(NOW, 10**9)
    entry.structuredMetadata.append(LabelPair(name=b"trace_id", value=b"1").SerializeToString())

    assert rows(decode(request.SerializeToString(), PROTOBUF)) == {
        "app": [{"time": NOW, "message": "paid", "service_name": "app", "env": "prod", "trace_id": "1"}]
    }


def test_line_that_is_no_utf_8_is_kept_with_its_broken_bytes_replaced():
    """Promtail sends a file's bytes as they are; a request that is refused for one of them would be dropped whole."""
    request = PushRequest()
    request.streams.add(labels=b'{service_name="app"}').entries.add(line=b"caf\xe9")

    assert rows(decode(request.SerializeToString(), PROTOBUF))["app"][0]["message"] == "caf�"


def test_streams_go_to_the_datasets_that_they_name_and_entries_stay_in_their_order():
    """Out-of-order entries are kept as they come."""
    body = push(
        stream({"service_name": "a.b"}, ["3", "x"], ["1", "y"]),
        stream({"service_name": "c"}, ["2", "z"]),
        stream({"service_name": "a_b", "n": "2"}, ["2", "w"]),
        stream({"service_name": "empty"}),
    )

    found = rows(decode(body, JSON))

    assert {name: [(row["time"], row["message"]) for row in each] for name, each in found.items()} == {
        "a_b": [(3, "x"), (1, "y"), (2, "w")],
        "c": [(2, "z")],
    }


def test_header_takes_all_streams():
    body = push(stream({"service_name": "a"}, ["1", "x"]), stream({"job": "b"}, ["2", "y"]))

    assert list(rows(decode(body, JSON, dataset="all"))) == ["all"]


def test_names_that_meet_get_a_prefix_by_row():
    """A value's column depends on its own row alone."""
    body = push(
        stream({"time": "t", "p_timestamp": "p", "x": "label"}, ["1", "a", {"x": "meta", "message": "m"}]),
        stream({"job": "b"}, ["2", "b", {"x": "meta"}]),
    )

    assert rows(decode(body, JSON, dataset="d"))["d"] == [
        {
            "time": 1,
            "message": "a",
            "label_time": "t",
            "label_p_timestamp": "p",
            "x": "label",
            "metadata_x": "meta",
            "metadata_message": "m",
        },
        {"time": 2, "message": "b", "job": "b", "x": "meta"},
    ]


@pytest.mark.parametrize(
    ("body", "error"),
    [
        pytest.param(b"{", InvalidJSON, id="no JSON"),
        pytest.param(b"[]", InvalidBody, id="no push"),
        pytest.param(b'{"streams":[1]}', InvalidBody, id="no stream"),
        pytest.param(b'{"streams":[{"stream":{"a":1},"values":[]}]}', InvalidBody, id="label is a number"),
        pytest.param(push(stream({"a": "b"}, ["1", "x"])), MissingHeader, id="no dataset"),
        pytest.param(push(stream({"service_name": "a"}, ["1"])), InvalidEvent, id="no line"),
        pytest.param(push(stream({"service_name": "a"}, [1, "x"])), InvalidEvent, id="time is a number"),
        pytest.param(push(stream({"service_name": "a"}, ["1_0", "x"])), InvalidEvent, id="time is no number"),
        pytest.param(push(stream({"service_name": "a"}, ["-", "x"])), InvalidEvent, id="time is a sign"),
        pytest.param(push(stream({"service_name": "a"}, [str(2**63), "x"])), InvalidEvent, id="time is too late"),
        pytest.param(push(stream({"service_name": "a"}, ["1", "x", {"a": 1}])), InvalidEvent, id="metadata"),
        pytest.param(push(stream({"service_name": "a", "x\0": "y"}, ["1", "x"])), InvalidEvent, id="name with NUL"),
    ],
)
def test_what_is_no_push_is_refused(body: bytes, error: type[WeirError]):
    with pytest.raises(error):
        decode(body, JSON)


@pytest.mark.parametrize("body", [b"\x0a\xff", b"\x0a\x05\x0a\x03abc", b"not protobuf"])
def test_broken_protobuf_is_refused(body: bytes):
    with pytest.raises(WeirError):
        decode(b"\x0a\x07\x0a\x01{\x12\x02\x12\x00" if body == b"\x0a\x05\x0a\x03abc" else body, PROTOBUF)


def test_labels_beyond_the_limit_of_columns_are_refused():
    labels = {f"l{number}": "v" for number in range(20)}

    with pytest.raises(TooManyColumns):
        decode(push(stream(labels, ["1", "x"])), JSON, 10, dataset="d")


def test_empty_push_has_no_part():
    assert decode(b'{"streams":[]}', JSON).parts == decode(b"", PROTOBUF).parts == ()


def test_another_media_type_is_refused():
    assert media_type_of("") == PROTOBUF
    with pytest.raises(UnsupportedMedia):
        media_type_of("text/plain")


@pytest.mark.parametrize(
    ("text", "labels"),
    [
        ("{}", {}),
        ('{a="b"}', {"a": "b"}),
        (' {a = "b" , c="d,}", } ', {"a": "b", "c": "d,}"}),
        (r'{a="q\"\\\n\u00e9\xff\101"}', {"a": 'q"\\\né�A'}),
        (r"{a=`x\n`}", {"a": r"x\n"}),
        ('{"service.name"="x"}', {"service.name": "x"}),
    ],
)
def test_label_sets_are_read_as_go_writes_them(text: str, labels: dict[str, str]):
    assert parse(text) == labels


@pytest.mark.parametrize("text", ["", "a=1", "{a}", '{a="b}', '{a="b" c="d"}', "{=}"])
def test_other_label_sets_are_refused(text: str):
    with pytest.raises(InvalidBody):
        parse(text)
