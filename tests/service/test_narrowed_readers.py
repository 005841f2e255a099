"""A reader narrowed by a tag, over the URL map: nothing that is answered depends on rows that are not theirs.

docs/security.md, "Narrowed readers". A route that is missing here fails the run.
"""

import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest

from app import create_app
from config import Settings
from tests.blueprints.authored import WRITER, Client, alert, dashboard, entry, sql_filter, webhook
from tests.conftest import service_environment
from tests.running import Service, wait_until

CANARY = "CANARY5d1f"
HIDDEN_AMOUNT = 424_242
NARROWED = {"privilege": "reader", "resource": {"dataset": "app", "tag": "env=prod"}}
# For browsers and for administrators, who are the tests' of access; nothing of rows is behind them.
ELSEWHERE = re.compile(r"/api/v1/(o|role|roles|user|users|tenants)(/|$)|/apikeys")
QUESTIONS = {
    "explain": ("query", {"query": "EXPLAIN SELECT * FROM app WHERE env = 'prod'"}),
    "rows": ("query", {"query": "SELECT * FROM app ORDER BY p_timestamp"}),
    "count": ("query", {"query": "SELECT count(*) FROM app"}),
    "hidden column": ("query", {"query": "SELECT secret FROM app"}),
    "cast": ("query", {"query": "SELECT env::int FROM app WHERE env <> 'prod'"}),
    "histogram": ("counts", {"stream": "app", "startTime": "1h", "endTime": "now", "numBins": 1}),
}


