"""Dashboards over HTTP: docs/authoring.md, api.md section 3."""

import pytest

from tests.blueprints.authored import READER, WRITER, Client, dashboard, entry
from tests.running import Service


@pytest.fixture(scope="module")
def ann(service: Service) -> Client:
    """A writer of dash_a, and a reader of dash_b."""
    return Client(service, "dash-ann", entry(WRITER, "dash_a"), entry(READER, "dash_b"))


@pytest.fixture(scope="module")
def bob(service: Service) -> Client:
    """A writer of dash_a and dash_b."""
    return Client(service, "dash-bob", entry(WRITER, "dash_a"), entry(WRITER, "dash_b"))


@pytest.fixture(scope="module")
def root(service: Service) -> Client:
    return Client(service, "dash-root", entry("admin"))


def test_dashboard_is_given_back_with_what_the_service_adds(ann: Client):
    body = dashboard("shape", "SELECT count(*) FROM dash_a", tags=["web"], color={"bar": "red"}, version="v9")

    made = ann("POST", "dashboards", json=body)
    read = ann("GET", f"dashboards/{made.json()['dashboardId']}")

    assert made.status_code == 200, made.text
    assert read.json() == made.json()
    assert read.json() | {"dashboardId": 0, "created": 0, "modified": 0, "tiles": 0} == {
        "version": "v1",
        "dashboardId": 0,
        "title": "shape",
        "author": "dash-ann",
        "created": 0,
        "modified": 0,
        "dashboardType": "Dashboard",
        "tags": ["web"],
        "isFavorite": False,
        "tiles": 0,
        "tenantId": "default",
        "color": {"bar": "red"},
    }
    assert read.json()["created"] == read.json()["modified"]
    assert [tile | {"tile_id": len(tile["tile_id"])} for tile in read.json()["tiles"]] == [
        {"tile_id": 26, "title": "tile 0", "query": "SELECT count(*) FROM dash_a", "chart": "line"}
    ]


BAD_BODIES = {
    "no title": ({}, "title"),
    "empty title": ({"title": " "}, "title"),
    "long title": ({"title": "x" * 201}, "title"),
    "NUL in the title": ({"title": "a\0b"}, "title"),
    "title of another type": ({"title": 7}, "title"),
    "unknown kind": ({"title": "a", "dashboardType": "Poster"}, "dashboardType"),
    "tags no list": ({"title": "a", "tags": "web"}, "tags"),
    "favorite no boolean": ({"title": "a", "isFavorite": "perhaps"}, "isFavorite"),
    "tiles no list": ({"title": "a", "tiles": {}}, "tiles"),
    "tile without SQL": ({"title": "a", "tiles": [{"chart": "line"}]}, "tiles.0.query"),
    "tile without chart": ({"title": "a", "tiles": [{"query": "SELECT 1"}]}, "tiles.0.chart"),
    "unknown chart": ({"title": "a", "tiles": [{"query": "SELECT 1", "chart": "cake"}]}, "tiles.0.chart"),
    "tile id no ULID": (
        {"title": "a", "tiles": [{"query": "SELECT 1", "chart": "line", "tile_id": "7"}]},
        "tiles.0.tile_id",
    ),
    "two tiles of one id": (
        {"title": "a", "tiles": [{"query": "SELECT 1", "chart": "line", "tile_id": "0" * 26}] * 2},
        "tiles",
    ),
    "no query": ({"title": "a", "tiles": [{"query": "DROP TABLE dash_a", "chart": "line"}]}, "tiles.0.query"),
    "syntax error in the second": (dashboard("a", "SELECT 1", "SELEC 1"), "tiles.1.query"),
}


@pytest.mark.parametrize(("body", "field"), BAD_BODIES.values(), ids=BAD_BODIES)
def test_bad_body_is_refused_by_its_field_and_nothing_is_saved(ann: Client, body: dict, field: str):
    before = ann("GET", "dashboards").json()

    answer = ann("POST", "dashboards", json=body)

    assert (answer.status_code, answer.json()["field"]) == (400, field), answer.text
    assert ann("GET", "dashboards").json() == before


def test_members_nested_too_deeply_are_refused(ann: Client):
    deep: list = []
    for _ in range(40):
        deep = [deep]

    assert ann("POST", "dashboards", json={"title": "deep", "x": deep}).status_code == 400


def test_own_members_cannot_stand_in_for_ours(ann: Client):
    """`kind` is a name of the code and `dashboardType` that of the wire."""
    body = dashboard("own members", kind="Poster", is_favorite=[1], datasets=["dash_b"], **{"a.b": 1})

    made = ann("POST", "dashboards", json=body).json()

    assert made["dashboardType"] == "Dashboard"
    assert made["isFavorite"] is False
    assert (made["kind"], made["is_favorite"], made["a.b"]) == ("Poster", [1], 1)


def test_writer_of_one_dataset_cannot_author_over_another(ann: Client):
    """Spec 2.2: `writer` is for the selected datasets."""
    answer = ann("POST", "dashboards", json=dashboard("b", "SELECT 1 FROM dash_a", "SELECT 1 FROM dash_b"))

    assert (answer.status_code, answer.json()["code"], answer.json()["dataset"]) == (403, "forbidden", "dash_b")


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT (SELECT count(*) FROM dash_b)",
        "WITH x AS (SELECT * FROM dash_b) SELECT * FROM x",
        "SELECT 1 FROM dash_a UNION ALL SELECT 2 FROM dash_b",
        "SELECT 1 FROM dash_a WHERE EXISTS (SELECT 1 FROM dash_b)",
        "EXPLAIN SELECT * FROM dash_b",
    ],
)
def test_dataset_counts_wherever_it_stands_in_the_query(ann: Client, sql: str):
    assert ann("POST", "dashboards", json=dashboard("hidden dataset", sql)).status_code == 403


