"""Starting and stopping as operators do it."""

import time

import requests

from tests.running import ADMIN, Service

# gunicorn kills workers that are not done by then.
PATIENT = {"GUNICORN_CMD_ARGS": "--graceful-timeout 600"}


def test_a_stop_does_not_wait_for_idle_connections_and_seals_what_was_written(start_service):
    """A killed worker would leave its segment unsealed and its lock file behind."""
    # Whoever waited for the connections would wait for longer than `stop` does. One worker: a second may still be
    # starting, and then has nothing to say at its end.
    service: Service = start_service(workers=1, WEIR_FLUSH_SECONDS="600", **PATIENT)
    idle = [requests.Session() for _ in range(4)]
    for session in idle:
        session.post(f"{service.url}/api/v1/ingest", json=[{"a": 1}], headers={"X-P-Stream": "app"}, auth=ADMIN)

    service.stop()

    assert service.log.read_text().count("Worker exiting") == 1
    service.start()
    assert service.query("SELECT count(*) FROM app") == [{"count": 4}]


def test_what_is_being_asked_is_answered_before_the_worker_stops(start_service):
    """The answer is larger than what fits between server and client, so it lasts until the client has read it."""
    service: Service = start_service(workers=1, **PATIENT)
    service.ingest("app", [{"a": number} for number in range(2000)]).raise_for_status()
    sql = "SELECT x.a, y.a AS b FROM app x CROSS JOIN app y"
    headers = {"Accept": "application/x-ndjson", "Accept-Encoding": "identity"}

    with service.call("POST", "/api/v1/query", json={"query": sql}, headers=headers, stream=True) as answer:
        pieces = answer.iter_content(2**16)
        lines = next(pieces).count(b"\n")
        service.process.terminate()
        while "Handling signal: term" not in service.log.read_text():
            time.sleep(0.05)

        assert lines + sum(piece.count(b"\n") for piece in pieces) == 4_000_000
