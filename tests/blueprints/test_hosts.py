"""Several hosts on one database: a change on one counts for the next request on the other."""

import pytest

from auth.access import AccessOptions, build
from tests.blueprints.conftest import ADMIN, OPTIONS, Caller, make_app

READER = {"privilege": "reader"}
KEYS = "/api/v1/apikeys"


@pytest.fixture
def hosts(access, passwords, tmp_path) -> tuple[Caller, Caller]:
    """Two hosts, each with a data directory of its own, that share the database and the secret key."""
    several = OPTIONS | {"one_host": False}
    folders = (tmp_path / "a", tmp_path / "b")
    here, there = (
        Caller(make_app(build(AccessOptions(data_dir=each, **several), passwords), each)) for each in folders
    )
    return here, there


def test_key_made_here_is_known_there_until_it_is_deleted_here(hosts):
    here, there = hosts
    key = here.make_key("k", READER)
    assert there("GET", "/whoami", key["apiKey"]).status_code == 200
    assert there("GET", f"{KEYS}/{key['keyId']}").get_json()["apiKey"] == key["apiKey"]

    here("DELETE", f"{KEYS}/{key['keyId']}")

    assert there("GET", "/whoami", key["apiKey"]).status_code == 401


def test_role_changed_here_counts_there(hosts):
    here, there = hosts
    key = here.make_key("k", READER)
    assert there("GET", "/dataset/app/query", key["apiKey"]).status_code == 200

    here.make_role("k", {"privilege": "ingestor"})

    assert there("GET", "/dataset/app/query", key["apiKey"]).status_code == 403


def test_password_renewed_here_counts_there(hosts):
    here, there = hosts
    ann = here.make_user("ann", READER)
    assert there("GET", "/whoami", ann).status_code == 200

    renewed = here("POST", "/api/v1/user/ann/generate-new-password").get_json()

    assert there("GET", "/whoami", ann).status_code == 401
    assert there("GET", "/whoami", ("ann", renewed)).status_code == 200


def test_session_ended_here_is_over_there(hosts):
    here, there = hosts
    opened = here("GET", "/api/v1/o/login", ADMIN).headers["Set-Cookie"].split(";")[0]
    assert there("GET", "/whoami", None, headers={"Cookie": opened}).status_code == 200

    here("GET", "/api/v1/o/logout", None, headers={"Cookie": opened})

    assert there("GET", "/whoami", None, headers={"Cookie": opened}).status_code == 401
