"""Users and roles over HTTP: api.md section 3 and the habits of existing clients."""

import pytest

ADMIN_ENTRY = {"privilege": "admin"}
STREAM = {"privilege": "reader", "resource": {"stream": "app", "tag": "env=prod"}}
DATASET = {"resource": {"dataset": "app"}, "privilege": "ingestor"}


def test_role_by_array_is_given_back_as_it_was_sent(call):
    call("PUT", "/api/v1/role/app", json=[STREAM, DATASET])

    answer = call("GET", "/api/v1/role/app")

    assert answer.text == (
        '{"actions":[{"privilege":"reader","resource":{"stream":"app","tag":"env=prod"}},'
        '{"resource":{"dataset":"app"},"privilege":"ingestor"}],"roleType":"user"}'
    )


def test_role_by_object_is_given_back_as_it_was_sent(call):
    body = {"actions": [{"privilege": "writer", "resource": None}], "roleType": "user"}

    assert call("PUT", "/api/v1/role/app", json=body).status_code == 200
    assert call("GET", "/api/v1/role/app").get_json() == body


@pytest.mark.parametrize("path", ["/api/v1/roles", "/api/v1/role"])
def test_roles_are_listed_by_name(call, path):
    call.make_role("app", DATASET)

    assert call("GET", path).get_json() == {"admin": [ADMIN_ENTRY], "app": [DATASET]}


BAD_ROLES = {
    "no array": 7,
    "object without actions": {},
    "object with more": {"actions": [], "color": "red"},
    "other role type": {"actions": [], "roleType": "system"},
    "entry no object": ["reader"],
    "no privilege": [{}],
    "unknown privilege": [{"privilege": "superadmin"}],
    "privilege in other case": [{"privilege": "Reader"}],
    "privilege no text": [{"privilege": ["reader"]}],
    "unknown member": [{"privilege": "reader", "dataset": "app"}],
    "unknown resource member": [{"privilege": "reader", "resource": {"dataset": "app", "rows": 7}}],
    "misspelt resource": [{"privilege": "reader", "resources": {"dataset": "app"}}],
    "empty resource": [{"privilege": "reader", "resource": {}}],
    "resource as text": [{"privilege": "reader", "resource": "all"}],
    "resource as array": [{"privilege": "reader", "resource": ["app"]}],
    "dataset null": [{"privilege": "reader", "resource": {"dataset": None}}],
    "dataset empty": [{"privilege": "reader", "resource": {"dataset": ""}}],
    "dataset no text": [{"privilege": "reader", "resource": {"dataset": 1}}],
    "dataset and stream": [{"privilege": "reader", "resource": {"dataset": "a", "stream": "a"}}],
    "tag of a writer": [{"privilege": "writer", "resource": {"dataset": "a", "tag": "env=prod"}}],
    "tag of an ingestor": [{"privilege": "ingestor", "resource": {"dataset": "a", "tag": "env=prod"}}],
    "tag null": [{"privilege": "reader", "resource": {"dataset": "a", "tag": None}}],
    "tag without value": [{"privilege": "reader", "resource": {"dataset": "a", "tag": "env"}}],
    "tag without field": [{"privilege": "reader", "resource": {"dataset": "a", "tag": "=prod"}}],
}


@pytest.mark.parametrize("body", BAD_ROLES.values(), ids=BAD_ROLES)
def test_bad_role_is_refused_and_the_old_one_stays(call, body):
    """api.md section 2: an unknown privilege or member is 400, never ignored."""
    call.make_role("app", DATASET)

    assert call("PUT", "/api/v1/role/app", json=body).status_code == 400
    assert call("GET", "/api/v1/role/app").get_json()["actions"] == [DATASET]


@pytest.mark.parametrize("name", ["-", ".hidden", "a%2Fb", "a:b", "%E2%80%AEa", "x" * 101])
def test_bad_role_name_is_refused(call, name):
    assert call("PUT", f"/api/v1/role/{name}", json=[]).status_code in (400, 404)
    assert list(call("GET", "/api/v1/roles").get_json()) == ["admin"]


def test_unknown_role_is_not_found(call):
    assert call("GET", "/api/v1/role/ghost").get_json()["code"] == "role_not_found"
    assert call("DELETE", "/api/v1/role/ghost").status_code == 404


def test_role_in_use_is_not_deleted(call):
    call.make_user("ann", DATASET)
    call.make_key("k", DATASET)

    for name in ("ann", "k"):
        refused = call("DELETE", f"/api/v1/role/{name}")

        assert (refused.status_code, refused.get_json()["code"]) == (409, "role_in_use")


