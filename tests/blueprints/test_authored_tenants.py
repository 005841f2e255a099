"""Authored objects of several tenants: spec 1.6, 5.6, api.md section 2."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from werkzeug.test import TestResponse

from app import create_app, stop
from config import Settings
from models import base, dataset, role, tenant, user
from models.tenant import DEFAULT
from models.user import NewUser
from tests.blueprints.authored import alert, dashboard, sql_filter, webhook
from tests.blueprints.conftest import NOW, Caller

NEW = {
    "dashboards": (dashboard("same title"), "dashboardId"),
    "filters": (sql_filter("same title", "app"), "filter_id"),
    "targets": (webhook("same title"), "id"),
    "alerts": (alert("same title", "app"), "id"),
}


Call = Callable[..., TestResponse]


@pytest.fixture
def call(database_url: str, admin_hash: str, tmp_path: Path) -> Iterator[Call]:
    """Calls as the administrator of a tenant: `call("red", "GET", ...)`. Both have a dataset `app`."""
    app = create_app(Settings(data_dir=tmp_path, database_url=database_url, multi_tenant=True))
    caller = Caller(app)

    def call(of: str, method: str, path: str, **arguments: Any) -> TestResponse:
        return caller(method, f"/api/v1/{path}", headers={"X-P-Tenant": of}, **arguments)

    with base.connection():
        tenant.create("red", NOW)
        for name in (DEFAULT, "red"):
            role.put(name, "admin", [{"privilege": "admin"}])
            user.create(name, NewUser("admin", admin_hash, NOW), ["admin"])
            dataset.create(name, "app")
        yield call
    stop(app)
    base.database.close_all()


@pytest.mark.parametrize("kind", NEW)
def test_object_is_its_tenant_s_alone(call: Call, kind: str):
    body, key = NEW[kind]

    ours = call(DEFAULT, "POST", kind, json=body)
    theirs = call("red", "POST", kind, json=body)

    assert (ours.status_code, theirs.status_code) == (200, 200), theirs.text
    mine = ours.get_json()[key]
    assert [each[key] for each in call("red", "GET", kind).get_json()] == [theirs.get_json()[key]]
    for method in ("GET", "PUT", "DELETE"):
        assert call("red", method, f"{kind}/{mine}", json=body).status_code == 404
    assert call(DEFAULT, "GET", f"{kind}/{mine}").status_code == 200


def test_alert_cannot_be_delivered_to_another_tenant_s_target(call: Call):
    theirs = call("red", "POST", "targets", json=webhook("theirs")).get_json()["id"]

    answer = call(DEFAULT, "POST", "alerts", json=alert("leak", "app", targets=[theirs]))

    assert (answer.status_code, answer.get_json()["field"]) == (400, "targets")


def test_everything_goes_with_its_tenant(call: Call):
    hook = call("red", "POST", "targets", json=webhook("hook")).get_json()["id"]
    assert call("red", "POST", "alerts", json=alert("used", "app", targets=[hook])).status_code == 200

    tenant.delete("red")

    assert tenant.list_all() == [tenant.get(DEFAULT)]
