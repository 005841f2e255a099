"""WEIR_QUERY_TIME_RANGE=required over this protocol: the condition on time is the range (docs/postgres.md)."""

from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from tests.conftest import NewDatabase, service_environment
from tests.pgwire.conftest import EVENTS, Door
from tests.running import Service, free_port

pytestmark = pytest.mark.service
LATE = "p_timestamp >= now() - interval '1 day'"


@pytest.fixture(scope="module")
def strict(new_database: NewDatabase, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Door]:
    """A service that demands time ranges, with ten events in `app` and one in `timed`."""
    port = free_port()
    with new_database() as url:
        told = {"WEIR_PG_BIND": f"127.0.0.1:{port}", "WEIR_QUERY_TIME_RANGE": "required"}
        service = Service(tmp_path_factory.mktemp("strict"), service_environment(url) | told, workers=1).start()
        try:
            service.ingest("app", EVENTS[:10]).raise_for_status()
            timed = service.ingest("timed", [{"at": "2026-11-20T01:00:00Z"}], **{"X-P-Time-Partition": "at"})
            timed.raise_for_status()
            yield Door(service, port, Path())
        finally:
            service.stop()


@pytest.fixture
def connection(strict: Door) -> Iterator[psycopg.Connection]:
    with strict.connect() as opened:
        yield opened


def test_a_range_is_required(connection: psycopg.Connection):
    refused = [
        "SELECT count(*) FROM app",
        "SELECT count(*) FROM app WHERE p_timestamp < now()",
        "SELECT count(*) FROM app WHERE p_timestamp IS NOT NULL",
        f"SELECT count(*) FROM app WHERE {LATE} OR took = 0",
        f"SELECT count(*) FROM app a JOIN app b USING (took) WHERE a.{LATE}",
        f"SELECT count(*) FROM app WHERE {LATE} UNION ALL SELECT count(*) FROM app",
        "SELECT count(*) FROM timed WHERE p_timestamp >= now() - interval '1 day'",
        "COPY app TO STDOUT",
        "EXPLAIN SELECT count(*) FROM app",
    ]
    for statement in refused:
        with pytest.raises(psycopg.errors.InvalidParameterValue, match="time range") as caught:
            connection.execute(statement)
        assert ">= now() - interval" in str(caught.value.diag.message_hint)


def test_conditions_are_a_range(connection: psycopg.Connection):
    answered = {
        f"SELECT count(*) FROM app WHERE {LATE}": 10,
        f"SELECT count(*) FROM app WHERE took >= 0 AND {LATE} AND p_timestamp < now() + interval '1 hour'": 10,
        "SELECT count(*) FROM app WHERE p_timestamp BETWEEN now() - interval '1 day' AND now()": 10,
        f"WITH late AS (SELECT * FROM app WHERE {LATE}) SELECT count(*) FROM late": 10,
        "SELECT count(*) FROM timed WHERE at >= '2026-11-20'": 1,
        "SELECT count(*) FROM generate_series(1, 3)": 3,
        "SELECT count(*) FROM information_schema.tables WHERE table_name = 'app'": 1,
        "SELECT count(*) FROM pg_class WHERE relname = 'app'": 1,
    }
    for statement, expected in answered.items():
        assert connection.execute(statement).fetchone() == (expected,), statement


def test_a_parameter_may_be_the_range(connection: psycopg.Connection):
    asked = "SELECT count(*) FROM app WHERE p_timestamp >= %s"

    assert connection.execute(asked, ("2020-01-01",), prepare=True).fetchone() == (10,)
    with pytest.raises(psycopg.errors.InvalidParameterValue):
        connection.execute("SELECT count(*) FROM app WHERE took >= %s", (0,), prepare=True)