def test_free_role_is_deleted(call):
    call.make_role("app", DATASET)

    assert call("DELETE", "/api/v1/role/app").status_code == 200
    assert call("GET", "/api/v1/role/app").status_code == 404


def test_default_role_starts_unset_and_is_given_back_as_a_string(call):
    call.make_role("app", DATASET)
    assert call("GET", "/api/v1/role/default").text == "null"

    call("PUT", "/api/v1/role/default", json="app")

    assert call("GET", "/api/v1/role/default").text == '"app"'


@pytest.mark.parametrize("body", ["ghost", 7, ["app"], "\0"])
def test_default_role_must_exist(call, body):
    assert call("PUT", "/api/v1/role/default", json=body).status_code == 400


def test_created_users_password_works_at_once(call):
    user = call.make_user("ann", DATASET)

    assert len(user[1]) == 32
    assert call("GET", "/whoami", user).get_json()["roles"] == ["ann"]


def test_client_that_asks_for_text_gets_the_bare_password(call):
    made = call("POST", "/api/v1/user/ann", headers={"Accept": "text/plain"})

    assert call("GET", "/whoami", ("ann", made.text)).status_code == 200


def test_user_without_body_has_no_roles(call):
    call("PUT", "/api/v1/role/app", json=[DATASET])
    call("PUT", "/api/v1/role/default", json="app")

    call("POST", "/api/v1/user/ann")

    assert call("GET", "/api/v1/user/ann/role").get_json() == {"roles": {}, "group_roles": {}}


def test_second_user_of_a_name_is_refused(call):
    call.make_user("ann")

    refused = call("POST", "/api/v1/user/ann")

    assert (refused.status_code, refused.get_json()["code"]) == (409, "user_exists")


@pytest.mark.parametrize("body", [{"roles": []}, "app", [1], ["ghost"], ["\0"]])
def test_bad_roles_of_a_new_user_are_refused(call, body):
    assert call("POST", "/api/v1/user/ann", json=body).status_code == 400
    assert call("GET", "/api/v1/users/ann").status_code == 404


@pytest.mark.parametrize("name", ["a:b", "%20", "-a", "a%00", "x" * 129, "a%0Ab"])
def test_bad_user_name_is_refused(call, name):
    assert call("POST", f"/api/v1/user/{name}").status_code == 400


def test_users_are_listed_without_keys_and_hashes(call):
    """Spec 2.1: keys are not listed by the regular users listing."""
    call.make_user("ann", DATASET)
    call.make_key("robot", DATASET)

    listed = call("GET", "/api/v1/users")

    assert listed.get_json()[1] == {
        "id": "ann",
        "username": "ann",
        "method": "native",
        "email": None,
        "picture": None,
        "roles": {"ann": [DATASET]},
        "group_roles": {},
        "user_groups": [],
    }
    assert "robot" not in listed.text
    assert "argon2" not in listed.text
    assert call("GET", "/api/v1/user").get_json() == [
        {"id": "admin", "method": "native"},
        {"id": "ann", "method": "native"},
    ]


def test_roles_of_a_user_are_replaced_added_and_removed(call):
    for name in ("a", "b", "c"):
        call.make_role(name, DATASET)
    call("POST", "/api/v1/user/ann", json=["a"])

    def held():
        return list(call("GET", "/api/v1/user/ann/role").get_json()["roles"])

    assert call("PUT", "/api/v1/user/ann/role", json=["b"]).text == '"Roles updated successfully for ann"'
    assert held() == ["b"]
    call("PATCH", "/api/v1/user/ann/role/add", json=["c", "b", "c"])
    assert held() == ["b", "c"]
    call("PATCH", "/api/v1/user/ann/role/remove", json=["b"])
    assert held() == ["c"]


def test_role_that_the_user_does_not_hold_is_not_removed(call):
    call.make_role("a", DATASET)
    call("POST", "/api/v1/user/ann", json=["a"])

    assert call("PATCH", "/api/v1/user/ann/role/remove", json=["a", "b"]).status_code == 400
    assert list(call("GET", "/api/v1/user/ann/role").get_json()["roles"]) == ["a"]


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("DELETE", "/api/v1/user/ghost"),
        ("GET", "/api/v1/users/ghost"),
        ("GET", "/api/v1/user/ghost/role"),
        ("PUT", "/api/v1/user/ghost/role"),
        ("PATCH", "/api/v1/user/ghost/role/add"),
        ("PATCH", "/api/v1/user/ghost/role/remove"),
        ("POST", "/api/v1/user/ghost/generate-new-password"),
    ],
)
def test_unknown_user_is_not_found(call, method, path):
    answer = call(method, path, json=[])

    assert (answer.status_code, answer.get_json()["code"]) == (404, "user_not_found")