@pytest.fixture(scope="module")
def narrowed(postgres: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    with psycopg.connect(postgres, autocommit=True) as connection:
        connection.execute("CREATE DATABASE narrowed")
    environment = service_environment(postgres.replace("/postgres?", "/narrowed?"))
    running = Service(tmp_path_factory.mktemp("narrowed"), environment).start()
    running.ingest("app", [{"env": "prod", "amount": 1}] * 3).raise_for_status()
    yield running
    running.stop()


def hide(service: Service, **members: Any) -> None:
    """More rows that the narrowed reader may not see."""
    service.ingest("app", [{"env": "dev", "amount": HIDDEN_AMOUNT, "secret": CANARY, **members}]).raise_for_status()


def evaluate(service: Service, path: str, value: float) -> None:
    """Have the alerts evaluated until this one has the value: a window ends up to a minute before now."""

    def has_value() -> bool:
        with psycopg.connect(service.environment["WEIR_DATABASE_URL"], autocommit=True) as connection:
            connection.execute("UPDATE alert SET next_run_at = now() - interval '1 second'")
        time.sleep(2)
        return bool(service.call("GET", path).json()["lastValue"] == value)

    wait_until(has_value)


@pytest.fixture(scope="module")
def authored(narrowed: Service) -> dict[str, str]:
    """What a writer has made over all rows, by the words of the routes; each evaluated over hidden rows."""
    hide(narrowed)
    ann = Client(narrowed, "ann", entry(WRITER, "app"))
    target = ann("POST", "targets", json=webhook("hook", "https://hooks.invalid/1")).json()["id"]
    threshold = {"thresholdConfig": {"operator": ">", "value": HIDDEN_AMOUNT}, "targets": [target]}
    queries = ["SELECT sum(amount) FROM app", "SELECT max(secret::int) FROM app", "SELECT count(*) FROM app"]
    alerts = [ann("POST", "alerts", json=alert(sql, "app", query=sql, **threshold)).json()["id"] for sql in queries]
    evaluate(narrowed, f"/api/v1/alerts/{alerts[0]}", HIDDEN_AMOUNT + 3)
    wait_until(lambda: narrowed.call("GET", f"/api/v1/alerts/{alerts[1]}").json()["lastError"])
    shown = [narrowed.call("GET", f"/api/v1/alerts/{each}").json() for each in alerts[:2]]
    assert (shown[0]["lastValue"], CANARY in shown[1]["lastError"]) == (HIDDEN_AMOUNT + 3, True)
    return {
        "alert": ",".join(alerts),
        "dashboard": ann("POST", "dashboards", json=dashboard("all", "SELECT * FROM app")).json()["dashboardId"],
        "filter": ann("POST", "filters", json=sql_filter("all", "app")).json()["filter_id"],
        "target": target,
    }


def readable(tmp_path: Path) -> list[str]:
    """Every address that a reader may get."""
    rules = create_app(Settings(data_dir=tmp_path)).url_map.iter_rules()
    return [rule.rule for rule in rules if "GET" in (rule.methods or ()) and not ELSEWHERE.search(rule.rule)]


def filled(rule: str, authored: dict[str, str]) -> list[str]:
    """The rule's addresses with what there is."""
    rule = rule.replace("<name>", "app")
    found = re.search(r"<(\w+)_id>", rule)
    return [rule.replace(found[0], each) for each in authored[found[1]].split(",")] if found else [rule]


def answers(service: Service, key: str, paths: list[str]) -> dict[str, tuple[int, str]]:
    headers = {"X-API-Key": key}
    got = {path: service.call("GET", path, headers=headers, allow_redirects=False) for path in paths}
    for name, (path, body) in QUESTIONS.items():
        got[name] = service.call("POST", f"/api/v1/{path}", headers=headers, json=body)
    return {name: (answer.status_code, stable(answer.text)) for name, answer in got.items()}


def stable(text: str) -> str:
    """Without the id of the request and the edges of a histogram, which are never the same."""
    text = re.sub(r'"requestId":"[^"]*"', "", text)
    return re.sub(r'"(start_time|end_time)":"[^"]*"|"20\d\d-[^"]*Z"', "", text)


def test_no_answer_tells_of_hidden_rows_or_changes_with_them(
    narrowed: Service, authored: dict[str, str], tmp_path: Path
) -> None:
    key = narrowed.make_key("narrowed", NARROWED)
    paths = [path for rule in readable(tmp_path) for path in filled(rule, authored)]

    before = answers(narrowed, key, paths)
    hide(narrowed, **{f"covert_{CANARY}": 7}, amount=-1)
    evaluate(narrowed, f"/api/v1/alerts/{authored['alert'].split(',')[0]}", HIDDEN_AMOUNT + 2)
    after = answers(narrowed, key, paths)

    assert before["rows"][0] == 200
    assert {name for name, (status, _) in before.items() if status >= 500} == set()
    assert [name for name, (_, text) in before.items() if CANARY in text or str(HIDDEN_AMOUNT) in text] == []
    assert {name: (before[name], after[name]) for name in before if before[name] != after[name]} == {}


def test_who_is_narrowed_finds_no_alert_over_the_dataset(narrowed: Service, authored: dict[str, str]) -> None:
    bob = Client(narrowed, "bob", NARROWED)
    one = authored["alert"].split(",")[0]

    assert bob("GET", "alerts").json() == []
    assert [bob("GET", f"alerts/{one}{part}").status_code for part in ("", "/history", "/deliveries")] == [404] * 3


def test_an_empty_dataset_and_one_with_hidden_rows_look_alike(narrowed: Service) -> None:
    key = narrowed.make_key("carl", {"privilege": "reader", "resource": {"tag": "env=none"}})
    narrowed.call("PUT", "/api/v1/logstream/empty").raise_for_status()

    home = narrowed.call("GET", "/api/prism/v1/home", headers={"X-API-Key": key}).json()["datasets"]
    told = {each["title"]: each["ingestion"] for each in home}

    assert told["empty"] == told["app"]


@pytest.mark.parametrize(
    ("entries", "members"),
    [
        pytest.param([], set(), id="no role"),
        pytest.param([entry("ingestor", "app")], set(), id="ingestor"),
        pytest.param([NARROWED], {"version", "store"}, id="reader"),
        pytest.param([entry("admin")], {"version", "store", "staging"}, id="administrator"),
    ],
)
def test_what_runs_here_is_told_to_readers_and_where_to_administrators(
    narrowed: Service, request: pytest.FixtureRequest, entries: list[dict[str, Any]], members: set[str]
) -> None:
    told = Client(narrowed, f"about-{request.node.callspec.id.replace(' ', '-')}", *entries)("GET", "about")

    assert {name for name in ("version", "store", "staging") if name in told.json()} == members
    assert (str(narrowed.data_dir) in told.text) == ("staging" in members)
