"""The Iceberg catalog through a running service: who sees which table, and real clients (api.md section 9)."""

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest
import requests

from tests.running import ADMIN, Service, wait_until

pytestmark = pytest.mark.service

READERS = Path(__file__).parent / "iceberg_readers.py"
# A Python that has DuckDB with its Iceberg extension, and PySpark: packages that do not go with those of the tests.
READERS_PYTHON = os.environ.get("ICEBERG_READERS_PYTHON")
ROWS = [
    {"n": number, "level": ["info", "error"][number % 2], "ratio": number / 4, "tags": ["a"]} for number in range(40)
]
CATALOG = "/iceberg/v1"
TABLE = f"{CATALOG}/namespaces/weir/tables/lake"


@pytest.fixture(scope="module")
def published(service: Service) -> Service:
    """A service whose dataset `lake` is published with all its rows."""
    assert service.ingest("lake", ROWS).status_code == 200
    assert service.ingest("other", [{"x": 1}]).status_code == 200
    wait_until(lambda: _records(service) == str(len(ROWS)))
    return service


def _records(service: Service) -> str | None:
    answer = service.call("GET", TABLE)
    snapshots = answer.json()["metadata"]["snapshots"] if answer.status_code == 200 else []
    return snapshots[-1]["summary"]["total-records"] if snapshots else None


@pytest.fixture(scope="module")
def key(published: Service) -> str:
    return published.make_key("lake-reader", {"privilege": "reader", "resource": {"dataset": "lake"}})


def get(service: Service, path: str, method: str = "GET", **headers: str) -> requests.Response:
    return requests.request(method, service.url + path, headers=headers, timeout=30)


def error(answer: requests.Response) -> tuple[int, str]:
    """Status and type; the body has the status too."""
    found = answer.json()["error"]
    assert found["code"] == answer.status_code
    assert found["message"]
    return answer.status_code, found["type"]


def test_table_says_what_it_is(published: Service, key: str) -> None:
    answer = get(published, TABLE, **{"X-API-Key": key}).json()

    metadata = answer["metadata"]
    assert answer["metadata-location"].endswith(".metadata.json")
    assert (
        json.loads(Path(answer["metadata-location"].removeprefix("file://")).read_text())["table-uuid"]
        == (metadata["table-uuid"])
    )
    assert metadata["properties"]["weir.as-of"].endswith("Z")
    assert metadata["partition-specs"][0]["fields"][0]["transform"] == "hour"
    assert metadata["sort-orders"][1]["fields"][0]["direction"] == "asc"


def test_names_are_listed_for_those_who_may_read_them(published: Service, key: str) -> None:
    def listed(secret: str) -> list[str]:
        answer = get(published, f"{CATALOG}/namespaces/weir/tables", **{"X-API-Key": secret})
        return [each["name"] for each in answer.json()["identifiers"]]

    everything = published.make_key("lake-all", {"privilege": "reader"})
    sender = published.make_key("lake-sender", {"privilege": "ingestor"})

    assert listed(key) == ["lake"]
    assert {"lake", "other"} <= set(listed(everything))
    assert listed(sender) == []
    assert get(published, f"{CATALOG}/namespaces", **{"X-API-Key": key}).json() == {"namespaces": [["weir"]]}
    assert get(published, f"{CATALOG}/namespaces?parent=weir", **{"X-API-Key": key}).json() == {"namespaces": []}


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("namespaces/weir/tables/other", "NoSuchTableException"),
        ("namespaces/weir/tables/unknown", "NoSuchTableException"),
        ("namespaces/else/tables/lake", "NoSuchNamespaceException"),
        ("namespaces/else", "NoSuchNamespaceException"),
        ("namespaces/else/tables", "NoSuchNamespaceException"),
        ("namespaces/weir/tables/other/credentials", "NoSuchTableException"),
        ("namespaces/weir/views", "NotFoundException"),
    ],
)
def test_what_a_key_may_not_read_does_not_exist(published: Service, key: str, path: str, kind: str) -> None:
    assert error(get(published, f"{CATALOG}/{path}", **{"X-API-Key": key})) == (404, kind)
    assert get(published, f"{CATALOG}/{path}", "HEAD", **{"X-API-Key": key}).status_code == 404


