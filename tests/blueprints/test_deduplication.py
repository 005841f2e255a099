"""A body that its sender repeats is stored once, at every way in, where the dataset is told so (docs/ingesting.md)."""

import time
from collections.abc import Mapping
from typing import NamedTuple

import cramjam
import orjson
import psycopg
import pytest
import requests
from opentelemetry.proto.common.v1.common_pb2 import AnyValue
from opentelemetry.proto.logs.v1.logs_pb2 import LogRecord, LogsData
from requests.adapters import HTTPAdapter

from ingest.proto.remote_write import WriteRequest
from tests.running import Service
from web.ingestion.protocols import protocols

JSON = {"Content-Type": "application/json"}
PROTOBUF = {"Content-Type": "application/x-protobuf"}
TIME = 1_795_000_000


class Door(NamedTuple):
    """A request of two events, as a sender without keys writes it."""

    path: str
    body: bytes
    headers: Mapping[str, str]
    events: int = 2


def _otlp_logs() -> bytes:
    request = LogsData()
    records = [LogRecord(time_unix_nano=TIME * 10**9, body=AnyValue(string_value=text)) for text in ("a", "b")]
    request.resource_logs.add().scope_logs.add().log_records.extend(records)
    return request.SerializeToString()


def _span(number: int) -> dict[str, object]:
    return {"traceId": "0" * 31 + "1", "spanId": f"{number:016x}", "name": "s", "startTimeUnixNano": str(TIME * 10**9)}


def _remote_write() -> bytes:
    request = WriteRequest()
    for name in (b"up", b"down"):
        series = request.timeseries.add()
        series.labels.add(name=b"__name__", value=name)
        series.samples.add(value=1.0, timestamp=TIME * 1000)
    return bytes(cramjam.snappy.compress_raw(request.SerializeToString()))


LINES = b'{"n":1}\n{"n":2}\n'
SPANS = orjson.dumps({"resourceSpans": [{"scopeSpans": [{"spans": [_span(1), _span(2)]}]}]})
POINTS = [{"timeUnixNano": str(TIME * 10**9), "asInt": number} for number in ("1", "2")]
GAUGES = orjson.dumps(
    {"resourceMetrics": [{"scopeMetrics": [{"metrics": [{"name": "m", "gauge": {"dataPoints": POINTS}}]}]}]}
)
PUSH = orjson.dumps({"streams": [{"stream": {"app": "x"}, "values": [[f"{TIME}000000000", each] for each in "ab"]}]})
OTLP = {name: {"X-P-Log-Source": f"otel-{name}"} for name in ("logs", "metrics", "traces")}
DOORS = [
    Door("/api/v1/ingest", LINES, JSON),
    Door("/api/v1/ingest", orjson.dumps([{"n": n, "text": "x" * 100} for n in range(1000)]), JSON, 1000),
    Door("/api/v1/logstream/<name>", LINES, JSON),
    Door("/v1/logs", _otlp_logs(), {**PROTOBUF, **OTLP["logs"]}),
    Door("/v1/metrics", GAUGES, {**JSON, **OTLP["metrics"]}),
    Door("/v1/traces", SPANS, {**JSON, **OTLP["traces"]}),
    Door("/v1/prometheus/write", _remote_write(), {**PROTOBUF, **OTLP["metrics"], "Content-Encoding": "snappy"}),
    Door("/loki/api/v1/push", PUSH, JSON),
    Door("/services/collector", b'{"event":"a"}{"event":"b"}', {}),
    Door("/services/collector/raw", b"one\ntwo\n", {}),
    Door("/_bulk", b'{"create":{}}\n{"n":1}\n{"index":{}}\n{"n":2}\n', {"Content-Type": "application/x-ndjson"}),
]
IDS = [f"{door.path}, {door.events}" for door in DOORS]
ALL = pytest.mark.parametrize("door", DOORS, ids=IDS)


def test_every_way_in_is_in_the_table():
    """OTLP/gRPC is in tests/otlp_grpc/."""
    assert {endpoint.path for protocol in protocols() for endpoint in protocol.endpoints} == {
        door.path for door in DOORS
    }


@pytest.fixture
def number() -> int:
    return time.monotonic_ns()


def prepare(service: Service, number: int, **wanted: object) -> str:
    """The name of a fresh dataset whose repeated bodies are recognised."""
    name = f"repeated_{number}"
    service.call("PUT", f"/api/v1/logstream/{name}").raise_for_status()
    setting = {"enabled": True, **wanted}
    service.call("PUT", f"/api/v1/logstream/{name}/deduplication", json=setting).raise_for_status()
    return name


def send(service: Service, name: str, door: Door, source: str = "127.0.0.1", **headers: str) -> requests.Response:
    """One request from a new connection of that loopback address."""
    sent = {"X-P-Stream": name, **door.headers, **{key.replace("_", "-"): value for key, value in headers.items()}}
    with requests.Session() as session:
        adapter = HTTPAdapter()
        adapter.init_poolmanager(1, 1, source_address=(source, 0))
        session.mount("http://", adapter)
        auth = None if "X-API-Key" in sent else ("admin", service.environment["WEIR_ADMIN_PASSWORD"])
        url = service.url + door.path.replace("<name>", name)
        answer = session.post(url, data=door.body, headers=sent, auth=auth, timeout=60)
    assert answer.ok, answer.text
    return answer


