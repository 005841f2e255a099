"""Saved queries: a history and what is kept under a name, of each identity its own."""

import pytest

from models import saved_query
from tests.running import Service

pytestmark = pytest.mark.each_stack

PATH = "/api/v1/saved-queries"


@pytest.fixture
def key(service: Service, request: pytest.FixtureRequest) -> dict[str, str]:
    """The header of a reader's key of the test's own."""
    name = f"saved-{abs(hash(request.node.nodeid))}"
    return {"X-API-Key": service.make_key(name, {"privilege": "reader"})}


def test_history_has_each_text_once_the_latest_first(service: Service, key: dict[str, str]):
    for text in ("SELECT 1", "SELECT 2", "SELECT 1"):
        service.call("POST", PATH, json={"query": text}, headers=key).raise_for_status()

    found = service.call("GET", PATH, headers=key).json()

    assert [(each["query"], each["name"]) for each in found] == [("SELECT 1", None), ("SELECT 2", None)]


def test_named_query_stays_beside_the_history(service: Service, key: dict[str, str]):
    service.call("POST", PATH, json={"query": "SELECT 1", "name": "one"}, headers=key).raise_for_status()
    service.call("POST", PATH, json={"query": "SELECT 1"}, headers=key).raise_for_status()

    taken = service.call("POST", PATH, json={"query": "SELECT 2", "name": "one"}, headers=key)

    assert {each["name"] for each in service.call("GET", PATH, headers=key).json()} == {"one", None}
    assert (taken.status_code, taken.json()["code"], taken.json()["field"]) == (409, "title_taken", "name")


def test_history_forgets_the_oldest(service: Service, key: dict[str, str]):
    for number in range(saved_query.MOST_ASKED + 3):
        service.call("POST", PATH, json={"query": f"SELECT {number}"}, headers=key).raise_for_status()

    found = [each["query"] for each in service.call("GET", PATH, headers=key).json()]

    assert len(found) == saved_query.MOST_ASKED
    assert found[-1] == "SELECT 3"


def test_others_do_not_see_it(service: Service, key: dict[str, str]):
    made = service.call("POST", PATH, json={"query": "SELECT 'mine'"}, headers=key).json()

    assert made["id"] not in {each["id"] for each in service.call("GET", PATH).json()}
    refused = service.call("DELETE", f"{PATH}/{made['id']}")
    assert (refused.status_code, refused.json()["code"]) == (404, "saved_query_not_found")


def test_deleted_query_is_gone(service: Service, key: dict[str, str]):
    made = service.call("POST", PATH, json={"query": "SELECT 1"}, headers=key).json()

    assert service.call("DELETE", f"{PATH}/{made['id']}", headers=key).status_code == 200
    assert service.call("GET", PATH, headers=key).json() == []


def test_next_user_of_a_name_does_not_inherit_it(service: Service):
    service.call("PUT", "/api/v1/role/saved-reader", json=[{"privilege": "reader"}]).raise_for_status()
    asked = {"headers": {"Accept": "application/json"}, "json": ["saved-reader"]}
    first = service.call("POST", "/api/v1/user/saved-heir", **asked).json()
    service.call("POST", PATH, json={"query": "SELECT 1"}, auth=("saved-heir", first)).raise_for_status()
    service.call("DELETE", "/api/v1/user/saved-heir").raise_for_status()

    second = service.call("POST", "/api/v1/user/saved-heir", **asked).json()

    assert service.call("GET", PATH, auth=("saved-heir", second)).json() == []


@pytest.mark.parametrize(
    "body", [{}, {"query": ""}, {"query": "a\0b"}, {"query": 1}, {"query": "SELECT 1", "name": ""}, []]
)
def test_bad_bodies_are_refused(service: Service, key: dict[str, str], body: object):
    assert service.call("POST", PATH, json=body, headers=key).status_code == 400


def test_who_may_not_query_has_none(service: Service):
    key = service.make_key("saved-ingestor", {"privilege": "ingestor"})

    assert service.call("GET", PATH, headers={"X-API-Key": key}).status_code == 403
