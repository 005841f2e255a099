"""The OpenAPI document: complete, valid, and true of the running service."""

from pathlib import Path
from typing import Any

import jsonschema
import pytest
from flask import Flask

from app import create_app
from config import Settings
from openapi.operations import OPERATIONS


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> Flask:
    return create_app(Settings(data_dir=Path(tmp_path_factory.mktemp("openapi"))))


@pytest.fixture(scope="module")
def document(app: Flask) -> dict[str, Any]:
    return app.test_client().get("/api/v1/openapi.json").get_json()


def test_every_rule_and_method_is_described(app: Flask, document: dict[str, Any]):
    routes = {
        (method.lower(), rule.rule.replace("<path:", "<").replace("<", "{").replace(">", "}"))
        for rule in app.url_map.iter_rules()
        for method in (rule.methods or set()) - {"HEAD", "OPTIONS"}
        # What hosts ask of each other, and the console's files, are no contract with users.
        if not rule.endpoint.startswith(("internal.", "console."))
    }

    assert {(method, path) for path, methods in document["paths"].items() for method in methods} == routes


def test_every_operation_has_a_summary_and_an_identifier_of_its_own(document: dict[str, Any]):
    operations = [operation for methods in document["paths"].values() for operation in methods.values()]

    assert [each["operationId"] for each in operations if not each["summary"]] == []
    assert len({each["operationId"] for each in operations}) == len(operations)


def test_every_described_operation_exists(app: Flask):
    assert set(OPERATIONS) - set(app.view_functions) == set()


def test_only_open_routes_need_no_credential(document: dict[str, Any]):
    open_to_all = {
        path
        for path, methods in document["paths"].items()
        for operation in methods.values()
        if not operation["security"]
    }

    assert open_to_all == {
        "/",
        "/api/v1/liveness",
        "/api/v1/readiness",
        "/api/v1/openapi.json",
        "/api/v1/o/login",
        "/api/v1/o/code",
        "/api/v1/o/logout",
        "/services/collector/health",
        "/services/collector/health/1.0",
        "/iceberg/v1/oauth/tokens",
    }


def test_every_reference_leads_somewhere(document: dict[str, Any]):
    schemas = document["components"]["schemas"]

    for name, schema in schemas.items():
        jsonschema.Draft202012Validator.check_schema(schema)
        assert name
    assert {each.rpartition("/")[2] for each in _references(document)} <= set(schemas)


def _references(value: Any) -> list[str]:
    if isinstance(value, dict):
        own = [value["$ref"]] if isinstance(value.get("$ref"), str) else []
        return own + [found for each in value.values() for found in _references(each)]
    return [found for each in value for found in _references(each)] if isinstance(value, list) else []
