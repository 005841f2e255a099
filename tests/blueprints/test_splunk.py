"""Splunk's collector through a running service (api.md section 12)."""

import gzip

import pytest
import requests

from tests.running import Service

PATH = "/services/collector"
TIMES = {"startTime": "2026-11-18T11:00:00Z", "endTime": "2026-11-18T12:00:00Z"}
TIME = 1795000000.25


@pytest.fixture(scope="module")
def token(service: Service) -> str:
    return service.make_key("splunk", {"privilege": "ingestor"})


def send(service: Service, token: str | None, body: bytes, path: str = PATH, **headers: str) -> requests.Response:
    """As Splunk's senders do; curl says form data."""
    sent = {"Content-Type": "application/x-www-form-urlencoded", **headers}
    if token is not None:
        sent["Authorization"] = f"Splunk {token}"
    return requests.post(service.url + path, data=body, headers=sent, timeout=60)


@pytest.mark.parametrize("path", [PATH, f"{PATH}/event", f"{PATH}/event/1.0"])
def test_events_are_stored_by_their_own_time(service: Service, token: str, path: str):
    index = path.replace("/", "-").replace(".", "_")
    body = b'{"event":"a","time":%f,"index":"%s"}{"event":{"n":2},"time":%f,"index":"%s"}'

    answer = send(service, token, body % (TIME, index.encode(), TIME, index.encode()), path)

    assert (answer.status_code, answer.json()) == (200, {"text": "Success", "code": 0})
    found = service.query(f'select time, message, n from "{index}" order by n nulls first', **TIMES)
    assert found == [
        {"time": "2026-11-18T11:06:40.250Z", "message": "a", "n": None},
        {"time": "2026-11-18T11:06:40.250Z", "message": None, "n": 2},
    ]


def test_raw_lines_and_gzip(service: Service, token: str):
    answer = send(
        service,
        token,
        gzip.compress(b"one\ntwo\n"),
        f"{PATH}/raw?index=splunk_raw&host=h",
        **{"Content-Encoding": "gzip", "X-Splunk-Request-Channel": "FE0ECFAD-13D5-401B-847D-77833BD77131"},
    )

    assert answer.json()["code"] == 0
    assert service.query("select message, host from splunk_raw order by message") == [
        {"message": "one", "host": "h"},
        {"message": "two", "host": "h"},
    ]


def test_batch_is_refused_as_a_whole(service: Service, token: str):
    answer = send(service, token, b'{"event":"a","index":"splunk_atomic"}{"event":"","index":"splunk_other"}')

    assert (answer.status_code, answer.json()["code"], answer.json()["invalid-event-number"]) == (400, 13, 1)
    names = [each["name"] for each in service.call("GET", "/api/v1/logstream").json()]
    assert not {"splunk_atomic", "splunk_other"} & set(names)


def test_index_without_privilege_refuses_the_batch(service: Service):
    narrow = service.make_key("splunk-narrow", {"privilege": "ingestor", "resource": {"dataset": "splunk_mine"}})

    answer = send(service, narrow, b'{"event":"a","index":"splunk_mine"}{"event":"b","index":"splunk_theirs"}')

    assert (answer.status_code, answer.json()["code"]) == (403, 4)
    names = [each["name"] for each in service.call("GET", "/api/v1/logstream").json()]
    assert "splunk_mine" not in names


@pytest.mark.parametrize("sent", [None, "wrong"])
def test_token_is_needed(service: Service, sent: str | None):
    answer = send(service, sent, b'{"event":"a","index":"x"}')

    assert (answer.status_code, answer.json()["code"]) == (401, 2)


def test_token_and_key_conflict(service: Service, token: str):
    answer = send(service, token, b'{"event":"a","index":"x"}', **{"X-API-Key": token})

    assert answer.status_code == 400


def test_splunks_scheme_opens_no_other_route(service: Service, token: str):
    answer = send(service, token, b"{}", "/api/v1/ingest", **{"X-P-Stream": "splunk_else"})

    assert answer.status_code == 401


def test_health_and_acknowledgement(service: Service, token: str):
    health = requests.get(f"{service.url}{PATH}/health", timeout=60)
    acknowledgement = send(service, token, b'{"acks":[0]}', f"{PATH}/ack")

    assert (health.status_code, health.json()) == (200, {"text": "HEC is healthy", "code": 17})
    assert (acknowledgement.status_code, acknowledgement.json()["code"]) == (400, 14)
