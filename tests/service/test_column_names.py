"""One event must never spoil a dataset: whatever its keys are called, they are stored, read by quoting, and harmless.

api.md section 4: nothing is lost. A name has at most 1,000 bytes and no NUL; an event with another one is refused."""

import time
import uuid
from typing import Any

import cramjam
import pytest
import requests
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest

from ingest.proto.remote_write import WriteRequest
from tests.running import Service

# What Polars, PostgreSQL, SQL, Hive and JSON would take for something else than a name.
NAMES = [
    "*",
    "^a$",
    "^.*$",
    "",
    " ",
    "x" * 1_000,
    "\u00fc" * 500,
    "\x01\x1b[31m",
    "line\nfeed\r",
    "a",
    "A",
    'quo"te',
    "a~3",
    "cs.all()",
    "$",
    "{}",
    "%00",
    "../..",
    "date=2020-01-01",
    "hour",
    "c0",
    "level_utf8",
    "SELECT",
    "\u202e\ufeff",
]


@pytest.fixture
def name() -> str:
    return f"names-{uuid.uuid4().hex[:12]}"


def quoted(column: str) -> str:
    return '"' + column.replace('"', '""') + '"'


def wait_for_files(service: Service, name: str) -> None:
    """Until the events are in Parquet files."""
    deadline = time.monotonic() + 30
    while service.call("GET", f"/api/v1/logstream/{name}/stats").json()["storage"]["size"] == 0:
        assert time.monotonic() < deadline
        time.sleep(0.2)


def check(service: Service, name: str, values: dict[str, Any]) -> None:
    """Each column has its value and no other, by quoting, in conditions, in `*`, and in every format."""
    (counted,) = service.query(f"SELECT count(*) AS n, count(p_timestamp) AS times FROM {quoted(name)}")
    assert counted == {"n": 2, "times": 2}
    conditions = " AND ".join(f"{quoted(column)} = '{value}'" for column, value in values.items())
    listed = ", ".join(quoted(column) for column in values)
    assert service.query(f"SELECT {listed} FROM {quoted(name)} WHERE {conditions}") == [values]
    (row,) = service.query(f"SELECT * FROM {quoted(name)} WHERE level IS NULL")
    assert {each: value for each, value in row.items() if each in values} == values
    assert service.query(f"SELECT level FROM {quoted(name)} WHERE level = 'plain'") == [{"level": "plain"}]
    for accept in ("application/x-ndjson", "text/csv", "application/vnd.apache.arrow.stream"):
        answer = service.call(
            "POST", "/api/v1/query", json={"query": f"SELECT * FROM {quoted(name)}"}, headers={"Accept": accept}
        )
        assert answer.status_code == 200, answer.text


def test_every_name_is_stored_and_harmless(service: Service, name: str):
    values = {column: f"value {number}" for number, column in enumerate(NAMES)}

    answers = [service.ingest(name, [values]), service.ingest(name, [{"level": "plain"}])]

    assert [answer.status_code for answer in answers] == [200, 200], answers[0].text
    check(service, name, values)
    wait_for_files(service, name)
    check(service, name, values)


def test_one_name_with_two_types_has_a_sibling(service: Service, name: str):
    service.ingest(name, [{"*": 1}, {"*": "text"}])

    assert service.query(f'SELECT "*" AS a, "*_utf8" AS b FROM {quoted(name)} ORDER BY 1') == [
        {"a": 1, "b": None},
        {"a": None, "b": "text"},
    ]


@pytest.mark.parametrize(
    ("key", "reason"), [("k" * 10_000, "longer than 1000 bytes"), ("a\0b", "contains a NUL")], ids=["long", "nul"]
)
def test_a_name_that_cannot_be_kept_is_refused_and_harmless(service: Service, name: str, key: str, reason: str):
    service.ingest(name, [{"a": 1}])

    answer = service.ingest(name, [{key: 1}])

    assert (answer.status_code, answer.json()["code"]) == (400, "invalid_event")
    assert reason in answer.json()["message"]
    assert service.query(f"SELECT a FROM {quoted(name)}") == [{"a": 1}]


def test_half_a_surrogate_pair_is_read_as_the_replacement_character(service: Service, name: str):
    headers = {"X-P-Stream": name, "Content-Type": "application/json"}

    answer = service.call("POST", "/api/v1/ingest", data=b'[{"\\ud800": 1, "a": 2}]', headers=headers)

    assert answer.status_code == 200, answer.text
    assert service.query(f'SELECT "\ufffd" AS v, a FROM {quoted(name)}') == [{"v": 1, "a": 2}]


def test_attributes_of_otlp_are_stored_and_harmless(service: Service, name: str):
    export = ExportLogsServiceRequest()
    record = export.resource_logs.add().scope_logs.add().log_records.add()
    for column in ("*", "^.*$", "", "\x01"):
        record.attributes.add(key=column).value.string_value = f"of {column}"
    headers = {"X-P-Stream": name, "X-P-Log-Source": "otel-logs", "Content-Type": "application/x-protobuf"}

    answer = service.call("POST", "/v1/logs", data=export.SerializeToString(), headers=headers)

    assert answer.status_code == 200, answer.text
    wait_for_files(service, name)
    (row,) = service.query(f"SELECT * FROM {quoted(name)}")
    assert {"of *", "of ^.*$", "of ", "of \x01"} <= set(map(str, row.values())), row


def test_labels_of_remote_write_are_stored_and_harmless(service: Service, name: str):
    headers = {"X-P-Stream": name, "X-P-Log-Source": "otel-metrics", "Content-Encoding": "snappy"}
    headers |= {"Content-Type": "application/x-protobuf"}
    request = WriteRequest()
    series = request.timeseries.add()
    for label, text in {"*": "star", "^.*$": "all", "__name__": "up"}.items():
        series.labels.add(name=label, value=text)
    series.samples.add(value=1.0, timestamp=1_760_000_000_000)
    body = bytes(cramjam.snappy.compress_raw(request.SerializeToString()))

    answer = service.call("POST", "/v1/prometheus/write", data=body, headers=headers)

    assert answer.status_code < 300, answer.text
    (row,) = service.query(f"SELECT * FROM {quoted(name)}")
    assert {"star", "all"} <= set(row.values()), row


def test_a_reader_narrowed_by_a_tag_with_such_a_name_sees_its_rows(service: Service, name: str):
    service.ingest(name, [{"^.*$": "mine", "*": 1}, {"^.*$": "theirs", "secret": 2}])
    key = service.make_key(f"{name}-r", {"privilege": "reader", "resource": {"stream": name, "tag": "^.*$=mine"}})

    for _ in range(2):
        answer = requests.post(
            f"{service.url}/api/v1/query",
            json={"query": f'SELECT "^.*$", "*" FROM {quoted(name)}'},
            headers={"X-API-Key": key},
            timeout=30,
        )
        assert answer.json() == [{"^.*$": "mine", "*": 1}]
        wait_for_files(service, name)
