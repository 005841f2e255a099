"""Who is asking and what they may do; the hosts."""

import pytest

from tests.running import Service

pytestmark = pytest.mark.each_stack


def test_administrator_may_everything(service: Service):
    found = service.call("GET", "/api/v1/session").json()

    assert (found["name"], found["kind"], found["tenant"]) == ("admin", "native", "default")
    assert all(found[name] for name in ("mayQuery", "mayAuthor", "mayIngest", "mayAdminister", "seesAllRows"))


def test_narrowed_reader_is_told_so(service: Service):
    key = service.make_key("session-narrow", {"privilege": "reader", "resource": {"dataset": "app", "tag": "a=b"}})

    found = service.call("GET", "/api/v1/session", headers={"X-API-Key": key}).json()

    assert found["entries"] == [{"privilege": "reader", "dataset": "app", "tag": "a=b"}]
    assert (found["mayQuery"], found["mayAuthor"], found["mayAdminister"]) == (True, False, False)
    assert (found["seesAllRows"], found["kind"]) == (False, "api_key")


def test_datasets_are_those_that_the_caller_may_read(service: Service):
    service.ingest(
        "session-a", {"at": "2026-01-01T00:00:00Z", "a": 1}, **{"X-P-Time-Partition": "at"}
    ).raise_for_status()
    service.ingest("session-b", {"a": 1}).raise_for_status()
    key = service.make_key("session-a", {"privilege": "reader", "resource": {"dataset": "session-a"}})

    (found,) = service.call("GET", "/api/v1/session/datasets", headers={"X-API-Key": key}).json()

    assert (found["name"], found["timeColumn"], found["hasEvents"]) == ("session-a", "at", True)
    assert (found["seesAllRows"], found["mayAuthor"]) == (True, False)


def test_narrowed_reader_is_not_told_whether_there_are_events(service: Service):
    service.call("PUT", "/api/v1/logstream/session-empty").raise_for_status()
    key = service.make_key(
        "session-tag", {"privilege": "reader", "resource": {"dataset": "session-empty", "tag": "a=b"}}
    )

    (found,) = service.call("GET", "/api/v1/session/datasets", headers={"X-API-Key": key}).json()

    assert (found["hasEvents"], found["seesAllRows"]) == (True, False)


def test_hosts_are_shown_to_administrators(service: Service):
    (found,) = service.call("GET", "/api/v1/hosts").json()

    assert (found["state"], found["self"], found["url"]) == ("living", True, None)
