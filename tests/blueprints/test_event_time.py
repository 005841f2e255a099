"""Whose time a range goes by: api.md section 4, "Event time", and lookup datasets."""

import time
import uuid
from typing import Any

import pytest
import requests

from tests.running import Service

NOVEMBER = {"startTime": "2026-11-01T00:00:00Z", "endTime": "2026-12-01T00:00:00Z"}
COUNT = "SELECT count(*) AS n FROM "


@pytest.fixture
def name() -> str:
    return f"time-{uuid.uuid4().hex[:12]}"


def send(service: Service, name: str, events: list[dict[str, Any]], **headers: str) -> requests.Response:
    sent = {"X-P-Stream": name} | {key.replace("_", "-"): value for key, value in headers.items()}
    return service.call("POST", "/api/v1/ingest", json=events, headers=sent)


def test_request_that_creates_a_dataset_says_its_event_time(service: Service, name: str):
    send(service, name, [{"at": 1_795_305_592, "n": 1}], X_P_Time_Partition="at").raise_for_status()

    assert service.query(f'{COUNT}"{name}"', **NOVEMBER) == [{"n": 1}]
    assert service.call("GET", f"/api/v1/logstream/{name}/info").json()["timePartition"] == "at"


@pytest.mark.parametrize(
    "written",
    [
        "2026-11-22T10:00:00Z",
        "22/Nov/2026:10:00:00 +0000",
        1_795_341_600,
        1_795_341_600.5,
        1_795_341_600_000,
        "1795341600",
    ],
    ids=str,
)
def test_event_time_is_read_in_the_forms_that_senders_write(service: Service, name: str, written: object):
    send(service, name, [{"at": written}], X_P_Time_Partition="at").raise_for_status()

    assert service.query(f'{COUNT}"{name}"', startTime="2026-11-22T10:00:00Z", endTime="2026-11-22T10:00:01Z") == [
        {"n": 1}
    ]


def test_another_time_field_than_the_datasets_is_refused(service: Service, name: str):
    send(service, name, [{"at": "2026-11-22T10:00:00Z"}], X_P_Time_Partition="at").raise_for_status()

    refused = send(service, name, [{"at": "2026-11-22T10:00:00Z", "ts": 1}], X_P_Time_Partition="ts")

    assert (refused.status_code, refused.json()["code"], refused.json()["field"]) == (
        400,
        "invalid_header",
        "X-P-Time-Partition",
    )
    assert service.query(f'{COUNT}"{name}"') == [{"n": 1}]


@pytest.mark.parametrize("bad", [{}, {"at": None}, {"at": "yesterday"}], ids=str)
def test_event_without_a_readable_time_refuses_the_batch_with_its_index(
    service: Service, name: str, bad: dict[str, Any]
):
    refused = send(service, name, [{"at": "2026-11-22T10:00:00Z"}, bad], X_P_Time_Partition="at")

    assert (refused.status_code, refused.json().get("index")) == (400, 1)


def test_lookup_dataset_is_cut_by_no_range(service: Service, name: str):
    """A dimension table joins events of any time."""
    send(service, f"{name}-o", [{"service": "a", "owner": "ann"}], X_P_Dataset_Kind="lookup").raise_for_status()
    send(service, name, [{"service": "a", "at": "2026-11-05T00:00:00Z"}], X_P_Time_Partition="at").raise_for_status()

    joined = service.query(
        f'SELECT owner FROM "{name}" JOIN "{name}-o" USING (service)', **NOVEMBER | {"endTime": "2026-11-06"}
    )

    assert joined == [{"owner": "ann"}]
    assert service.call("GET", f"/api/v1/logstream/{name}-o/info").json()["datasetKind"] == "lookup"


def test_lookup_dataset_keeps_its_rows(service: Service, name: str):
    send(service, name, [{"n": 1}], X_P_Dataset_Kind="lookup").raise_for_status()
    task = [{"description": "", "action": "delete", "duration": "1d"}]

    refused = service.call("PUT", f"/api/v1/logstream/{name}/retention", json=task)

    assert refused.status_code == 400


def test_dataset_of_events_is_no_lookup_dataset_later(service: Service, name: str):
    send(service, name, [{"n": 1}]).raise_for_status()

    refused = send(service, name, [{"n": 2}], X_P_Dataset_Kind="lookup")

    assert (refused.status_code, refused.json()["field"]) == (400, "X-P-Dataset-Kind")


def test_unknown_kind_of_dataset_is_refused(service: Service, name: str):
    refused = send(service, name, [{"n": 1}], X_P_Dataset_Kind="table")

    assert (refused.status_code, refused.json()["field"]) == (400, "X-P-Dataset-Kind")


def otlp(service: Service, name: str, **times: int) -> None:
    record = {"body": {"stringValue": "x"}} | {key: str(value) for key, value in times.items()}
    body = {"resourceLogs": [{"scopeLogs": [{"logRecords": [record]}]}]}
    headers = {"X-P-Stream": name, "X-P-Log-Source": "otel-logs"}
    service.call("POST", "/v1/logs", json=body, headers=headers).raise_for_status()


def test_ranges_over_otlp_go_by_the_records_own_time(service: Service, name: str):
    otlp(service, name, timeUnixNano=1_793_900_000 * 10**9)

    assert service.query(f'{COUNT}"{name}"', startTime="2026-11-05", endTime="2026-11-06") == [{"n": 1}]
    assert service.query(f'{COUNT}"{name}"', startTime="5m") == [{"n": 0}]
    assert service.query(f"{COUNT}\"{name}\" WHERE p_timestamp > now() - interval '5 minutes'") == [{"n": 1}]


def test_record_without_a_time_has_the_time_of_its_arrival(service: Service, name: str):
    """OTLP logs: a record may have neither time_unix_nano nor observed_time_unix_nano."""
    otlp(service, name)

    (row,) = service.query(f'SELECT time_unix_nano = p_timestamp AS same FROM "{name}"', startTime="5m")
    assert row == {"same": True}


def test_remote_write_goes_by_the_samples_time(service: Service, name: str):
    now_ms = int(time.time() * 1000)
    # A request of one series, by hand: timeseries { labels { "__name__": "up" } samples { 1.0, ms } }.
    label = b"\x0a\x08__name__\x12\x02up"
    sample = b"\x09" + b"\x00\x00\x00\x00\x00\x00\xf0\x3f" + b"\x10" + varint(now_ms - 3 * 86_400_000)
    series = b"\x0a" + varint(len(label)) + label + b"\x12" + varint(len(sample)) + sample
    body = b"\x0a" + varint(len(series)) + series
    packed = literal(body)
    headers = {"X-P-Stream": name, "X-P-Log-Source": "otel-metrics", "Content-Encoding": "snappy"}
    headers["Content-Type"] = "application/x-protobuf"

    service.call("POST", "/v1/prometheus/write", data=packed, headers=headers).raise_for_status()

    assert service.query(f'{COUNT}"{name}"', startTime="4d", endTime="now") == [{"n": 1}]
    assert service.query(f'{COUNT}"{name}"', startTime="1h") == [{"n": 0}]


def varint(number: int) -> bytes:
    out = bytearray()
    while number > 127:
        out.append(number & 127 | 128)
        number >>= 7
    return bytes([*out, number])


def literal(body: bytes) -> bytes:
    """The body as a snappy block of one literal, as its format description allows for up to 60 bytes."""
    assert len(body) <= 60
    return varint(len(body)) + bytes([(len(body) - 1) << 2]) + body
