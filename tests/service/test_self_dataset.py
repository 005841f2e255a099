"""Weir's own log lines and numbers, asked for by SQL."""

import time
from collections.abc import Callable
from typing import Any

import pytest

from tests.running import ADMIN, Service

WAIT_SECONDS = 120


@pytest.fixture
def observed(start_service: Callable[..., Service]) -> Service:
    return start_service(
        workers=2, WEIR_SELF_DATASET="weir", WEIR_SELF_SECONDS="1", WEIR_SECRET_KEY="this-seals-the-keys"
    )


def wait_for(service: Service, sql: str, is_there: Callable[[list[Any]], bool] = bool) -> list[Any]:
    """The rows, once they are as they should be. Until the dataset exists it is not asked: a refusal makes a line."""
    deadline = time.monotonic() + WAIT_SECONDS
    while True:
        exists = {"name": "weir"} in service.call("GET", "/api/v1/logstream").json()
        found = service.query(sql) if exists else []
        if exists and is_there(found):
            return found
        assert time.monotonic() < deadline, found
        time.sleep(0.1)


def test_lines_of_all_processes_and_numbers_arrive_and_no_secret_does(observed: Service):
    secret = observed.make_key("observed", {"privilege": "ingestor"})
    wrong = "11111111-2222-4333-8444-555555555555"
    for key in (wrong, secret):
        headers = {"X-API-Key": key, "X-Request-Id": f"with-{len(key)}", "User-Agent": "a-client"}
        observed.call("POST", "/api/v1/query", json={"query": f"SELECT '{secret}' FROM"}, headers=headers)

    lines = wait_for(
        observed,
        "SELECT level, logger, code, request_id, message, host FROM weir WHERE code = 'unauthenticated'",
    )
    assert (lines[0]["level"], lines[0]["request_id"]) == ("info", "with-36")
    assert lines[0]["host"]
    wait_for(
        observed,
        "SELECT 1 FROM weir WHERE logger = 'storage.upkeep.maintenance' AND message LIKE 'maintenance%'",
    )
    counted = wait_for(
        observed,
        "SELECT max(value) AS refused FROM weir WHERE metric = 'weir_refusals_total'"
        " AND labels->>'code' = 'unauthenticated'",
        lambda rows: rows[0]["refused"] is not None,
    )
    assert counted == [{"refused": 1.0}]
    everything = str(observed.query("SELECT * FROM weir"))
    for each in (secret, wrong, ADMIN[1], "this-seals-the-keys"):
        assert each not in everything


def test_idle_service_writes_its_numbers_and_no_lines(observed: Service):
    """No feedback: storing rows makes no rows."""
    started = "SELECT 1 FROM weir WHERE message LIKE 'started %' OR message LIKE 'maintenance leads %'"
    wait_for(observed, started, lambda rows: len(rows) == 3)
    samples = "SELECT count(DISTINCT time) AS times FROM weir WHERE kind = 'metric'"
    lines = "SELECT count(*) AS lines FROM weir WHERE kind = 'log'"
    before = observed.query(lines)

    # Several conversions and samples later:
    wait_for(observed, samples, lambda rows: rows[0]["times"] >= 10)

    assert observed.query(lines) == before
    a_moment = "SELECT time, count(*) AS samples FROM weir WHERE kind = 'metric' GROUP BY time ORDER BY time"
    sizes = [row["samples"] for row in observed.query(a_moment)]
    assert sizes[-1] <= sizes[3] + 10, "each sample has as many rows as there are numbers, not as there are rows"


def test_requests_that_name_the_dataset_leave_no_lines(observed: Service):
    secret = observed.make_key("not-weir", {"privilege": "ingestor", "resource": {"dataset": "app"}})
    for dataset in ("weir", "other"):
        headers = {"X-API-Key": secret, "X-P-Stream": dataset, "X-Request-Id": f"into-{dataset}"}
        assert observed.call("POST", "/api/v1/ingest", json=[{}], headers=headers).status_code == 403

    lines = wait_for(observed, "SELECT request_id FROM weir WHERE request_id LIKE 'into-%'")

    assert lines == [{"request_id": "into-other"}]


def test_service_without_the_setting_stores_nothing_of_itself(service: Service):
    assert "weir_self_events_total{" not in service.call("GET", "/api/v1/metrics").text


def test_name_that_no_dataset_can_have_stops_the_start(start_service: Callable[..., Service]):
    with pytest.raises(RuntimeError, match="WEIR_SELF_DATASET"):
        start_service(workers=1, WEIR_SELF_DATASET="p_weir")
