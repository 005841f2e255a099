"""The OpenAPI 3.1 document of an application: every rule of its URL map, described by `operations`."""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from apispec import APISpec
from apispec.ext.marshmallow import MarshmallowPlugin
from flask import Flask
from werkzeug.routing import Rule

import version
from openapi.operations import OPERATIONS, Operation, Shape

# Blueprints that are no part of the contract: what hosts ask of each other, and files.
UNDESCRIBED: Final = frozenset({"internal", "console"})
IMPLICIT_METHODS: Final = frozenset({"HEAD", "OPTIONS"})
PARAMETER: Final = re.compile(r"<(?:\w+:)?(\w+)>")
# What any protected route may answer instead; the codes are in docs/errors.md.
REFUSALS: Final = {401: "No or wrong credential.", 403: "The identity lacks the privilege."}
DESCRIPTION: Final = """Takes in telemetry, keeps it as Parquet, answers PostgreSQL SQL.

Every answer has `X-Request-Id`. Errors have one shape everywhere but OTLP
(google.rpc.Status), remote write and Loki (text), Splunk's collector (text and code),
Elasticsearch's bulk API and the Iceberg catalog (their errors)."""
SCHEMES: Final[Mapping[str, dict[str, str]]] = {
    "apiKey": {"type": "apiKey", "in": "header", "name": "X-API-Key"},
    "basic": {"type": "http", "scheme": "basic"},
    "bearer": {"type": "http", "scheme": "bearer", "description": "A token of the OIDC provider."},
    "session": {"type": "apiKey", "in": "cookie", "name": "session"},
}


def describe(app: Flask, is_protected: Callable[[str], bool]) -> dict[str, Any]:
    """The document. `is_protected` tells whether the endpoint of that name needs an identity."""
    spec = APISpec("Weir", version.VERSION, "3.1.0", plugins=[MarshmallowPlugin()], info={"description": DESCRIPTION})
    for name, scheme in SCHEMES.items():
        spec.components.security_scheme(name, scheme)
    seen: Counter[str] = Counter()
    for rule in sorted(app.url_map.iter_rules(), key=lambda rule: rule.rule):
        if rule.endpoint.partition(".")[0] in UNDESCRIBED:
            continue
        operation = _operation(rule, _of(app, rule), is_protected(rule.endpoint))
        seen[rule.endpoint] += 1
        # An alias needs an identifier of its own.
        number = f"_{seen[rule.endpoint]}" if seen[rule.endpoint] > 1 else ""
        operation["operationId"] = rule.endpoint.replace(".", "_") + number
        methods = {
            method: {**operation, "operationId": operation["operationId"] + (f"_{method}" if place else "")}
            for place, method in enumerate(sorted(map(str.lower, (rule.methods or set()) - IMPLICIT_METHODS)))
        }
        spec.path(PARAMETER.sub(r"{\1}", rule.rule), operations=methods)
    return dict(spec.to_dict())


class Description:
    """The document as JSON, made when it is first asked for: then all routes are there."""

    def __init__(self) -> None:
        self._json: bytes | None = None

    def json(self, app: Flask, is_protected: Callable[[str], bool]) -> bytes:
        """The same bytes each time."""
        if self._json is None:
            self._json = app.json.dumps(describe(app, is_protected)).encode()
        return self._json


def _of(app: Flask, rule: Rule) -> Operation:
    told = OPERATIONS.get(rule.endpoint)
    return told or Operation((app.view_functions[rule.endpoint].__doc__ or "").split("\n")[0])


def _operation(rule: Rule, told: Operation, is_protected: bool) -> dict[str, Any]:
    described: dict[str, Any] = {
        "summary": told.summary,
        "tags": [rule.endpoint.partition(".")[0]],
        "parameters": [*_path_parameters(rule), *_parameters(told)],
        "responses": _responses(told, is_protected),
        "security": [{name: []} for name in SCHEMES] if is_protected else [],
    }
    if told.body:
        described["requestBody"] = {"required": told.body_is_required, "content": _content(told.body)}
    return described


def _path_parameters(rule: Rule) -> Iterable[dict[str, Any]]:
    for name in PARAMETER.findall(rule.rule):
        yield {"in": "path", "name": name, "required": True, "schema": {"type": "string", "minLength": 1}}


def _parameters(told: Operation) -> Iterable[dict[str, Any]]:
    for each in told.parameters:
        yield dict(each) if isinstance(each, Mapping) else {"in": "query", "schema": each}


def _responses(told: Operation, is_protected: bool) -> dict[str, Any]:
    success: dict[str, Any] = {"description": "Done."}
    if told.answer and told.status != 302:
        success["content"] = _content(told.answer)
    refusals = REFUSALS if is_protected else {}
    failed = {str(status): _failure(told, meaning) for status, meaning in refusals.items()}
    return {str(told.status): success, **failed, "default": _failure(told, "Refused; `code` says why.")}


def _failure(told: Operation, meaning: str) -> dict[str, Any]:
    return {"description": meaning, "content": _content(told.failure)}


def _content(shapes: Mapping[str, Shape]) -> dict[str, Any]:
    return {media_type: {"schema": _plain(shape)} for media_type, shape in shapes.items()}


def _plain(shape: Any) -> Any:
    """The shape as the plugin wants it: real dictionaries."""
    if isinstance(shape, Mapping):
        return {name: _plain(value) for name, value in shape.items()}
    return [_plain(each) for each in shape] if isinstance(shape, list) else shape
