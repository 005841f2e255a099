"""The running service keeps what its OpenAPI document says, whatever is sent: schemathesis, seeded, bounded."""

from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from app import create_app
from config import Settings
from tests.conftest import HTTP_STACKS, NewDatabase, service_environment
from tests.running import ADMIN, Service

CHECKS = [not_a_server_error, status_code_conformance, content_type_conformance, response_schema_conformance]
EXAMPLES = 4


@schemathesis.serializer("application/x-protobuf", "application/x-ndjson")
def as_sent(_: schemathesis.SerializationContext, value: Any) -> bytes:
    """Bytes and lines that are mostly neither protobuf nor JSON: the service has to say so, not to break."""
    return value if isinstance(value, bytes) else str(value).encode("utf-8", "replace")


@pytest.fixture(scope="module", params=HTTP_STACKS)
def own_service(
    request: pytest.FixtureRequest, new_database: NewDatabase, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Service]:
    """One that nobody else uses: what is sent here changes roles, users and datasets at random."""
    with new_database() as url:
        environment = service_environment(url) | {"WEIR_HTTP_STACK": request.param}
        service = Service(tmp_path_factory.mktemp("contract"), environment=environment).start()
        service.ingest("app", [{"n": 1}]).raise_for_status()
        yield service
        service.stop()


def _operations() -> list[Any]:
    with TemporaryDirectory() as data_dir:
        app = create_app(Settings(data_dir=Path(data_dir)))
        document = app.test_client().get("/api/v1/openapi.json").get_json()
    return [found.ok() for found in schemathesis.openapi.from_dict(document).get_all_operations()]


# Without schemathesis' own pytest plugin, which does not know this pytest yet.
@pytest.mark.parametrize("operation", _operations(), ids=lambda operation: operation.label)
def test_service_keeps_its_contract(operation: Any, own_service: Service):
    @settings(
        max_examples=EXAMPLES,
        derandomize=True,
        deadline=None,
        database=None,
        phases=[Phase.explicit, Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(case=operation.as_strategy())
    def send(case: schemathesis.Case) -> None:
        case.call_and_validate(base_url=own_service.url, auth=ADMIN, timeout=30, checks=CHECKS)

    send()
