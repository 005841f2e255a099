"""JSON ingestion over HTTP: gathered requests, idempotency keys, injected columns (spec 4.2, api.md section 4)."""

import os
import signal
import uuid
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.running import Service

pytestmark = pytest.mark.each_stack


@pytest.fixture
def name() -> str:
    return f"in-{uuid.uuid4().hex[:12]}"


def test_one_object_is_one_event(service: Service, name: str):
    assert service.ingest(name, {"a": 1}).json() == {"dataset": name, "events": 1}


def test_no_events_are_a_success_that_makes_the_dataset(service: Service, name: str):
    assert service.ingest(name, []).json() == {"dataset": name, "events": 0}
    assert service.query(f'SELECT count(*) FROM "{name}"') == [{"count": 0}]


def test_every_row_says_when_whence_and_by_what_it_came(service: Service, name: str):
    service.ingest(name, [{"a": 1}, {"a": 2}], **{"User-Agent": "shipper/1", "X-P-Env": "prod"}).raise_for_status()

    rows = service.query(f'SELECT p_timestamp, p_src_ip, p_user_agent, env FROM "{name}"')

    assert {(row["p_src_ip"], row["p_user_agent"], row["env"]) for row in rows} == {("127.0.0.1", "shipper/1", "prod")}
    assert len({row["p_timestamp"] for row in rows}) == 1


def test_gathered_requests_are_answered_each_for_itself(service: Service, name: str):
    """What one request did wrong is its own 400; those that were gathered with it are stored."""
    service.ingest(name, [{"n": -1}]).raise_for_status()
    bodies = [{"n": number} if number % 5 else {"n": number, "p_timestamp": 1} for number in range(100)]

    with ThreadPoolExecutor(20) as pool:
        answers = list(pool.map(lambda body: service.ingest(name, body), bodies))

    assert [answer.status_code for answer in answers] == [200 if number % 5 else 400 for number in range(100)]
    stored = {row["n"] for row in service.query(f'SELECT n FROM "{name}" WHERE n >= 0')}
    assert stored == {number for number in range(100) if number % 5}


def test_gathered_requests_keep_their_own_headers(service: Service, name: str):
    service.ingest(name, [{"n": -1}]).raise_for_status()

    with ThreadPoolExecutor(20) as pool:
        list(pool.map(lambda n: service.ingest(name, {"n": n}, **{"X-P-Origin": f"host-{n}"}), range(60)))

    rows = service.query(f'SELECT n, origin FROM "{name}" WHERE n >= 0')
    assert sorted(row["n"] for row in rows) == list(range(60))
    assert all(row["origin"] == f"host-{row['n']}" for row in rows)


def test_integers_of_any_size_survive_being_gathered(service: Service, name: str):
    service.ingest(name, [{"n": 1}]).raise_for_status()

    with ThreadPoolExecutor(10) as pool:
        list(pool.map(lambda n: service.ingest(name, {"n": 2**70 + n}), range(20)))

    texts = service.query(f'SELECT n_utf8 FROM "{name}" WHERE n_utf8 IS NOT NULL')
    assert {row["n_utf8"] for row in texts} == {str(2**70 + n) for n in range(20)}


def test_a_repeated_request_with_its_key_is_stored_once(service: Service, name: str):
    first = service.ingest(name, [{"a": 1}, {"a": 2}], **{"Idempotency-Key": name})
    second = service.ingest(name, [{"a": 1}, {"a": 2}], **{"Idempotency-Key": name})

    assert first.json() == {"dataset": name, "events": 2}
    assert second.json() == {"dataset": name, "events": 2, "duplicate": True}
    assert service.query(f'SELECT count(*) FROM "{name}"') == [{"count": 2}]


def test_a_key_with_another_body_is_refused(service: Service, name: str):
    service.ingest(name, [{"a": 1}], **{"Idempotency-Key": name})

    answer = service.ingest(name, [{"a": 2}], **{"Idempotency-Key": name})

    assert (answer.status_code, answer.json()["code"]) == (422, "idempotency_key_reused")
    assert service.query(f'SELECT count(*) FROM "{name}"') == [{"count": 1}]


def test_a_key_belongs_to_its_credential_and_dataset(service: Service, name: str):
    key = service.make_key(name, {"privilege": "ingestor"})
    sent = {"Idempotency-Key": "shared"}

    answers = [service.ingest(name, {"a": 1}, **sent), service.ingest(name, {"a": 1}, **sent, **{"X-API-Key": key})]
    answers.append(service.ingest(f"{name}-2", {"a": 1}, **sent))

    assert [answer.json().get("duplicate") for answer in answers] == [None, None, None]


def test_rivals_with_one_key_store_one_copy(service: Service, name: str):
    """Twenty at once, over two workers."""
    service.ingest(name, [{"a": 0}]).raise_for_status()

    with ThreadPoolExecutor(20) as pool:
        rivals = [pool.submit(service.ingest, name, {"a": 1}, **{"Idempotency-Key": "race"}) for _ in range(20)]

    answers = [rival.result() for rival in rivals]
    assert {answer.status_code for answer in answers} <= {200, 503}
    assert sum(answer.status_code == 200 and "duplicate" not in answer.json() for answer in answers) == 1
    assert service.query(f'SELECT count(*) FROM "{name}" WHERE a = 1') == [{"count": 1}]


def test_a_key_survives_kill_and_restart(start_service):
    service = start_service()
    body = [{"a": number} for number in range(10)]
    service.ingest("app", body, **{"Idempotency-Key": "k"}).raise_for_status()
    os.killpg(service.process.pid, signal.SIGKILL)
    service.process.wait()
    service.start()

    again = service.ingest("app", body, **{"Idempotency-Key": "k"})

    assert again.json() == {"dataset": "app", "events": 10, "duplicate": True}
    assert service.query("SELECT count(*) FROM app") == [{"count": 10}]
