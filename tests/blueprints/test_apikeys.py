"""API keys over HTTP: spec 2.1, 3 and 4.1."""

import re
from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest

from blueprints.apikeys import PREFIXES
from web.services import services_of

KEYS = "/api/console/v1/apikeys"
ADMIN_ENTRY = {"privilege": "admin"}
INGESTOR = {"privilege": "ingestor"}
UNKNOWN_ID = "01ARZ3NDEKTSV4RRFFQ69G5FAV"


def test_created_key_has_all_members_and_its_secret_in_full(call):
    """Spec 2.1."""
    call.make_role("app", INGESTOR)

    made = call("POST", KEYS, json={"keyName": "forwarder", "roles": ["app"]})

    assert made.status_code == 200
    key = made.get_json()
    assert list(key) == [
        "keyId", "keyName", "apiKey", "roles", "createdBy", "createdAt", "modifiedAt", "expiresAt", "lastUsedAt",
    ]  # fmt: skip
    assert UUID(key["apiKey"]).version == 4
    assert re.fullmatch(r"[0-9A-HJKMNP-TV-Z]{26}", key["keyId"])
    assert (key["keyName"], key["roles"], key["createdBy"]) == ("forwarder", ["app"], "admin")
    assert key["createdAt"] == key["modifiedAt"]
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z", key["createdAt"])


@pytest.mark.parametrize("prefix", PREFIXES.values())
def test_every_prefix_creates_lists_fetches_and_deletes(call, prefix):
    """Spec 4.1, and the alias that it mentions."""
    call.make_role("app", INGESTOR)

    key = call("POST", prefix, json={"keyName": "k", "roles": ["app"]}).get_json()

    assert [each["keyId"] for each in call("GET", prefix).get_json()] == [key["keyId"]]
    assert call("GET", f"{prefix}/{key['keyId']}").get_json() == key
    assert call("DELETE", f"{prefix}/{key['keyId']}").status_code == 200
    assert call("GET", prefix).get_json() == []


def test_list_masks_the_secret_to_its_last_four_characters(call):
    """Spec 2.1: masked as `****` followed by its last four characters."""
    key = call.make_key("k", INGESTOR)

    listed = call("GET", KEYS)

    assert listed.get_json()[0]["apiKey"] == "****" + key["apiKey"][-4:]
    assert key["apiKey"] not in listed.text


def test_deleted_key_is_refused_at_once(call):
    """Spec 3 and 7: every later request using the key value gets 401."""
    key = call.make_key("k", INGESTOR)
    assert call("GET", "/whoami", key["apiKey"]).status_code == 200

    deleted = call("DELETE", f"{KEYS}/{key['keyId']}")

    assert deleted.get_json() == {
        "keyId": key["keyId"],
        "keyName": "k",
        "message": "API key deleted successfully",
    }
    assert call("GET", "/whoami", key["apiKey"]).status_code == 401


def test_role_change_counts_from_the_next_request(call):
    """Spec 5.3: the key's roles are resolved on each request."""
    key = call.make_key("k", {"privilege": "reader", "resource": {"dataset": "app"}})
    assert call("GET", "/dataset/app/query", key["apiKey"]).status_code == 200

    call.make_role("k", {"privilege": "reader", "resource": {"dataset": "other"}})

    assert call("GET", "/dataset/app/query", key["apiKey"]).status_code == 403
    assert call("GET", "/dataset/other/query", key["apiKey"]).status_code == 200


def test_second_key_of_a_name_is_refused(call):
    """Spec 2.1: keyName is unique within the tenant."""
    call.make_key("k", INGESTOR)

    again = call("POST", KEYS, json={"keyName": "k", "roles": ["k"]})

    assert (again.status_code, again.get_json()["code"]) == (409, "key_name_taken")


def test_unknown_role_wins_over_a_taken_name(call):
    call.make_key("k", INGESTOR)

    refused = call("POST", KEYS, json={"keyName": "k", "roles": ["ghost"]})

    assert (refused.status_code, refused.get_json()["code"]) == (400, "unknown_role")


BAD_BODIES = {
    "nothing": None,
    "not an object": [],
    "no name": {"roles": []},
    "no roles": {"keyName": "k"},
    "empty name": {"keyName": "", "roles": []},
    "long name": {"keyName": "k" * 201, "roles": []},
    "name not text": {"keyName": 7, "roles": []},
    "name with NUL": {"keyName": "a\0b", "roles": []},
    "name with a line break": {"keyName": "a\nb", "roles": []},
    "name with a right-to-left mark": {"keyName": "a\u202eb", "roles": []},
    "roles not an array": {"keyName": "k", "roles": "app"},
    "role not text": {"keyName": "k", "roles": [1]},
    "role null": {"keyName": "k", "roles": [None]},
    "role with NUL": {"keyName": "k", "roles": ["\0"]},
    "expiry not a time": {"keyName": "k", "roles": [], "expiresAt": "tomorrow"},
    "expiry without zone": {"keyName": "k", "roles": [], "expiresAt": "2999-01-01T00:00:00"},
    "expiry in the past": {"keyName": "k", "roles": [], "expiresAt": "2001-01-01T00:00:00Z"},
    "expiry too far": {"keyName": "k", "roles": [], "expiresAt": "99999-01-01T00:00:00Z"},
}


