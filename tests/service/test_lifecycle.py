"""Starting and stopping as operators do it."""

import time
from concurrent.futures import ThreadPoolExecutor

import requests

from tests.running import ADMIN, Service


def test_a_stop_does_not_wait_for_idle_connections_and_seals_what_was_written(start_service):
    """A killed worker would leave its segment unsealed and its lock file behind."""
    service: Service = start_service(WEIR_FLUSH_SECONDS="600")
    idle = [requests.Session() for _ in range(4)]
    for session in idle:
        session.post(f"{service.url}/api/v1/ingest", json=[{"a": 1}], headers={"X-P-Stream": "app"}, auth=ADMIN)
    began = time.monotonic()

    service.stop()

    log = service.log.read_text()
    assert log.count("Worker exiting") == 2
    assert time.monotonic() - began < 25  # the graceful time-out, after which gunicorn kills, is 30
    service.start()
    assert service.query("SELECT count(*) FROM app") == [{"count": 4}]


def test_what_is_being_asked_is_answered_before_the_worker_stops(start_service):
    service: Service = start_service(workers=1)
    service.ingest("app", [{"a": number} for number in range(2000)]).raise_for_status()
    sql = "SELECT count(*) AS n FROM app x CROSS JOIN app y CROSS JOIN (SELECT a FROM app LIMIT 20) z"

    with ThreadPoolExecutor(1) as pool:
        asked = pool.submit(service.query, sql)
        while not service.call("GET", "/api/v1/queries").json():
            assert not asked.done(), "the query ended too soon to show anything"
        service.process.terminate()

        assert asked.result() == [{"n": 80_000_000}]
