"""The request sequences of the query clients (reference/clients.md section 5), as those clients send them."""

import importlib
import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
import requests

from tests.running import ADMIN, Service


@pytest.fixture(scope="module")
def shop(service: Service) -> Service:
    """The shared service with ten events in the dataset `sold`, half of them without `amount`."""
    events = [{"level": "info", "n": n} | ({"amount": n / 2} if n % 2 else {}) for n in range(10)]
    service.ingest("sold", events).raise_for_status()
    return service


def javascript(moment: datetime) -> str:
    return moment.strftime("%Y-%m-%dT%H:%M:%S.000Z")


def go(moment: datetime) -> str:
    """RFC 3339 with nine digits and an offset."""
    return (moment + timedelta(hours=2)).strftime("%Y-%m-%dT%H:%M:%S.123456789+02:00")


def test_the_parseable_grafana_plugin(shop: Service) -> None:
    """5.1: test, list, schema, stats, browser path and backend path."""
    now = datetime.now(UTC)
    assert shop.call("GET", "/").status_code == 200
    assert "sold" in [each["name"] for each in shop.call("GET", "/api/v1/logstream").json()]
    fields = [each["name"] for each in shop.call("GET", "/api/v1/logstream/sold/schema").json()["fields"]]

    browser = {
        "query": "select * from sold",
        "startTime": javascript(now - timedelta(hours=1)),
        "endTime": javascript(now + timedelta(hours=1)),
        "send_null": True,
    }
    rows = shop.call("POST", "/api/v1/query", json=browser).json()
    backend = {
        "query": "select count(*) as count from sold",
        "startTime": go(now - timedelta(minutes=30)),
        "endTime": go(now + timedelta(seconds=2)),
    }
    answer = shop.call("POST", "/api/v1/query", json=backend)

    assert [list(row) for row in rows] == [fields] * 10
    assert all(row["p_timestamp"].endswith("Z") for row in rows)
    assert all(isinstance(row["amount"], float | None) for row in rows)
    assert (answer.status_code, answer.content) == (200, b'[{"count":10}]')


def test_the_infinity_plugin(shop: Service) -> None:
    """5.2: epoch milliseconds as text, its Accept headers, an answer that is never empty."""
    now = int(datetime.now(UTC).timestamp() * 1000)
    headers = {
        "Accept": "application/json;q=0.9,text/plain",
        "Accept-Encoding": "gzip",
        "X-API-Key": shop.make_key("infinity", {"privilege": "reader"}),
        "traceparent": "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
    }
    body = {"query": "select p_timestamp, level from sold limit 500", "startTime": str(now - 3_600_000), "endTime": now}

    rows = shop.call("POST", "/api/v1/query", json=body | {"endTime": str(now + 60_000)}, headers=headers)
    none = shop.call("POST", "/api/v1/query", json=body | {"endTime": now - 1_800_000}, headers=headers)

    assert len(rows.json()) == 10
    assert (none.status_code, none.content) == (200, b"[]")


def test_a_macro_that_grafana_did_not_expand_is_a_client_error_with_a_message(shop: Service) -> None:
    """5.1, 5.2: the frontend shows `message`."""
    answer = shop.call("POST", "/api/v1/query", json={"query": "select 1 from sold where $__timeFilter(p_timestamp)"})

    assert answer.status_code == 400
    assert isinstance(answer.json()["message"], str)


def test_the_pb_command_line(shop: Service) -> None:
    """5.3: lower-case key header, durations, the interactive form, GET with a content type and no body."""
    headers = {
        "x-api-key": shop.make_key("pb", {"privilege": "admin"}),
        "Content-Type": "application/json",
    }

    def call(method: str, path: str, body: Any = None) -> requests.Response:
        data = None if body is None else json.dumps(body)
        return requests.request(method, f"{shop.url}/api/v1/{path}", headers=headers, data=data, timeout=60)

    run = {"query": 'SELECT "n" FROM "sold" LIMIT 3', "startTime": "10m", "endTime": "now"}
    assert call("GET", "about").status_code == 200
    assert len(call("POST", "query", run).json()) == 3
    assert set(call("POST", "query?fields=true", run).json()) == {"fields", "records"}
    failed = call("POST", "query", run | {"query": "SELECT nope FROM sold"})
    assert (failed.status_code, "nope" in failed.text) == (400, True)


def test_the_sqlalchemy_connector_as_recorded(shop: Service) -> None:
    """5.4: Basic, `X-P-Stream` on a query, TRY_CAST, `YYYY-MM-DDTHH:MM:SS+00:00`."""
    now = datetime.now(UTC)
    body = {
        "query": "SELECT AVG(TRY_CAST(amount AS DOUBLE PRECISION)) AS a FROM sold LIMIT 100",
        "startTime": (now - timedelta(hours=1)).strftime("%Y-%m-%dT%H:%M:%S+00:00"),
        "endTime": (now + timedelta(hours=1)).strftime("%Y-%m-%dT%H:%M:%S+00:00"),
    }

    answer = shop.call("POST", "/api/v1/query", json=body, headers={"X-P-Stream": "sold"})

    assert answer.json() == [{"a": 2.5}]


def test_the_sqlalchemy_connector_itself(shop: Service) -> None:
    """The PyPI package `sqlalchemy-parseable`, unmodified."""
    pytest.importorskip("parseable_connector", reason="pip install sqlalchemy-parseable")
    sqlalchemy = importlib.import_module("sqlalchemy")
    engine = sqlalchemy.create_engine(
        f"parseable+http://{ADMIN[0]}:{ADMIN[1].replace(' ', '%20')}@127.0.0.1:{shop.port}/sold"
    )

    with engine.connect() as connection:
        rows = connection.execute(sqlalchemy.text("SELECT level, count(*) AS c FROM sold GROUP BY level")).fetchall()

    assert [tuple(row) for row in rows] == [("info", 10)]
