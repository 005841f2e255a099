"""Filters over HTTP: docs/authoring.md, api.md section 3."""

import pytest

from tests.blueprints.authored import READER, WRITER, Client, entry, sql_filter
from tests.running import Service


@pytest.fixture(scope="module", autouse=True)
def datasets(service: Service) -> None:
    for name in ("filter_a", "filter_b"):
        service.call("PUT", f"/api/v1/logstream/{name}").raise_for_status()


@pytest.fixture(scope="module")
def ann(service: Service) -> Client:
    return Client(service, "filter-ann", entry(WRITER, "filter_a"), entry(READER, "filter_b"))


@pytest.fixture(scope="module")
def root(service: Service) -> Client:
    return Client(service, "filter-root", entry("admin"))


def test_filter_is_given_back_with_what_the_service_adds(ann: Client):
    body = sql_filter("shape", "filter_a", time_filter={"from": "1h", "to": "now"}, tags=["x"])

    made = ann("POST", "filters", json=body)
    read = ann("GET", f"filters/{made.json()['filter_id']}")

    assert made.status_code == 200, made.text
    assert read.json() == made.json()
    assert read.json() | {"filter_id": 0, "created": 0, "modified": 0} == {
        **body,
        "version": "v2",
        "user_id": "filter-ann",
        "filter_id": 0,
        "created": 0,
        "modified": 0,
    }


def test_filter_of_a_builder_keeps_what_the_builder_needs(ann: Client):
    built = {
        "filter_type": "filter",
        "filter_query": "select * from filter_a where a = 1",
        "filter_builder": {"combinator": "and", "rules": [{"field": "a", "value": 1}]},
    }

    made = ann("POST", "filters", json=sql_filter("built", "filter_a") | {"query": built}).json()

    assert made["query"] == built
    assert made["time_filter"] is None


BAD_BODIES = {
    "no dataset": ({"stream_name": None}, "stream_name"),
    "no name": ({"filter_name": ""}, "filter_name"),
    "no query": ({"query": None}, "query"),
    "unknown type": ({"query": {"filter_type": "magic"}}, "query.filter_type"),
    "sql without SQL": ({"query": {"filter_type": "sql"}}, "query.filter_query"),
    "bad SQL": ({"query": {"filter_type": "sql", "filter_query": "SELEC"}}, "query.filter_query"),
    "SQL over no dataset": ({"query": {"filter_type": "sql", "filter_query": "SELECT 1"}}, "query.filter_query"),
    "SQL over another dataset": (
        {"query": {"filter_type": "sql", "filter_query": "SELECT 1 FROM filter_b"}},
        "query.filter_query",
    ),
    "builder no object": ({"query": {"filter_type": "filter", "filter_builder": 7}}, "query.filter_builder"),
    "half a time range": ({"time_filter": {"from": "1h"}}, "time_filter.to"),
    "bad time": ({"time_filter": {"from": "yesterday-ish", "to": "now"}}, "startTime"),
    "range backwards": ({"time_filter": {"from": "now", "to": "now-1h"}}, "startTime"),
}


@pytest.mark.parametrize(("members", "field"), BAD_BODIES.values(), ids=BAD_BODIES)
def test_bad_body_is_refused_by_its_field_and_nothing_is_saved(ann: Client, members: dict, field: str):
    before = ann("GET", "filters").json()

    answer = ann("POST", "filters", json=sql_filter("bad", "filter_a") | members)

    assert (answer.status_code, answer.json()["field"]) == (400, field), answer.text
    assert ann("GET", "filters").json() == before


def test_reader_of_a_dataset_cannot_author_over_it(ann: Client):
    answer = ann("POST", "filters", json=sql_filter("b", "filter_b"))

    assert (answer.status_code, answer.json()["dataset"]) == (403, "filter_b")


def test_unknown_dataset_is_told_only_to_those_who_could_read_it(ann: Client, root: Client):
    assert ann("POST", "filters", json=sql_filter("ghost", "filter_ghost")).status_code == 403
    assert root("POST", "filters", json=sql_filter("ghost", "filter_ghost")).json()["code"] == "dataset_not_found"


def test_filter_on_an_unreadable_dataset_is_not_listed(service: Service, root: Client):
    made = root("POST", "filters", json=sql_filter("secret", "filter_b")).json()
    reader = Client(service, "filter-reader", entry(READER, "filter_a"))

    assert {each["stream_name"] for each in reader("GET", "filters").json()} <= {"filter_a"}
    assert reader("GET", f"filters/{made['filter_id']}").json()["code"] == "filter_not_found"


def test_filter_cannot_be_moved_to_a_dataset_of_others(ann: Client):
    path = f"filters/{ann('POST', 'filters', json=sql_filter('moving', 'filter_a')).json()['filter_id']}"

    assert ann("PUT", path, json=sql_filter("moving", "filter_b")).status_code == 403
    assert ann("GET", path).json()["stream_name"] == "filter_a"


def test_only_its_author_and_administrators_change_a_filter(service: Service, ann: Client, root: Client):
    path = f"filters/{ann('POST', 'filters', json=sql_filter('owned', 'filter_a')).json()['filter_id']}"
    bob = Client(service, "filter-bob", entry(WRITER, "filter_a"))

    assert bob("PUT", path, json=sql_filter("stolen", "filter_a")).status_code == 403
    assert bob("DELETE", path).status_code == 403
    assert root("PUT", path, json=sql_filter("corrected", "filter_a")).json()["filter_name"] == "corrected"
    assert root("DELETE", path).status_code == 200


def test_name_is_unique_within_its_dataset(ann: Client, root: Client):
    assert ann("POST", "filters", json=sql_filter("unique", "filter_a")).status_code == 200

    assert ann("POST", "filters", json=sql_filter("unique", "filter_a")).json()["code"] == "title_taken"
    assert root("POST", "filters", json=sql_filter("unique", "filter_b")).status_code == 200


def test_second_of_two_editors_is_told(ann: Client):
    made = ann("POST", "filters", json=sql_filter("edited", "filter_a"))
    path, etag = f"filters/{made.json()['filter_id']}", {"If-Match": made.headers["ETag"]}

    assert ann("PUT", path, json=sql_filter("edited 1", "filter_a"), headers=etag).status_code == 200
    assert ann("PUT", path, json=sql_filter("edited 2", "filter_a"), headers=etag).status_code == 412