def count(service: Service, name: str) -> int:
    return service.query(f'SELECT count(*) AS n FROM "{name}"')[0]["n"]


def lose_the_last_answer(service: Service) -> None:
    """As a kill between append and answer leaves it: the events are stored, and no process says so."""
    with psycopg.connect(service.environment["WEIR_DATABASE_URL"]) as connection:
        connection.execute(
            "UPDATE receipt SET events = NULL, owner = regexp_replace(owner, '/[^/]+/', '/01DEAD/')"
            " WHERE receipt = (SELECT receipt FROM receipt ORDER BY created_at DESC LIMIT 1)"
        )


@ALL
def test_repeated_body_is_answered_as_the_first_and_stored_once(service: Service, number: int, door: Door):
    name = prepare(service, number)

    first, *others = [send(service, name, door) for _ in range(3)]

    assert {(each.status_code, each.headers.get("Content-Type")) for each in others} == {
        (first.status_code, first.headers.get("Content-Type"))
    }
    assert count(service, name) == door.events


@ALL
def test_repetition_of_what_a_killed_process_stored_is_a_duplicate(service: Service, number: int, door: Door):
    name = prepare(service, number)
    send(service, name, door)
    lose_the_last_answer(service)

    send(service, name, door)

    assert count(service, name) == door.events


@ALL
def test_the_same_body_of_another_sender_is_another_request(service: Service, number: int, door: Door):
    """Another address, another credential, another column of a header."""
    name = prepare(service, number)
    key = service.make_key(f"second_{number}", {"privilege": "ingestor"})

    for _ in range(2):
        send(service, name, door)
        send(service, name, door, source="127.0.0.2")
        send(service, name, door, X_API_Key=key)
        send(service, name, door, X_P_Region="eu")

    assert count(service, name) == 4 * door.events


@ALL
def test_after_the_window_it_is_stored_again(service: Service, number: int, door: Door):
    name = prepare(service, number, windowSeconds=1)

    send(service, name, door)
    time.sleep(1.5)
    send(service, name, door)

    assert count(service, name) == 2 * door.events


@ALL
def test_a_key_wins(service: Service, number: int, door: Door):
    name = prepare(service, number)

    for key in ("a", "b", "a", "b"):
        send(service, name, door, Idempotency_Key=f"{number}-{key}")
    send(service, name, door)

    assert count(service, name) == 3 * door.events


@ALL
def test_without_the_setting_nothing_is_recognised(service: Service, number: int, door: Door):
    name = prepare(service, number)
    path = f"/api/v1/logstream/{name}/deduplication"
    service.call("PUT", path, json={"enabled": False}).raise_for_status()

    for _ in range(2):
        send(service, name, door)

    assert count(service, name) == 2 * door.events


def test_a_duplicate_is_told_where_the_answer_has_room(service: Service, number: int):
    name = prepare(service, number)

    answers = [send(service, name, DOORS[0]).json() for _ in range(2)]

    assert answers == [{"dataset": name, "events": 2}, {"dataset": name, "events": 2, "duplicate": True}]


def test_what_the_path_says_of_the_events_counts(service: Service, number: int):
    """The collector's `source` is a column."""
    name = prepare(service, number)
    doors = [DOORS[IDS.index("/services/collector/raw, 2")]._replace(path=f"/services/collector/raw?source={each}")
             for each in "ab"]  # fmt: skip

    for door in doors * 2:
        send(service, name, door)

    assert count(service, name) == 4


def test_compression_does_not_matter(service: Service, number: int):
    name = prepare(service, number)
    packed = DOORS[0]._replace(body=bytes(cramjam.gzip.compress(DOORS[0].body)))

    send(service, name, DOORS[0])
    send(service, name, packed, Content_Encoding="gzip")

    assert count(service, name) == 2


def test_of_datasets_that_the_body_names_each_goes_by_its_own_setting(service: Service, number: int):
    name, other = prepare(service, number), f"other_{number}"
    body = b'{"create":{"_index":"%s"}}\n{"n":1}\n{"create":{"_index":"%s"}}\n{"n":2}\n'
    door = DOORS[-1]._replace(body=body % (name.encode(), other.encode()))

    for _ in range(2):
        with requests.Session() as session:
            auth = ("admin", service.environment["WEIR_ADMIN_PASSWORD"])
            session.post(service.url + door.path, data=door.body, headers=door.headers, auth=auth).raise_for_status()

    assert (count(service, name), count(service, other)) == (1, 2)


def test_a_dataset_that_is_made_anew_begins_anew(service: Service, number: int):
    name = prepare(service, number)
    send(service, name, DOORS[0])
    service.call("DELETE", f"/api/v1/logstream/{name}").raise_for_status()

    prepare(service, number)
    send(service, name, DOORS[0])

    assert count(service, name) == 2


@pytest.mark.service
def test_it_survives_kill_and_restart(start_service):
    service = start_service()
    name = prepare(service, 1)
    send(service, name, DOORS[0])
    service.kill()
    service.start()

    assert send(service, name, DOORS[0]).json()["duplicate"]
    assert count(service, name) == 2
