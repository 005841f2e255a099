"""Tenants do not exist for each other, on any route (spec 1.6, 5.6; api.md section 2)."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import requests

from app import create_app
from config import Settings
from tests.running import ADMIN, Service

pytestmark = pytest.mark.service

# Only red's own content holds this word, never a name that a request mentions.
NEEDLE = "needle"
KEYS = "/api/v1/apikeys"


@dataclass
class Tenant:
    service: Service
    name: str
    auth: tuple[str, str]

    def __call__(self, method: str, path: str, **arguments: Any) -> requests.Response:
        headers = {"X-P-Tenant": self.name} | arguments.pop("headers", {})
        return self.service.call(method, path, headers=headers, auth=arguments.pop("auth", self.auth), **arguments)

    def fill(self, word: str) -> dict[str, str]:
        """Make one of everything, named alike in every tenant and different inside; the ids that routes need."""
        role = [{"privilege": "reader", "resource": {"dataset": word}}]
        self("PUT", "/api/v1/role/shared", json=role).raise_for_status()
        self("PUT", "/api/v1/role/default", json="shared").raise_for_status()
        self("POST", "/api/v1/user/shared", json=["shared"]).raise_for_status()
        self(
            "POST", "/api/v1/ingest", json={"word": word, word: 1}, headers={"X-P-Stream": "shared"}
        ).raise_for_status()
        self("POST", "/api/v1/ingest", json={"word": word}, headers={"X-P-Stream": f"{word}-own"}).raise_for_status()
        key = self("POST", KEYS, json={"keyName": word, "roles": ["shared"]}).json()
        dashboard = self("POST", "/api/v1/dashboards", json={"title": word, "tiles": []}).json()
        return {"key_id": key["keyId"], "secret": key["apiKey"], "dashboard_id": dashboard.get("dashboardId", "")}


@pytest.fixture(scope="module")
def several(postgres: str, tmp_path_factory: pytest.TempPathFactory) -> Any:
    environment = {
        "WEIR_ADMIN_USERNAME": ADMIN[0],
        "WEIR_ADMIN_PASSWORD": ADMIN[1],
        "WEIR_MULTI_TENANT": "true",
    }
    service = Service(tmp_path_factory.mktemp("tenants"), environment).start()
    yield service
    service.stop()


@pytest.fixture(scope="module")
def make(several: Service) -> Callable[[str], Tenant]:
    def make(name: str) -> Tenant:
        root = {"X-P-Tenant": "default"}
        made = several.call("PUT", f"/api/v1/tenants/{name}", headers=root, json={"admin": "boss"}).json()
        return Tenant(several, name, ("boss", made["admin"]["password"]))

    return make


@pytest.fixture(scope="module")
def red(make: Callable[[str], Tenant]) -> Tenant:
    return make("red")


@pytest.fixture(scope="module")
def blue(make: Callable[[str], Tenant]) -> Tenant:
    return make("blue")


@pytest.fixture(scope="module")
def ids(red: Tenant, blue: Tenant) -> dict[str, str]:
    """Red's ids. Blue has the same names."""
    blue.fill("straw")
    return red.fill(NEEDLE)


def rules(tmp_path: Path, *methods: str) -> list[tuple[str, str]]:
    found = create_app(Settings(data_dir=tmp_path)).url_map.iter_rules()
    return sorted((method, rule.rule) for rule in found for method in (rule.methods or ()) if method in methods)


def filled(rule: str, ids: dict[str, str]) -> str:
    """Red's id where the route takes an id, the common name where it takes a name."""
    for argument in ("key_id", "dashboard_id"):
        rule = rule.replace(f"<{argument}>", ids[argument])
    while "<" in rule:
        before, _, rest = rule.partition("<")
        rule = f"{before}shared{rest.partition('>')[2]}"
    return rule


def test_no_route_shows_anything_of_another_tenant(several, ids, red, blue, tmp_path):
    own = 0
    for _, rule in rules(tmp_path, "GET"):
        if rule.startswith("/api/v1/o/"):
            continue
        path = filled(rule, ids)
        own += NEEDLE in red("GET", path).text

        assert NEEDLE not in blue("GET", path).text, path
        assert ids["secret"] not in blue("GET", path).text, path

    assert own > 5


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT * FROM shared",
        "SELECT count(*) FROM shared WHERE word = 'needle'",
        "SELECT * FROM information_schema.tables",
        "SELECT * FROM p_audit",
        'SELECT * FROM "red.shared"',
        "SELECT * FROM red.shared",
    ],
)
def test_no_query_reads_another_tenants_dataset(ids, blue, sql):
    answer = blue("POST", "/api/v1/query", json={"query": sql})

    assert answer.status_code < 500
    assert f'"{NEEDLE}' not in answer.text
    if "count" in sql:
        assert answer.json() == [{"count": 0}]


def test_dataset_of_another_tenant_is_not_found(ids, blue):
    answer = blue("POST", "/api/v1/query", json={"query": 'SELECT * FROM "needle-own"'})

    assert answer.status_code in (403, 404, 400)
    assert blue("POST", "/api/v1/logstream/needle-own", json=[{"a": 1}]).status_code == 404


def test_credentials_of_one_tenant_open_nothing_in_another(several, ids, red, blue):
    for auth in (red.auth, ADMIN):
        assert blue("GET", "/api/v1/logstream", auth=auth).status_code == 401
    headers = {"X-API-Key": ids["secret"]}
    assert requests.get(f"{several.url}{KEYS}", headers=headers | {"X-P-Tenant": "blue"}, timeout=30).status_code == 401
    assert requests.get(f"{several.url}{KEYS}", headers=headers | {"X-P-Tenant": "red"}, timeout=30).status_code == 403
    assert requests.get(f"{several.url}{KEYS}", headers=headers, timeout=30).status_code == 400


def test_deletions_in_one_tenant_leave_the_others_things(several, ids, red, make, tmp_path):
    """Last, as it deletes all that it can reach."""
    green = make("green")
    green.fill("straw")

    for method, rule in rules(tmp_path, "DELETE"):
        if "/tenants" not in rule:
            green(method, filled(rule, ids))

    rows = red("POST", "/api/v1/query", json={"query": "SELECT word FROM shared"}).json()
    assert rows == [{"word": NEEDLE}]
    assert red("GET", f"{KEYS}/{ids['key_id']}").json()["apiKey"] == ids["secret"]
    assert red("GET", "/api/v1/role/shared").json()["actions"][0]["resource"] == {"dataset": NEEDLE}
    assert red("GET", "/api/v1/users/shared").status_code == 200
    assert red("GET", f"/api/v1/dashboards/{ids['dashboard_id']}").status_code == 200


def test_purged_tenant_is_gone_with_its_datasets(several, make):
    gone = make("gone")
    gone.fill("straw")

    root = {"X-P-Tenant": "default"}
    assert several.call("DELETE", "/api/v1/tenants/gone", headers=root).status_code == 409
    assert several.call("DELETE", "/api/v1/tenants/gone?purge=true", headers=root).status_code == 200

    assert gone("GET", "/api/v1/logstream").status_code == 401
    again = make("gone")
    assert again("GET", "/api/v1/logstream").json() in ([], [{"name": "p_audit"}])
