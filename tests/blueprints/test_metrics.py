"""`GET /api/v1/metrics` of a running service: all workers' numbers, to each caller what is theirs."""

import os
import re
import signal
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.running import Service

pytestmark = pytest.mark.each_stack


def scrape(service: Service, **headers: str) -> str:
    answer = service.call("GET", "/api/v1/metrics", headers=headers)
    assert answer.status_code == 200, answer.text
    assert answer.headers["Content-Type"] == "text/plain; version=0.0.4; charset=utf-8"
    return answer.text


def sample(text: str, series: str) -> float:
    found = re.search(rf"^{re.escape(series)} (\S+)$", text, re.MULTILINE)
    return float(found[1]) if found else 0.0


def test_events_and_bytes_of_all_workers_are_added_up(service: Service):
    for _ in range(20):
        service.ingest("counted", [{"n": 1}, {"n": 2}]).raise_for_status()

    text = scrape(service)

    assert sample(text, 'weir_ingested_events_total{dataset="counted",tenant="default"}') == 40
    assert sample(text, 'weir_ingested_bytes_total{dataset="counted",tenant="default"}') == 20 * 20


def test_a_repeated_request_is_counted_once(service: Service):
    for _ in range(3):
        service.ingest("counted-once", [{"n": 1}], **{"Idempotency-Key": "metrics-1"}).raise_for_status()

    text = scrape(service)

    assert sample(text, 'weir_ingested_events_total{dataset="counted-once",tenant="default"}') == 1


def test_refusals_are_counted_by_code_on_every_protocol(service: Service):
    before = sample(scrape(service), 'weir_refusals_total{code="missing_header"}')

    service.call("POST", "/api/v1/ingest", json=[{}])
    service.call("POST", "/v1/logs", json={})
    service.call("POST", "/v1/prometheus/write", data=b"")

    assert sample(scrape(service), 'weir_refusals_total{code="missing_header"}') == before + 3


def test_a_path_that_does_not_exist_makes_no_label(service: Service):
    service.call("GET", "/no/such/path-of-mine")

    text = scrape(service)

    assert "path-of-mine" not in text
    assert sample(text, 'weir_requests_total{method="unmatched",route="unmatched",status="404"}') >= 1


def test_left_out_events_are_counted_by_protocol_and_reason(service: Service):
    good = {"timeUnixNano": "1", "body": {"stringValue": "kept"}}
    bad = {"timeUnixNano": "1", "attributes": [{"key": "p_timestamp", "value": {"stringValue": "now"}}]}
    body = {"resourceLogs": [{"scopeLogs": [{"logRecords": [good, bad]}]}]}
    before = sample(scrape(service), 'weir_rejected_events_total{protocol="otlp",reason="reserved_name"}')
    headers = {"X-P-Stream": "left-out", "X-P-Log-Source": "otel-logs"}

    answer = service.call("POST", "/v1/logs", json=body, headers=headers)

    assert answer.json()["partialSuccess"]["rejectedLogRecords"] == "1"
    assert sample(scrape(service), 'weir_rejected_events_total{protocol="otlp",reason="reserved_name"}') == before + 1


def test_commits_and_syncs_are_timed(service: Service):
    service.ingest("timed", [{"n": 1}]).raise_for_status()

    text = scrape(service)

    commits = sample(text, "weir_commit_duration_seconds_count")
    assert commits >= 1
    assert sample(text, "weir_sync_duration_seconds_count") == commits
    assert sample(text, "weir_committed_requests_total") >= commits


def test_state_of_the_host_is_there(service: Service):
    service.ingest("sized", [{"n": 1}]).raise_for_status()
    service.query("SELECT 1")

    text = scrape(service)

    assert sample(text, "weir_workers") == 2
    assert 0 < sample(text, "weir_disk_used_ratio") < 1
    for name in ("queries_in_progress", "segments_unconverted", "segments_unconverted_bytes", "conversion_lag_seconds"):
        assert f"weir_{name} " in text
    assert sample(text, "weir_query_duration_seconds_count") >= 1
    assert sample(text, "weir_query_wait_seconds_count") >= sample(text, "weir_query_duration_seconds_count")


def test_converted_files_are_counted_per_dataset(service: Service):
    service.ingest("filed", [{"n": 1}, {"n": 2}]).raise_for_status()

    text = wait_for(service, lambda text: sample(text, 'weir_dataset_rows{dataset="filed",tenant="default"}') == 2)

    assert sample(text, 'weir_dataset_files{dataset="filed",tenant="default"}') == 1
    assert sample(text, 'weir_dataset_bytes{dataset="filed",tenant="default"}') > 100


def wait_for(service: Service, condition: Callable[[str], bool]) -> str:
    deadline = time.monotonic() + 60
    while not condition(text := scrape(service)):
        assert time.monotonic() < deadline, text
        time.sleep(0.2)
    return text


@pytest.mark.parametrize(
    ("entry", "sees"),
    [
        pytest.param({"privilege": "reader", "resource": {"dataset": "shown"}}, {"shown"}, id="reader of one"),
        pytest.param({"privilege": "reader"}, {"shown", "hidden"}, id="reader of all"),
        pytest.param(
            {"privilege": "reader", "resource": {"dataset": "shown", "tag": "env=prod"}}, set(), id="narrowed reader"
        ),
    ],
)
def test_reader_sees_the_numbers_of_what_it_may_read(service: Service, entry: dict, sees: set[str]):
    """Attack 29: whoever may not read a dataset does not learn from the metrics that it exists, nor its size."""
    for name in ("shown", "hidden"):
        service.ingest(name, [{"env": "prod"}]).raise_for_status()
    secret = service.make_key(f"metrics-{abs(hash(str(entry)))}", entry)

    text = scrape(service, **{"X-API-Key": secret})

    named = set(re.findall(r'dataset="(shown|hidden)"', text))
    assert named == sees


def test_counts_survive_a_killed_worker(start_service: Callable[..., Service]):
    service = start_service(workers=2)
    for _ in range(10):
        service.ingest("survives", [{"n": 1}]).raise_for_status()

    assert service.process is not None
    children = Path(f"/proc/{service.process.pid}/task/{service.process.pid}/children").read_text().split()
    os.kill(int(children[0]), signal.SIGKILL)

    series = 'weir_ingested_events_total{dataset="survives",tenant="default"}'
    assert sample(wait_for_scrape(service), series) == 10


def wait_for_scrape(service: Service) -> str:
    service.wait_until_ready()
    return wait_for(service, lambda text: sample(text, "weir_workers") == 2)
