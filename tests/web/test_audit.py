"""Changes of rights are recorded: who, what, when, from where, with what result."""

from typing import Any

import pytest

from errors import StorageUnavailable
from tests.blueprints.conftest import record

KEYS = "/api/v1/apikeys"
ADMIN_ENTRY = {"privilege": "admin"}


@pytest.fixture
def events(call):
    """What was recorded, as (dataset, tenant, members, arrival)."""
    recorded: list[Any] = []

    def store(tenant, dataset, batch, arrival, telemetry_type):
        members = {each.name: column[0] for each, column in zip(batch.fields, batch.columns, strict=True)}
        recorded.append((dataset, tenant, members, arrival))

    record(call.app, store)
    return recorded


def actions(events) -> list[tuple[str, str | None, int]]:
    return [(members["action"], members["target"], members["status"]) for _, _, members, _ in events]


def test_record_says_who_what_when_whence_and_with_what_result(call, events):
    headers = {"X-Request-Id": "r1", "User-Agent": "curl"}
    call("PUT", "/api/v1/role/app", json=[], headers=headers, environ_base={"REMOTE_ADDR": "192.0.2.7"})

    ((dataset, tenant, members, arrival),) = events
    assert (dataset, tenant) == ("p_audit", "default")
    assert members == {
        "action": "role.put",
        "target": "app",
        "status": 200,
        "actor_kind": "native",
        "actor_id": "admin",
        "actor_name": "admin",
        "method": "PUT",
        "path": "/api/v1/role/app",
        "request_id": "r1",
    }
    assert (arrival.src_ip, arrival.user_agent) == ("192.0.2.7", "curl")


def test_every_change_and_every_secret_shown_is_recorded(call, events):
    call("PUT", "/api/v1/role/app", json=[])
    call("PUT", "/api/v1/role/default", json="app")
    key_id = call("POST", KEYS, json={"keyName": "k", "roles": ["app"]}).get_json()["keyId"]
    call("GET", f"{KEYS}/{key_id}")
    call("DELETE", f"{KEYS}/{key_id}")
    call("POST", "/api/v1/user/ann")
    call("PUT", "/api/v1/user/ann/role", json=["app"])
    call("PATCH", "/api/v1/user/ann/role/remove", json=["app"])
    call("PATCH", "/api/v1/user/ann/role/add", json=["app"])
    call("POST", "/api/v1/user/ann/generate-new-password")
    call("DELETE", "/api/v1/user/ann")
    call("DELETE", "/api/v1/role/app")

    assert actions(events) == [
        ("role.put", "app", 200),
        ("role.put_default", None, 200),
        ("api_key.create", key_id, 200),
        ("api_key.get", key_id, 200),
        ("api_key.delete", key_id, 200),
        ("user.create", "ann", 200),
        ("user.set_roles", "ann", 200),
        ("user.remove_roles", "ann", 200),
        ("user.add_roles", "ann", 200),
        ("user.renew_password", "ann", 200),
        ("user.delete", "ann", 200),
        ("role.delete", "app", 200),
    ]


def test_refused_attempts_are_recorded_too(call, events):
    ann = call.make_user("ann")
    events.clear()

    call("DELETE", "/api/v1/user/admin", ann)
    call("DELETE", "/api/v1/user/admin")
    call("PUT", "/api/v1/role/app", json=[{}])

    assert [status for _, _, status in actions(events)] == [403, 409, 400]


def test_looking_without_secrets_is_not_recorded(call, events):
    for path in (KEYS, "/api/v1/users", "/api/v1/roles", "/api/v1/role/admin"):
        call("GET", path)

    assert events == []


def test_no_secret_is_recorded(call, events):
    key = call.make_key("k", ADMIN_ENTRY)
    user = call.make_user("ann", ADMIN_ENTRY)
    call("GET", f"{KEYS}/{key['keyId']}", key["apiKey"])
    call("GET", f"{KEYS}/{key['keyId']}", user)

    assert key["apiKey"] not in str(events)
    assert user[1] not in str(events)


def test_change_stands_when_it_cannot_be_recorded(call, caplog):
    def fail(*_: Any) -> None:
        raise StorageUnavailable("the disk is gone")

    record(call.app, fail)

    assert call("PUT", "/api/v1/role/app", json=[]).status_code == 200
    assert "role.put" in caplog.text


def test_administrator_reads_the_audit_by_sql(service):
    service.make_key("audited", {"privilege": "reader"})

    rows = service.query("SELECT action, status, actor_name FROM p_audit WHERE target = 'audited' ORDER BY p_timestamp")

    assert rows == [{"action": "role.put", "status": 200, "actor_name": "admin"}]


def test_reader_of_everything_does_not_see_the_audit(service):
    headers = {"X-API-Key": service.make_key("not-auditor", {"privilege": "reader"})}

    refused = service.call("POST", "/api/v1/query", json={"query": "SELECT * FROM p_audit"}, headers=headers)

    assert refused.status_code == 403
    assert "p_audit" not in service.call("GET", "/api/v1/logstream", headers=headers).text
    assert service.call("GET", "/api/v1/logstream/p_audit/schema", headers=headers).status_code == 403


def test_not_even_an_administrator_writes_or_deletes_the_audit(service):
    service.make_key("another", {"privilege": "reader"})

    assert service.ingest("p_audit", {"action": "forged"}).status_code in (400, 403)
    assert service.call("POST", "/api/v1/logstream/p_audit", json=[{"a": 1}]).status_code in (400, 403)
    assert service.call("DELETE", "/api/v1/logstream/p_audit").status_code == 403


def test_wrong_password_is_recorded_with_the_user_it_was_tried_for(call, events):
    call("GET", "/api/v1/roles", auth=("admin", "wrong"), environ_base={"REMOTE_ADDR": "192.0.2.7"})

    ((_, tenant, members, arrival),) = events
    assert (tenant, members["action"], members["target"], members["status"]) == (
        "default",
        "password.refuse",
        "admin",
        401,
    )
    assert (members["actor_name"], arrival.src_ip) == (None, "192.0.2.7")


def test_name_that_nobody_has_is_not_recorded_as_it_may_be_a_password(call, events):
    call("GET", "/api/v1/roles", auth=("hunter2-typed-here", "admin"))

    assert actions(events) == [("password.refuse", None, 401)]
    assert "hunter2" not in str(events)


def test_right_password_and_wrong_key_have_no_row(call, events):
    call("GET", "/api/v1/roles")
    call("GET", "/api/v1/roles", auth="11111111-2222-4333-8444-555555555555")

    assert events == []


def test_session_is_recorded_when_it_begins_and_ends(call, events):
    opened = call("GET", "/api/v1/o/login")
    cookie = opened.headers["Set-Cookie"].split(";")[0]
    call("GET", "/api/v1/o/logout", auth=None, headers={"Cookie": cookie})

    assert [(members["action"], members["actor_name"]) for _, _, members, _ in events] == [
        ("session.open", "admin"),
        ("session.close", "admin"),
    ]
    assert cookie.partition("=")[2] not in str(events)
