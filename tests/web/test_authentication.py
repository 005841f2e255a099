"""The hook that establishes who is calling: spec 5."""

import base64

import pytest

from tests.blueprints.conftest import ADMIN

READER = {"privilege": "reader"}


def basic(name: str, password: str) -> str:
    return "Basic " + base64.b64encode(f"{name}:{password}".encode()).decode()


def test_native_user_by_basic(call):
    answer = call("GET", "/whoami")

    assert answer.get_json() == {"tenant": "default", "kind": "native", "name": "admin", "roles": ["admin"]}


def test_api_key(call):
    """Spec 5.2, 5.3."""
    key = call.make_key("k", READER)

    answer = call("GET", "/whoami", key["apiKey"])

    assert answer.get_json() == {"tenant": "default", "kind": "api_key", "name": "k", "roles": ["k"]}


def test_key_and_basic_together_are_refused(call):
    """Spec 5.2: both must not be sent together."""
    key = call.make_key("k", READER)

    refused = call("GET", "/whoami", headers={"X-API-Key": key["apiKey"]})

    assert (refused.status_code, refused.get_json()["code"]) == (400, "conflicting_credentials")


@pytest.mark.parametrize("authorization", ["", "Basic", "Bearer x", basic("admin", "wrong")])
def test_key_and_any_authorization_together_are_refused(call, authorization):
    headers = {"X-API-Key": "", "Authorization": authorization}

    assert call("GET", "/whoami", None, headers=headers).status_code == 400


WRONG = {
    "nothing": {},
    "unknown user": {"Authorization": basic("nobody", "x")},
    "wrong password": {"Authorization": basic("admin", "wrong")},
    "empty password": {"Authorization": basic("admin", "")},
    "empty name": {"Authorization": basic("", "")},
    "name with NUL": {"Authorization": basic("ad\0min", "x")},
    "name in other case": {"Authorization": basic("ADMIN", "correct horse battery staple")},
    "name with space": {"Authorization": basic(" admin", "correct horse battery staple")},
    "other scheme with right credentials": {
        "Authorization": basic("admin", "correct horse battery staple").replace("Basic", "Token")
    },
    "basic twice": {"Authorization": ",".join([basic("admin", "correct horse battery staple")] * 2)},
    "basic without credentials": {"Authorization": "Basic"},
    "basic that is not base64": {"Authorization": "Basic !!!"},
    "basic without colon": {"Authorization": "Basic " + base64.b64encode(b"admin").decode()},
    "bearer without provider": {"Authorization": "Bearer eyJhbGciOiJub25lIn0.e30."},
    "empty bearer": {"Authorization": "Bearer "},
    "digest": {"Authorization": 'Digest username="admin"'},
    "empty authorization": {"Authorization": ""},
    "empty key": {"X-API-Key": ""},
    "unknown key": {"X-API-Key": "7f0c1e5e-3f77-4f4c-9a3e-0c5f2a4cb5ee"},
    "wildcard key": {"X-API-Key": "%"},
    "key that is no uuid": {"X-API-Key": "' OR 1=1 --"},
    "session cookie of nobody": {"Cookie": "session=01ARZ3NDEKTSV4RRFFQ69G5FAV"},
}


@pytest.mark.parametrize("headers", WRONG.values(), ids=WRONG)
def test_all_refusals_look_the_same(call, headers):
    refused = call("GET", "/whoami", None, headers={**headers, "X-Request-Id": "r"})

    assert refused.status_code == 401
    assert refused.get_json() == {
        "code": "unauthenticated",
        "message": "this needs valid credentials: an X-API-Key header, Basic or Bearer authorization, or a session",
        "requestId": "r",
    }
    assert refused.headers["WWW-Authenticate"]


@pytest.mark.parametrize(
    "damage",
    [str.upper, lambda key: key + " x", lambda key: key[:-1], lambda key: f"{{{key}}}", lambda key: f"{key},{key}"],
    ids=["upper case", "more", "prefix", "braces", "twice"],
)
def test_key_is_compared_exactly(call, damage):
    key = call.make_key("k", READER)["apiKey"]

    assert call("GET", "/whoami", damage(key)).status_code == 401


@pytest.mark.parametrize("scheme", ["basic", "BASIC", "Basic"])
def test_scheme_has_no_case(call, scheme):
    """RFC 9110 section 11.1."""
    authorization = basic("admin", "correct horse battery staple").replace("Basic", scheme)

    assert call("GET", "/whoami", None, headers={"Authorization": authorization}).status_code == 200


def test_tenant_header_is_refused_by_a_server_of_one_tenant(call):
    refused = call("GET", "/whoami", headers={"X-P-Tenant": "default"})

    assert (refused.status_code, refused.get_json()["code"]) == (400, "invalid_header")


def test_wrong_credential_wins_over_the_tenant_header(call):
    assert call("GET", "/whoami", None, headers={"X-P-Tenant": "default"}).status_code == 401


def test_refused_access_names_privilege_and_dataset(call):
    """Spec 5.8: a reader-only key can query but not write."""
    key = call.make_key("k", READER)["apiKey"]

    refused = call("GET", "/dataset/app/ingest", key)

    assert refused.status_code == 403
    assert (refused.get_json()["privilege"], refused.get_json()["dataset"]) == ("ingestor", "app")


def test_path_that_needs_no_identity_is_not_asked_for_one(call):
    assert call("GET", "/nowhere", None).status_code == 404


def guess(call, name, password="wrong", address="192.0.2.1"):
    return call("GET", "/whoami", (name, password), environ_base={"REMOTE_ADDR": address})


@pytest.mark.parametrize("name", ["admin", "nobody"])
def test_guessing_is_slowed_down_whether_the_user_exists_or_not(call, name):
    statuses = [guess(call, name).status_code for _ in range(13)]

    assert statuses == [401] * 11 + [429] * 2
    refused = guess(call, name)
    assert (refused.get_json()["code"], refused.headers["Retry-After"]) == ("too_many_attempts", "1")


def test_guessing_does_not_lock_out_the_user_elsewhere_nor_others_here(call, access):
    ann = call.make_user("ann", READER)
    for _ in range(12):
        guess(call, "admin")

    assert guess(call, *ADMIN, address="192.0.2.2").status_code == 200
    assert guess(call, *ann).status_code == 200


def test_user_whose_password_was_seen_before_is_not_locked_out_even_here(call):
    """Also when a change of some identity has emptied the cache."""
    assert guess(call, *ADMIN).status_code == 200
    for _ in range(12):
        guess(call, "admin")
    call.make_role("new", READER)

    assert guess(call, *ADMIN).status_code == 200


def test_wrong_keys_are_not_slowed_down_and_slow_down_nobody(call):
    """A key's 122 random bits cannot be guessed, and behind one address many forwarders share it."""
    key = call.make_key("k", READER)["apiKey"]
    assert [call("GET", "/whoami", "wrong").status_code for _ in range(200)] == [401] * 200

    assert call("GET", "/whoami", key).status_code == 200