def test_dashboard_over_an_unreadable_dataset_does_not_exist_for_the_caller(service: Service, bob: Client):
    made = bob("POST", "dashboards", json=dashboard("only both", "SELECT 1 FROM dash_a", "SELECT 1 FROM dash_b")).json()
    reader = Client(service, "dash-reader-a", entry(READER, "dash_a"))
    both = Client(service, "dash-reader-both", entry(READER, "dash_a"), entry(READER, "dash_b"))

    assert "only both" not in {each["title"] for each in reader("GET", "dashboards").json()}
    assert reader("GET", f"dashboards/{made['dashboardId']}").json()["code"] == "dashboard_not_found"
    assert "only both" in {each["title"] for each in both("GET", "dashboards").json()}
    assert both("GET", f"dashboards/{made['dashboardId']}").json()["title"] == "only both"


def test_only_its_author_and_administrators_change_a_dashboard(ann: Client, bob: Client, root: Client):
    path = f"dashboards/{ann('POST', 'dashboards', json=dashboard('owned')).json()['dashboardId']}"

    assert bob("PUT", path, json=dashboard("stolen")).status_code == 403
    assert bob("DELETE", path).status_code == 403
    assert root("PUT", path, json=dashboard("corrected")).json()["title"] == "corrected"
    assert ann("DELETE", path).status_code == 200
    assert ann("GET", path).status_code == 404


def test_author_who_lost_the_right_over_a_dataset_cannot_change_what_reads_it(service: Service):
    carl = Client(service, "dash-carl", entry(WRITER, "dash_a"))
    path = (
        f"dashboards/{carl('POST', 'dashboards', json=dashboard('lost', 'SELECT 1 FROM dash_a')).json()['dashboardId']}"
    )
    service.call("PUT", "/api/v1/role/dash-carl", json=[entry(READER, "dash_a"), entry(WRITER, "other")])

    assert carl("GET", path).status_code == 200
    assert carl("PUT", path, json=dashboard("lost")).status_code == 403
    assert carl("DELETE", path).status_code == 403


def test_title_is_unique(ann: Client, bob: Client):
    assert ann("POST", "dashboards", json=dashboard("one of a kind")).status_code == 200

    again = bob("POST", "dashboards", json=dashboard("one of a kind"))

    assert (again.status_code, again.json()["code"], again.json()["field"]) == (409, "title_taken", "title")


def test_second_of_two_editors_is_told(ann: Client):
    """RFC 9110 section 13.1.1."""
    made = ann("POST", "dashboards", json=dashboard("edited"))
    path, etag = f"dashboards/{made.json()['dashboardId']}", {"If-Match": made.headers["ETag"]}

    first = ann("PUT", path, json=dashboard("edited first"), headers=etag)
    second = ann("PUT", path, json=dashboard("edited second"), headers=etag)

    assert first.status_code == 200, first.text
    assert (second.status_code, second.json()["code"]) == (412, "changed_meanwhile")
    assert ann("DELETE", path, headers=etag).status_code == 412
    assert ann("GET", path).json()["title"] == "edited first"
    assert ann("PUT", path, json=dashboard("edited last"), headers={"If-Match": f"W/{first.headers['ETag']}"}).ok
    assert ann("PUT", path, json=dashboard("edited without"), headers={"If-Match": "*"}).ok


def test_quick_changes_by_the_query_string(ann: Client):
    path = f"dashboards/{ann('POST', 'dashboards', json=dashboard('quick', 'SELECT 1', x=1)).json()['dashboardId']}"

    answer = ann("PUT", path, params={"isFavorite": "true", "tags": "b, a", "renameTo": "quicker"})

    changed = answer.json()
    assert (changed["isFavorite"], changed["tags"], changed["title"]) == (True, ["a", "b"], "quicker")
    assert (len(changed["tiles"]), changed["x"]) == (1, 1)
    assert ann("PUT", path, params={"isFavorite": "true"}, json=dashboard("both")).status_code == 400
    assert ann("PUT", path).status_code == 400
    assert ann("PUT", path, params={"isFavorite": "maybe"}).json()["field"] == "isFavorite"


def test_tile_is_added_under_the_same_rules(ann: Client):
    path = f"dashboards/{ann('POST', 'dashboards', json=dashboard('adding')).json()['dashboardId']}"

    added = ann("PUT", f"{path}/add_tile", json={"query": "SELECT 1 FROM dash_a", "chart": "bar", "z": 1})

    assert [(tile["chart"], tile["z"]) for tile in added.json()["tiles"]] == [("bar", 1)]
    foreign = ann("PUT", f"{path}/add_tile", json={"query": "SELECT 1 FROM dash_b", "chart": "bar"})
    assert (foreign.status_code, len(ann("GET", path).json()["tiles"])) == (403, 1)


def test_list_shows_the_last_modified_first_by_tag_and_limit(ann: Client):
    old, new = [
        ann("POST", "dashboards", json=dashboard(f"list {name}", tags=["listed", name])).json()["dashboardId"]
        for name in ("old", "new")
    ]

    listed = ann("GET", "dashboards", params={"tags": "listed,nothing"}).json()

    assert [each["dashboardId"] for each in listed] == [new, old]
    assert "tiles" not in listed[0]
    assert [each["dashboardId"] for each in ann("GET", "dashboards?tags=listed&limit=1").json()] == [new]
    assert ann("GET", "dashboards?limit=0").json()["field"] == "limit"
    assert {"listed", "new", "old"} <= set(ann("GET", "dashboards/list_tags").json())
