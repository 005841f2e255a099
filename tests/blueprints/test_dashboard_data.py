"""A dashboard's data over HTTP: docs/authoring.md."""

import pytest

from tests.blueprints.authored import READER, WRITER, Client, dashboard, entry
from tests.running import Service


@pytest.fixture(scope="module", autouse=True)
def events(service: Service) -> None:
    service.ingest("data_a", [{"level": "error", "env": "prod"}, {"level": "info", "env": "test"}]).raise_for_status()


@pytest.fixture(scope="module")
def ann(service: Service) -> Client:
    return Client(service, "data-ann", entry(WRITER, "data_a"))


def make(client: Client, title: str, *queries: str) -> str:
    made = client("POST", "dashboards", json=dashboard(title, *queries))
    assert made.status_code == 200, made.text
    return f"dashboards/{made.json()['dashboardId']}"


def test_all_tiles_are_run_in_the_order_of_the_dashboard(ann: Client):
    path = make(ann, "run", "SELECT count(*) FROM data_a", "SELECT level FROM data_a ORDER BY 1", "SELECT 1 AS one")

    tiles = ann("GET", f"{path}/data").json()["tiles"]

    assert [tile["result"] for tile in tiles] == [
        {"fields": ["count"], "records": [{"count": 2}]},
        {"fields": ["level"], "records": [{"level": "error"}, {"level": "info"}]},
        {"fields": ["one"], "records": [{"one": 1}]},
    ]
    assert (tiles[0]["title"], tiles[0]["chart"], len(tiles[0]["tile_id"])) == ("tile 0", "line", 26)


def test_time_range_is_that_of_the_request(ann: Client):
    path = make(ann, "range", "SELECT count(*) FROM data_a")

    def count(query: str) -> int:
        return ann("GET", f"{path}/data?{query}").json()["tiles"][0]["result"]["records"][0]["count"]

    assert count("startTime=1h&endTime=now") == 2
    assert count("startTime=2001-01-01T00:00:00Z&endTime=2001-01-02T00:00:00Z") == 0
    bad = ann("GET", f"{path}/data?startTime=soon")
    assert (bad.status_code, bad.json()["field"]) == (400, "startTime")


def test_tiles_agree_on_what_time_it_is(ann: Client):
    path = make(ann, "now", "SELECT now()::text AS t", "SELECT now()::text AS t")

    first, second = ann("GET", f"{path}/data").json()["tiles"]

    assert first["result"] == second["result"]


def test_one_bad_tile_leaves_the_others(ann: Client):
    path = make(ann, "bad tile", "SELECT ghost FROM data_a", "SELECT count(*) FROM data_a")

    bad, good = ann("GET", f"{path}/data").json()["tiles"]

    assert bad["error"]["code"] == "invalid_sql"
    assert good["result"]["records"] == [{"count": 2}]


def test_tile_over_the_limit_is_an_error_of_its_own(ann: Client):
    path = make(ann, "large", "SELECT repeat('x', 100000) AS x FROM data_a, generate_series(1, 20)", "SELECT 1")

    large, small = ann("GET", f"{path}/data").json()["tiles"]

    assert large["error"]["code"] == "query_too_large"
    assert small["result"]["records"]


def test_narrowed_reader_sees_only_its_rows(service: Service, ann: Client):
    """api.md section 2: pushed under every scan, whoever wrote the SQL."""
    path = make(ann, "narrowed", "SELECT level FROM data_a")
    resource = {"dataset": "data_a", "tag": "env=prod"}
    narrowed = Client(service, "data-narrowed", {"privilege": READER, "resource": resource})

    (tile,) = narrowed("GET", f"{path}/data").json()["tiles"]

    assert tile["result"]["records"] == [{"level": "error"}]


def test_rights_are_the_caller_s_and_not_the_author_s(service: Service, ann: Client):
    path = make(ann, "rights", "SELECT count(*) FROM data_a")
    stranger = Client(service, "data-stranger", entry(READER, "elsewhere"))

    assert stranger("GET", f"{path}/data").json()["code"] == "dashboard_not_found"
