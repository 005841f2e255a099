"""Every failing path has the one shape, a fitting status and an id, and shows nothing of the inside."""

from pathlib import Path

import pytest
import requests

from app import create_app
from config import Settings
from tests.running import Service

pytestmark = pytest.mark.each_stack

SHAPE = {"code", "message", "requestId"}


@pytest.mark.parametrize(
    ("method", "path", "status", "code"),
    [
        ("GET", "/nope", 404, "not_found"),
        ("GET", "/api/v1/nope", 404, "not_found"),
        ("PATCH", "/api/v1/ingest", 405, "method_not_allowed"),
        ("GET", "/api/v1/role/nobody", 404, "role_not_found"),
        ("GET", "/api/v1/apikeys/01ARZ3NDEKTSV4RRFFQ69G5FAV", 404, "key_not_found"),
        ("GET", "/api/v1/users/nobody", 404, "user_not_found"),
        ("GET", "/api/v1/logstream/none/stats", 404, "dataset_not_found"),
        ("DELETE", "/api/v1/queries/none", 404, "query_not_found"),
    ],
)
def test_what_is_not_there_is_told_in_the_one_shape(service: Service, method: str, path: str, status: int, code: str):
    answer = service.call(method, path)

    assert (answer.status_code, answer.json()["code"]) == (status, code)
    assert set(answer.json()) >= SHAPE
    assert answer.headers["Content-Type"] == "application/json"
    assert answer.json()["requestId"] == answer.headers["X-Request-Id"]


def test_a_method_that_is_not_allowed_is_answered_with_those_that_are(service: Service):
    assert "POST" in service.call("GET", "/api/v1/ingest").headers["Allow"]


@pytest.mark.parametrize("sent", ["abc-123", "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"])
def test_a_sane_request_id_is_echoed(service: Service, sent: str):
    assert service.call("GET", "/api/v1/about", headers={"X-Request-Id": sent}).headers["X-Request-Id"] == sent


@pytest.mark.parametrize("sent", ["a b", "x" * 200, "é".encode().decode("latin-1"), "<script>"])
def test_any_other_request_id_is_replaced(service: Service, sent: str):
    assert service.call("GET", "/api/v1/about", headers={"X-Request-Id": sent}).headers["X-Request-Id"] != sent


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (b"{", "invalid_json"),
        (b"", "invalid_json"),
        (b"[1]", "invalid_event"),
        (b'{"p_timestamp": 1}', "invalid_event"),
    ],
)
def test_unusable_events_are_refused(service: Service, body: bytes, code: str):
    answer = service.call("POST", "/api/v1/ingest", data=body, headers={"X-P-Stream": "refused"})

    assert (answer.status_code, answer.json()["code"]) == (400, code)


def test_a_missing_stream_header_is_named(service: Service):
    answer = service.call("POST", "/api/v1/ingest", json=[])

    assert (answer.status_code, answer.json()["code"], answer.json()["field"]) == (400, "missing_header", "X-P-Stream")


def test_otlp_sent_to_the_json_endpoint_is_sent_on(service: Service):
    answer = service.ingest("refused", [{}], **{"X-P-Log-Source": "otel-logs"})

    assert answer.status_code == 400
    assert "/v1/logs" in answer.json()["message"]


def test_doubled_slashes_lead_to_the_same_authorization(service: Service):
    """What is authorized is the routed path."""
    answer = requests.get(f"{service.url}//api//v1/apikeys", timeout=10)

    assert answer.status_code == 401


def test_a_fault_of_ours_shows_an_id_and_nothing_else(tmp_path: Path):
    """The route does not exist outside this test: it stands for every fault that nobody foresaw."""
    app = create_app(Settings(data_dir=tmp_path))

    @app.get("/broken")
    def broken() -> None:
        raise KeyError("secret inside")

    answer = app.test_client().get("/broken")

    assert answer.status_code == 500
    assert set(answer.json) == SHAPE
    assert answer.json["code"] == "internal_error"
    assert "secret" not in answer.text
    assert "KeyError" not in answer.text
