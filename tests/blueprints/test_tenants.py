"""Several tenants on one server: spec 1.6, 5.6 and api.md section 2."""

import pytest

from models import dataset

INGESTOR = {"privilege": "ingestor"}
ROOT = {"X-P-Tenant": "default"}
KEYS = "/api/v1/apikeys"


class Tenant:
    """Calls as the administrator of a tenant just made."""

    def __init__(self, call, name):
        self.call = call
        made = call("PUT", f"/api/v1/tenants/{name}", headers=ROOT, json={"admin": "boss"})
        assert made.status_code == 200, made.text
        self.headers = {"X-P-Tenant": name}
        self.auth = ("boss", made.get_json()["admin"]["password"])

    def __call__(self, method, path, auth=None, **arguments):
        return self.call(method, path, auth or self.auth, headers=self.headers, **arguments)

    def make_key(self, name):
        self("PUT", "/api/v1/role/app", json=[INGESTOR])
        return self("POST", KEYS, json={"keyName": name, "roles": ["app"]}).get_json()


@pytest.fixture
def red(call_tenants):
    return Tenant(call_tenants, "red")


@pytest.fixture
def blue(call_tenants):
    return Tenant(call_tenants, "blue")


def test_created_tenant_has_an_administrator(call_tenants):
    made = call_tenants("PUT", "/api/v1/tenants/red", headers=ROOT, json={"admin": "boss"}).get_json()

    assert list(made) == ["tenantId", "createdAt", "admin"]
    who = call_tenants("GET", "/whoami", ("boss", made["admin"]["password"]), headers={"X-P-Tenant": "red"})
    assert who.get_json() == {"tenant": "red", "kind": "native", "name": "boss", "roles": ["admin"]}


def test_tenants_are_listed_without_passwords(call_tenants, red):
    listed = call_tenants("GET", "/api/v1/tenants", headers=ROOT).get_json()

    assert [list(each) for each in listed] == [["tenantId", "createdAt"]] * 2
    assert call_tenants("GET", "/api/v1/tenants/red", headers=ROOT).get_json() == listed[1]


def test_second_tenant_of_a_name_is_refused(call_tenants, red):
    again = call_tenants("PUT", "/api/v1/tenants/red", headers=ROOT, json={"admin": "other"})

    assert (again.status_code, again.get_json()["code"]) == (409, "tenant_exists")
    assert red("GET", "/whoami").status_code == 200


@pytest.mark.parametrize(
    "name",
    [
        "..",
        "%2e%2e",
        "%252e%252e%252f",
        "a%2Fb",
        "a%5Cb",
        "a%00",
        ".hidden",
        "RED",
        "x" * 64,
        "a%20",
        "%E2%80%AEa",
        "-",
    ],
)
def test_bad_tenant_name_is_refused(call_tenants, name):
    """A tenant's name becomes a directory and a header value."""
    refused = call_tenants("PUT", f"/api/v1/tenants/{name}", headers=ROOT, json={"admin": "boss"})

    assert refused.status_code in (400, 404)
    assert len(call_tenants("GET", "/api/v1/tenants", headers=ROOT).get_json()) == 1


@pytest.mark.parametrize("body", [None, {}, [], {"admin": ""}, {"admin": 7}, {"admin": "a:b"}])
def test_bad_tenant_body_is_refused(call_tenants, body):
    assert call_tenants("PUT", "/api/v1/tenants/red", headers=ROOT, json=body).status_code == 400


def test_request_without_a_tenant_is_refused(call_tenants):
    """Spec 5.6."""
    refused = call_tenants("GET", "/whoami")

    assert (refused.status_code, refused.get_json()["code"]) == (400, "missing_header")


@pytest.mark.parametrize("name", ["", "ghost,default", "../default", "Default", "default\x7f"])
def test_malformed_tenant_header_is_refused(call_tenants, name):
    assert call_tenants("GET", "/whoami", headers={"X-P-Tenant": name}).status_code == 400


def test_unknown_tenant_is_refused_like_a_wrong_credential(call_tenants):
    assert call_tenants("GET", "/whoami", headers={"X-P-Tenant": "ghost"}).status_code == 401