def test_new_password_replaces_the_old_one_at_once(call):
    old = call.make_user("ann", DATASET)
    assert call("GET", "/whoami", old).status_code == 200

    renewed = call("POST", "/api/v1/user/ann/generate-new-password").get_json()

    assert call("GET", "/whoami", old).status_code == 401
    assert call("GET", "/whoami", ("ann", renewed)).status_code == 200


def test_deleted_user_is_refused_at_once(call):
    ann = call.make_user("ann", DATASET)
    assert call("GET", "/whoami", ann).status_code == 200

    assert call("DELETE", "/api/v1/user/ann").text == '"deleted user: ann"'

    assert call("GET", "/whoami", ann).status_code == 401


LAST = {
    "delete the user": ("DELETE", "/api/v1/user/admin", None),
    "take the role": ("PUT", "/api/v1/user/admin/role", []),
    "remove the role": ("PATCH", "/api/v1/user/admin/role/remove", ["admin"]),
    "empty the role": ("PUT", "/api/v1/role/admin", []),
    "narrow the role": ("PUT", "/api/v1/role/admin", [{"privilege": "admin", "resource": {"dataset": "app"}}]),
}


@pytest.mark.parametrize(("method", "path", "body"), LAST.values(), ids=LAST)
def test_last_administrator_stays(call, method, path, body):
    refused = call(method, path, json=body)

    assert (refused.status_code, refused.get_json()["code"]) == (409, "last_administrator")
    assert call("GET", "/api/v1/users").status_code == 200


@pytest.mark.parametrize(("method", "path", "body"), LAST.values(), ids=LAST)
def test_administrators_key_does_not_count_as_the_last_one(call, method, path, body):
    """An API key cannot be asked for its password when the others are gone; a user can."""
    robot = call.make_key("robot", ADMIN_ENTRY)["apiKey"]

    assert call(method, path, robot, json=body).status_code == 409


def test_one_of_two_administrators_may_go(call):
    boss = call.make_user("boss", ADMIN_ENTRY)

    assert call("DELETE", "/api/v1/user/admin", boss).status_code == 200


def test_everybody_sees_their_own_roles_and_nobody_elses(call):
    ann = call.make_user("ann", DATASET)
    call.make_user("bob", DATASET)

    assert call("GET", "/api/v1/user/ann/role", ann).status_code == 200
    assert call("GET", "/api/v1/users/ann", ann).status_code == 200
    assert call("GET", "/api/v1/user/bob/role", ann).status_code == 403
    assert call("GET", "/api/v1/user/ghost/role", ann).status_code == 403


def test_key_is_not_the_user_of_its_name(call):
    key = call.make_key("admin2", DATASET)["apiKey"]
    call("POST", "/api/v1/user/admin2")

    assert call("GET", "/api/v1/user/admin2/role", key).status_code == 403


MANAGEMENT = [
    ("GET", "/api/v1/role"),
    ("GET", "/api/v1/roles"),
    ("GET", "/api/v1/role/admin"),
    ("PUT", "/api/v1/role/new"),
    ("DELETE", "/api/v1/role/admin"),
    ("GET", "/api/v1/role/default"),
    ("PUT", "/api/v1/role/default"),
    ("GET", "/api/v1/user"),
    ("GET", "/api/v1/users"),
    ("GET", "/api/v1/users/admin"),
    ("POST", "/api/v1/user/new"),
    ("DELETE", "/api/v1/user/admin"),
    ("GET", "/api/v1/user/admin/role"),
    ("PUT", "/api/v1/user/ann/role"),
    ("PATCH", "/api/v1/user/ann/role/add"),
    ("PATCH", "/api/v1/user/ann/role/remove"),
    ("POST", "/api/v1/user/admin/generate-new-password"),
    ("POST", "/api/v1/user/ann/generate-new-password"),
]


@pytest.mark.parametrize(("method", "path"), MANAGEMENT)
def test_management_needs_an_administrator(call, method, path):
    """Nobody raises their own rights, not even with a writer's."""
    ann = call.make_user("ann", {"privilege": "writer"}, DATASET)

    assert call(method, path, ann, json=["admin"]).status_code == 403
    assert call(method, path, None, json=["admin"]).status_code == 401
