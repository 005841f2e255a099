"""Loki push through a running service (api.md section 12)."""

import cramjam
import pytest

from ingest.proto.loki import PushRequest
from tests.running import Service

PATH = "/loki/api/v1/push"
NOW = 1_795_000_000_123_456_789


def push(**streams: list[str]) -> dict[str, object]:
    return {
        "streams": [
            {
                "stream": {"service_name": name},
                "values": [[str(NOW + number), line] for number, line in enumerate(lines)],
            }
            for name, lines in streams.items()
        ]
    }


def promtail(name: str, line: bytes) -> bytes:
    """As Promtail sends it: snappy, and no header that says so."""
    request = PushRequest()
    entry = request.streams.add(labels=f'{{service_name="{name}"}}'.encode()).entries.add(line=line)
    entry.timestamp.seconds, entry.timestamp.nanos = divmod(NOW, 10**9)
    return bytes(cramjam.snappy.compress_raw(request.SerializeToString()))


@pytest.fixture(scope="module")
def narrow_key(service: Service) -> str:
    entries = [{"privilege": "ingestor", "resource": {"dataset": name}} for name in ("loki_mine", "loki_own")]
    return service.make_key("loki-narrow", *entries)


def test_entries_are_stored_by_their_own_time(service: Service):
    answer = service.call("POST", PATH, json=push(loki_a=["one", "two"], loki_b=["three"]))

    assert (answer.status_code, answer.content) == (204, b"")
    times = {"startTime": "2026-11-18T11:00:00Z", "endTime": "2026-11-18T12:00:00Z"}
    assert service.query("select time, message, service_name from loki_a order by time", **times) == [
        {"time": "2026-11-18T11:06:40.123456789Z", "message": "one", "service_name": "loki_a"},
        {"time": "2026-11-18T11:06:40.123456790Z", "message": "two", "service_name": "loki_a"},
    ]
    assert service.query("select count(*) from loki_b", **times) == [{"count": 1}]


def test_promtail_is_understood(service: Service):
    headers = {"Content-Type": "application/x-protobuf"}

    answer = service.call("POST", PATH, data=promtail("loki_promtail", b"line"), headers=headers)

    assert answer.status_code == 204
    times = {"startTime": "2026-11-18T11:00:00Z", "endTime": "2026-11-18T12:00:00Z"}
    assert service.query("select message from loki_promtail", **times) == [{"message": "line"}]


def test_stream_of_a_dataset_without_privilege_refuses_the_request_before_anything_is_stored(
    service: Service, narrow_key: str
):
    answer = service.call(
        "POST", PATH, json=push(loki_mine=["mine"], loki_theirs=["theirs"]), headers={"X-API-Key": narrow_key}
    )

    assert answer.status_code == 403
    assert "loki_theirs" in answer.text
    names = [each["name"] for each in service.call("GET", "/api/v1/logstream").json()]
    assert not {"loki_mine", "loki_theirs"} & set(names)


def test_key_of_a_dataset_may_push_to_that_one(service: Service, narrow_key: str):
    headers = {"X-API-Key": narrow_key}

    assert service.call("POST", PATH, json=push(loki_own=["mine"]), headers=headers).status_code == 204
    assert service.call("POST", PATH, json=push(), headers={**headers, "X-P-Stream": "loki_no"}).status_code == 403


def test_repeated_push_is_stored_once_in_each_dataset(service: Service):
    for _ in range(2):
        answer = service.call(
            "POST", PATH, json=push(loki_once=["1"], loki_once_too=["2"]), headers={"Idempotency-Key": "loki-1"}
        )
        assert answer.status_code == 204

    times = {"startTime": "2026-11-18T11:00:00Z", "endTime": "2026-11-18T12:00:00Z"}
    sql = "select (select count(*) from loki_once) a, (select count(*) from loki_once_too) b"
    assert service.query(sql, **times) == [{"a": 1, "b": 1}]


@pytest.mark.parametrize(
    ("body", "headers", "status"),
    [
        pytest.param(b"{", {"Content-Type": "application/json"}, 400, id="no JSON"),
        pytest.param(b"\xff\xff\xff\xff\x0f", {"Content-Type": "application/x-protobuf"}, 413, id="snappy that lies"),
        pytest.param(b"raw", {"Content-Type": "application/x-protobuf"}, 400, id="no snappy"),
        pytest.param(b"a", {"Content-Type": "text/plain"}, 415, id="another type"),
        pytest.param(
            b'{"streams":[{"stream":{"service_name":"select"},"values":[["1","x"]]}]}',
            {"Content-Type": "application/json"},
            400,
            id="a name that no dataset can have",
        ),
    ],
)
def test_refusal_is_a_text(service: Service, body: bytes, headers: dict[str, str], status: int):
    """Promtail drops at 4xx, and logs the text."""
    answer = service.call("POST", PATH, data=body, headers=headers)

    assert (answer.status_code, answer.headers["Content-Type"]) == (status, "text/plain; charset=utf-8"), answer.text
    assert answer.text.strip()


def test_more_datasets_than_a_request_may_name_are_refused(service: Service):
    answer = service.call("POST", PATH, json=push(**{f"loki_many_{number}": ["x"] for number in range(101)}))

    assert answer.status_code == 400
    assert "100 datasets" in answer.text