def test_forbidden_and_unknown_tables_have_one_answer(published: Service, key: str) -> None:
    forbidden, unknown = (
        get(published, f"{CATALOG}/namespaces/weir/tables/{name}", **{"X-API-Key": key}).json()
        for name in ("other", "nowhere")
    )

    assert json.dumps(forbidden).replace("other", "nowhere") == json.dumps(unknown)


def test_head_says_that_there_is_one(published: Service, key: str) -> None:
    for path in ("namespaces/weir", "namespaces/weir/tables/lake"):
        answer = get(published, f"{CATALOG}/{path}", "HEAD", **{"X-API-Key": key})
        assert (answer.status_code, answer.content) == (204, b"")


def test_a_narrowed_reader_is_refused(published: Service) -> None:
    entry = {"privilege": "reader", "resource": {"dataset": "lake", "tag": "level=error"}}
    narrowed = published.make_key("lake-narrowed", entry)

    assert error(get(published, TABLE, **{"X-API-Key": narrowed})) == (403, "ForbiddenException")
    assert get(published, f"{CATALOG}/namespaces/weir/tables", **{"X-API-Key": narrowed}).json() == {"identifiers": []}


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE"])
@pytest.mark.parametrize("path", ["namespaces", "namespaces/weir/tables/lake", "tables/rename", "transactions/commit"])
def test_what_writes_is_refused(published: Service, key: str, method: str, path: str) -> None:
    answer = get(published, f"{CATALOG}/{path}", method, **{"X-API-Key": key})

    assert error(answer) == (405, "UnsupportedOperationException")
    assert answer.headers["Allow"] == "GET, HEAD"


def test_strangers_are_told_nothing(published: Service) -> None:
    for headers in ({}, {"X-API-Key": "wrong"}, {"Authorization": "Bearer None"}, {"Authorization": "Bearer x"}):
        assert error(get(published, TABLE, **headers)) == (401, "NotAuthorizedException")
        assert get(published, f"{CATALOG}/config", **headers).status_code == 401


def test_every_credential_opens_the_catalog(published: Service, key: str) -> None:
    pyiceberg_s = {"X-API-Key": key, "Authorization": "Bearer None"}
    for headers in ({"X-API-Key": key}, {"Authorization": f"Bearer {key}"}, pyiceberg_s):
        assert get(published, TABLE, **headers).status_code == 200
    assert requests.get(published.url + TABLE, auth=ADMIN, timeout=30).status_code == 200


def test_two_credentials_conflict_as_everywhere(published: Service, key: str) -> None:
    for other in (f"Bearer {key}", "Bearer none", "Bearer  None", "Basic eDp5"):
        answer = get(published, TABLE, **{"X-API-Key": key, "Authorization": other})
        assert error(answer) == (400, "BadRequestException")


def token(service: Service, auth: Any = None, **form: str) -> requests.Response:
    sent = {"grant_type": "client_credentials", "scope": "catalog", **form}
    return requests.post(f"{service.url}{CATALOG}/oauth/tokens", data=sent, auth=auth, timeout=30)


def test_a_token_is_given_for_id_or_name_and_secret(published: Service, key: str) -> None:
    listed = published.call("GET", "/api/v1/apikeys").json()
    number = next(each["keyId"] for each in listed if each["keyName"] == "lake-reader")
    answers = [
        token(published, client_id="lake-reader", client_secret=key),
        token(published, client_id=number, client_secret=key),
        token(published, auth=("lake-reader", key)),
    ]

    for answer in answers:
        assert (answer.status_code, answer.json()["token_type"]) == (200, "bearer")
        bearer = {"Authorization": f"Bearer {answer.json()['access_token']}"}
        assert get(published, TABLE, **bearer).status_code == 200