@pytest.mark.parametrize("body", BAD_BODIES.values(), ids=BAD_BODIES)
def test_bad_body_is_refused_and_nothing_is_stored(call, body):
    refused = call("POST", KEYS, json=body)

    assert refused.status_code == 400
    assert set(refused.get_json()) >= {"code", "message", "requestId"}
    assert call("GET", KEYS).get_json() == []


@pytest.mark.parametrize(
    "body", [b"", b"{", b'{"keyName": "\\ud800", "roles": []}', b"[" * 5000, b"\xff\xfe", b'{"keyName": NaN}']
)
def test_body_that_is_not_json_is_refused(call, body):
    refused = call("POST", KEYS, data=body)

    assert (refused.status_code, refused.get_json()["code"]) == (400, "invalid_json")


def test_body_beyond_the_limit_is_refused(call):
    refused = call("POST", KEYS, data=b" " * (1024 * 1024 + 1))

    assert (refused.status_code, refused.get_json()["code"]) == (413, "body_too_large")


def test_unknown_members_are_ignored_and_repeated_roles_counted_once(call):
    call.make_role("app", INGESTOR)

    made = call("POST", KEYS, json={"keyName": "k", "roles": ["app", "app"], "color": "red"})

    assert made.get_json()["roles"] == ["app"]


@pytest.mark.parametrize("method", ["GET", "DELETE"])
@pytest.mark.parametrize("key_id", [UNKNOWN_ID, "no-ulid", "%25", "'; DROP TABLE api_key; --"])
def test_unknown_key_is_not_found(call, method, key_id):
    answer = call(method, f"{KEYS}/{key_id}")

    assert (answer.status_code, answer.get_json()["code"]) == (404, "key_not_found")


def test_key_id_with_nul_is_refused(call):
    assert call("GET", f"{KEYS}/%00").status_code == 400


def test_key_of_expired_life_is_refused_like_an_unknown_one(call, monkeypatch):
    call.make_role("app", INGESTOR)
    soon = (datetime.now(UTC) + timedelta(hours=1)).isoformat()
    key = call("POST", KEYS, json={"keyName": "k", "roles": ["app"], "expiresAt": soon}).get_json()
    assert call("GET", "/whoami", key["apiKey"]).status_code == 200

    verifier = services_of(call.app).access.verifier
    monkeypatch.setattr(verifier, "_clock", lambda: datetime.now(UTC) + timedelta(hours=1, seconds=1))

    assert call("GET", "/whoami", key["apiKey"]).status_code == 401


def test_last_use_is_shown_after_it_was_written(call, access):
    key = call.make_key("k", INGESTOR)
    call("GET", "/whoami", key["apiKey"])
    assert call("GET", f"{KEYS}/{key['keyId']}").get_json()["lastUsedAt"] is None

    access.last_use.flush()

    assert call("GET", f"{KEYS}/{key['keyId']}").get_json()["lastUsedAt"] > key["createdAt"]


ROUTES = [("POST", KEYS), ("GET", KEYS), ("GET", f"{KEYS}/{UNKNOWN_ID}"), ("DELETE", f"{KEYS}/{UNKNOWN_ID}")]


@pytest.mark.parametrize(("method", "path"), ROUTES)
@pytest.mark.parametrize(
    "entry",
    [
        INGESTOR,
        {"privilege": "reader"},
        {"privilege": "writer"},
        {"privilege": "admin", "resource": {"dataset": "app"}},
    ],
    ids=["ingestor", "reader", "writer", "admin of one dataset"],
)
def test_key_management_needs_an_administrator(call, method, path, entry):
    """Spec 5.4. A refused caller learns neither whether the key exists nor whether the body is right."""
    user = call.make_user("u", entry)
    key = call.make_key("k", entry)

    for auth in (user, key["apiKey"]):
        refused = call(method, path, auth, json={"keyName": 1})

        assert (refused.status_code, refused.get_json()["code"]) == (403, "forbidden")
        assert refused.get_json()["privilege"] == "admin"


@pytest.mark.parametrize(("method", "path"), ROUTES)
def test_key_management_needs_an_identity(call, method, path):
    assert call(method, path, None).status_code == 401


def test_administrators_key_manages_keys(call):
    """Spec 5.5: both credential forms are usable with the API-key endpoints."""
    key = call.make_key("robot", ADMIN_ENTRY)

    made = call("POST", KEYS, key["apiKey"], json={"keyName": "k", "roles": []})

    assert made.get_json()["createdBy"] == "robot"


def test_secrets_are_not_to_be_cached_on_the_way(call):
    key = call.make_key("k", INGESTOR)

    assert call("GET", f"{KEYS}/{key['keyId']}").headers["Cache-Control"] == "no-store"
