"""Bodies of the collector as rows. Splunk: "Format events for HTTP Event Collector"."""

import pytest

from errors import InvalidJSON, WeirError
from ingest.decoded import Divided
from ingest.splunk.answers import failure
from ingest.splunk.decoding import Request, decode_events, decode_raw

NOW = 1_795_000_000_000_000_000
ALL = Request("all", NOW)


def rows(decoded: Divided) -> dict[str, list[dict[str, object]]]:
    """The rows by dataset, without nulls; times as nanoseconds."""
    found: dict[str, list[dict[str, object]]] = {}
    for part in decoded.parts:
        values = [
            column.to_physical().to_list() if column.name == "time" else column.to_list()
            for column in part.batch.columns
        ]
        names = [field.name for field in part.batch.fields]
        found[part.dataset] = [
            {name: value for name, value in zip(names, row, strict=True) if value is not None}
            for row in zip(*values, strict=True)
        ]
    return found


def test_text_is_the_message_and_an_object_becomes_columns():
    body = b"""{"time": 1426279439.123, "host": "h", "source": "s",
    "sourcetype": "t", "index": "main", "event": "Hello"}
    {"event": {"level": "info", "http": {"status": 200}}, "fields": {"club": "glee"}}"""

    assert rows(decode_events(body, "", request=ALL))["all"] == [
        {
            "time": 1426279439123000000,
            "host": "h",
            "source": "s",
            "sourcetype": "t",
            "index": "main",
            "message": "Hello",
        },
        {"time": NOW, "level": "info", "http_status": 200, "club": "glee"},
    ]


@pytest.mark.parametrize(
    ("sent", "expected"),
    [
        ("1426279439", 1426279439 * 10**9),
        ("1426279439.5", 14262794395 * 10**8),
        ("1426279439123", 1426279439123 * 10**6),
        ('"1426279439.123456789"', 1426279439123456789),
        ("1426279439123.5", 14262794391235 * 10**5),
        ("1426279439123456789", 1426279439123456789),
        ("null", NOW),
        ("-1.5", -15 * 10**8),
    ],
)
def test_time_is_read(sent: str, expected: int):
    decoded = decode_events(b'{"time":%s,"event":"x"}' % sent.encode(), "", request=ALL)

    assert rows(decoded)["all"][0]["time"] == expected


def test_events_go_to_their_index_or_else_source():
    body = b"""{"index":"a.b","event":"1"}{"source":"/var/log/x","event":"2"}{"index":"a_b","source":"y","event":"3"}"""

    found = rows(decode_events(body, "", request=Request(None, NOW)))

    assert {name: [row["message"] for row in each] for name, each in found.items()} == {
        "a_b": ["1", "3"],
        "_var_log_x": ["2"],
    }


def test_names_that_meet_keep_their_prefix():
    body = b"""{"event":{"host":"inner","x":1,"message":"m"},"host":"outer","fields":{"x":2,"time":"t"}}
    {"event":"e","fields":{"x":3}}"""

    assert rows(decode_events(body, "", request=ALL))["all"] == [
        {
            "time": NOW,
            "host": "outer",
            "event_host": "inner",
            "event_message": "m",
            "x": 1,
            "fields_x": 2,
            "fields_time": "t",
        },
        {"time": NOW, "message": "e", "x": 3},
    ]


def test_members_of_the_query_stand_in_for_what_events_do_not_say():
    request = Request(None, NOW, {"index": "main", "host": "h"})

    assert rows(decode_events(b'{"event":"a","host":"own"}{"event":"b"}', "", request=request)) == {
        "main": [
            {"time": NOW, "message": "a", "host": "own", "index": "main"},
            {"time": NOW, "message": "b", "host": "h", "index": "main"},
        ]
    }


def test_raw_body_is_an_event_for_each_line():
    decoded = decode_raw(b"one\r\n\ncaf\xe9\n", "", request=Request(None, NOW, {"source": "s"}))

    assert rows(decoded) == {
        "s": [{"time": NOW, "message": "one", "source": "s"}, {"time": NOW, "message": "caf�", "source": "s"}]
    }


@pytest.mark.parametrize(
    ("body", "code", "index"),
    [
        pytest.param(b"", 5, None, id="no data"),
        pytest.param(b" \n", 5, None, id="space"),
        pytest.param(b'{"event":', 6, None, id="no JSON"),
        pytest.param(b'{"event":"a"}{"x":1}', 12, 1, id="no event"),
        pytest.param(b'{"event":"a"}{"event":{}}', 12, 1, id="event of nothing"),
        pytest.param(b'{"event":"a"}{"event":""}', 13, 1, id="blank event"),
        pytest.param(b'{"event":"a","fields":[1]}', 15, 0, id="fields"),
        pytest.param(b'{"event":"a","time":"now"}', 6, 0, id="time is text"),
        pytest.param(b'{"event":"a"}{"event":"a","time":true}', 6, 1, id="time is true"),
        pytest.param(b'{"event":"a","time":99999999999}', 6, 0, id="time is too late"),
        pytest.param(b'{"event":"a","time":1e300}', 6, 0, id="time is far too late"),
        pytest.param(b'{"event":"a"} 1', 6, 1, id="no object"),
    ],
)
def test_refusal_has_splunks_code_and_the_place(body: bytes, code: int, index: int | None):
    with pytest.raises(WeirError) as refusal:
        decode_events(body, "", request=ALL)

    answer = failure("", 400, refusal.value).body
    assert b'"code":%d' % code in answer
    assert (b'"invalid-event-number":%d' % (index or 0) in answer) == (index is not None)


def test_event_without_a_dataset_is_refused_by_code_7():
    with pytest.raises(WeirError) as refusal:
        decode_events(b'{"event":"a"}', "", request=Request(None, NOW))

    assert b'"code":7' in failure("", 400, refusal.value).body


def test_endless_names_are_refused_before_they_are_divided():
    body = b"".join(b'{"event":"x","index":"i%d"}' % number for number in range(101))

    with pytest.raises(WeirError, match="100 datasets"):
        decode_events(body, "", request=Request(None, NOW))


def test_garbage_is_no_json():
    with pytest.raises(InvalidJSON):
        decode_events(b"garbage", "", request=ALL)
