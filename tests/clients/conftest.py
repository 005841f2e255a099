"""What the tests with real senders share."""

from collections.abc import Callable

import pytest

from tests.running import Service


@pytest.fixture(scope="session")
def ingest_key(service: Service) -> str:
    """A key that may send to every dataset, and nothing else."""
    return service.make_key("clients-ingestor", {"privilege": "ingestor"})


@pytest.fixture(scope="session")
def headers(ingest_key: str) -> Callable[[str, str], dict[str, str]]:
    """What a user configures in an exporter: `headers("traces", dataset)`."""
    return lambda signal, dataset: {
        "X-API-Key": ingest_key,
        "X-P-Stream": dataset,
        "X-P-Log-Source": f"otel-{signal}",
    }