def test_key_of_one_tenant_is_unknown_in_another(red, blue):
    key = red.make_key("k")["apiKey"]

    assert red("GET", "/whoami", key).status_code == 200
    assert blue("GET", "/whoami", key).status_code == 401


def test_user_of_one_tenant_is_unknown_in_another(red, blue):
    """Though both have a user of that name."""
    assert blue("GET", "/whoami", red.auth).status_code == 401
    assert red.call("GET", "/whoami", headers=red.headers).status_code == 401


def test_names_are_the_tenants_own(red, blue):
    first, second = red.make_key("k"), blue.make_key("k")

    assert [each["keyId"] for each in red("GET", KEYS).get_json()] == [first["keyId"]]
    assert [each["keyId"] for each in blue("GET", KEYS).get_json()] == [second["keyId"]]


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", f"{KEYS}/{{key}}"),
        ("DELETE", f"{KEYS}/{{key}}"),
        ("GET", "/api/v1/role/app"),
        ("DELETE", "/api/v1/role/app"),
        ("GET", "/api/v1/users/ann"),
        ("DELETE", "/api/v1/user/ann"),
        ("GET", "/api/v1/user/ann/role"),
        ("PUT", "/api/v1/user/ann/role"),
        ("POST", "/api/v1/user/ann/generate-new-password"),
    ],
)
def test_nothing_of_one_tenant_is_found_from_another(red, blue, method, path):
    key = red.make_key("k")
    red("POST", "/api/v1/user/ann", json=["app"])

    assert blue(method, path.format(key=key["keyId"]), json=[]).status_code == 404
    assert red("GET", "/whoami", key["apiKey"]).status_code == 200


def test_role_of_one_tenant_cannot_be_given_in_another(red, blue):
    red.make_key("k")

    assert blue("POST", KEYS, json={"keyName": "k", "roles": ["app"]}).status_code == 400


@pytest.mark.parametrize("method", ["GET", "PUT", "DELETE"])
def test_tenants_administrator_does_not_manage_tenants(red, method):
    assert red(method, "/api/v1/tenants/red", json={"admin": "x"}).status_code == 403
    assert red("GET", "/api/v1/tenants").status_code == 403


def test_deleted_tenant_takes_its_identities_with_it(call_tenants, red):
    key = red.make_key("k")["apiKey"]
    assert red("GET", "/whoami", key).status_code == 200

    assert call_tenants("DELETE", "/api/v1/tenants/red", headers=ROOT).status_code == 200

    assert red("GET", "/whoami", key).status_code == 401
    assert red("GET", "/whoami").status_code == 401
    assert call_tenants("GET", "/api/v1/tenants/red", headers=ROOT).status_code == 404


def test_tenant_with_datasets_is_only_purged(call_tenants, red):
    dataset.create("red", "app")

    refused = call_tenants("DELETE", "/api/v1/tenants/red", headers=ROOT)

    assert (refused.status_code, refused.get_json()["code"]) == (409, "tenant_not_empty")
    assert call_tenants("DELETE", "/api/v1/tenants/red?purge=true", headers=ROOT).status_code == 200
    assert dataset.find_all("red") == []


def test_new_tenant_does_not_inherit_datasets(call_tenants):
    dataset.create("red", "left over")

    assert call_tenants("PUT", "/api/v1/tenants/red", headers=ROOT, json={"admin": "x"}).status_code == 409


def test_purge_that_was_cut_short_can_be_finished(call_tenants):
    dataset.create("red", "left over")

    assert call_tenants("DELETE", "/api/v1/tenants/red?purge=true", headers=ROOT).status_code == 200
    assert call_tenants("DELETE", "/api/v1/tenants/red?purge=true", headers=ROOT).status_code == 404
    assert dataset.find_all("red") == []


def test_root_tenant_stays(call_tenants):
    assert call_tenants("DELETE", "/api/v1/tenants/default?purge=true", headers=ROOT).status_code == 409


def test_unknown_tenant_is_not_deleted(call_tenants):
    assert call_tenants("DELETE", "/api/v1/tenants/ghost", headers=ROOT).status_code == 404


def test_server_of_one_tenant_manages_none(call):
    assert call("GET", "/api/v1/tenants").status_code == 400
