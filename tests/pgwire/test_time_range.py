"""WEIR_QUERY_TIME_RANGE=required over this protocol: the condition on time is the range (docs/postgres.md)."""

from collections.abc import Callable

import psycopg
import pytest

from tests.pgwire.conftest import EVENTS, Door

pytestmark = pytest.mark.service
LATE = "p_timestamp >= now() - interval '1 day'"


@pytest.fixture
def connection(start_door: Callable[..., Door]):
    door = start_door(WEIR_QUERY_TIME_RANGE="required")
    door.service.ingest("app", EVENTS[:10]).raise_for_status()
    door.service.ingest("timed", [{"at": "2026-11-20T01:00:00Z"}], **{"X-P-Time-Partition": "at"}).raise_for_status()
    with door.connect() as opened:
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