def test_a_token_is_refused_in_the_shape_of_oauth(published: Service, key: str) -> None:
    wrong = [
        token(published, client_id="lake-reader", client_secret="00000000-0000-4000-8000-000000000000"),
        token(published, client_id="another", client_secret=key),
        token(published, client_id="lake-reader"),
        requests.post(
            f"{published.url}{CATALOG}/oauth/tokens",
            data={"grant_type": "client_credentials"},
            headers={"Authorization": "Basic !"},
            timeout=30,
        ),
    ]
    other_grant = token(published, grant_type="password", client_id="lake-reader", client_secret=key)

    assert [(each.status_code, each.json()["error"]) for each in wrong] == [(401, "invalid_client")] * 4
    assert (other_grant.status_code, other_grant.json()["error"]) == (400, "unsupported_grant_type")


def test_a_deleted_key_is_refused_at_once_with_its_token(published: Service) -> None:
    secret = published.make_key("lake-short", {"privilege": "reader"})
    given = token(published, client_id="lake-short", client_secret=secret).json()["access_token"]
    bearer = {"Authorization": f"Bearer {given}"}
    assert get(published, TABLE, **bearer).status_code == 200
    listed = published.call("GET", "/api/v1/apikeys").json()
    number = next(each["keyId"] for each in listed if each["keyName"] == "lake-short")

    published.call("DELETE", f"/api/v1/apikeys/{number}")

    assert get(published, TABLE, **bearer).status_code == 401


def test_a_dataset_without_files_is_an_empty_table(published: Service) -> None:
    published.call("PUT", "/api/v1/logstream/lake-empty")

    metadata = published.call("GET", f"{CATALOG}/namespaces/weir/tables/lake-empty").json()["metadata"]

    assert metadata["snapshots"] == []
    assert {each["name"] for each in metadata["schemas"][0]["fields"]} == {"p_timestamp", "p_src_ip", "p_user_agent"}


def test_snapshots_can_be_left_out(published: Service, key: str) -> None:
    metadata = get(published, f"{TABLE}?snapshots=refs", **{"X-API-Key": key}).json()["metadata"]

    assert [each["snapshot-id"] for each in metadata["snapshots"]] == [metadata["current-snapshot-id"]]


@pytest.fixture(params=["credential", "token", "header"])
def catalog(request: pytest.FixtureRequest, published: Service, key: str) -> Iterator[Any]:
    """PyIceberg's catalog, with each credential that it has."""
    rest = pytest.importorskip("pyiceberg.catalog.rest", reason="PyIceberg is not installed")
    given = {"credential": f"lake-reader:{key}", "token": key, "header": key}[request.param]
    name = "header.X-API-Key" if request.param == "header" else request.param
    return rest.RestCatalog("weir", uri=f"{published.url}/iceberg", **{name: given})


def test_pyiceberg_and_polars_read_what_weir_answers(published: Service, catalog: Any) -> None:
    expected = published.query("SELECT n, level, ratio, tags FROM lake ORDER BY n")
    columns = ("n", "level", "ratio", "tags")

    table = catalog.load_table("weir.lake")
    by_pyiceberg = table.scan(selected_fields=columns).to_arrow().sort_by("n").to_pylist()
    by_polars = pl.scan_iceberg(table).select(columns).sort("n").collect().to_dicts()

    assert catalog.list_tables("weir") == [("weir", "lake")]
    assert by_pyiceberg == by_polars == expected
    assert not catalog.table_exists("weir.other")


@pytest.mark.parametrize("engine", ["duckdb", "spark"])
def test_other_engines_read_what_weir_answers(published: Service, key: str, engine: str) -> None:
    if READERS_PYTHON is None:
        pytest.skip("ICEBERG_READERS_PYTHON names no Python with DuckDB's Iceberg extension and PySpark")
    expected = published.query(
        "SELECT level, count(*) AS k, sum(n) AS s, sum(ratio) AS r FROM lake GROUP BY 1 ORDER BY 1"
    )

    command = [READERS_PYTHON, str(READERS), engine, published.url, "lake-reader", key, "lake"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)

    if done.returncode == 77:
        pytest.skip(done.stderr.strip().splitlines()[-1])
    assert done.returncode == 0, done.stderr[-2000:]
    assert json.loads(done.stdout.splitlines()[-1]) == expected
