"""The list of slow queries: shared by all processes of a host, bounded, and nobody's failure."""

import stat
from pathlib import Path
from typing import Final

import pytest

from errors import TimedOut
from query.process import ended_queries
from query.process.ended_queries import FILE_NAME, MOST_BYTES, MOST_CHARACTERS, MOST_OF_TENANT, EndedQueries, Work
from query.process.slot_table import Query

LEAST_SECONDS: Final = 1.0


def query(number: int = 0, tenant: str = "shop", sql: str = "SELECT 'secret'") -> Query:
    return Query(f"q{number}", tenant, "user:admin", sql, "2026-01-31T12:00:00Z")


@pytest.fixture
def ended(tmp_path: Path) -> EndedQueries:
    return EndedQueries(tmp_path, LEAST_SECONDS)


def test_slow_query_is_told_by_any_process(tmp_path: Path, ended: EndedQueries) -> None:
    ended.note(query(), Work(("web",), 3, 4096, 7, 0.25), 1.5)

    (found,) = EndedQueries(tmp_path, LEAST_SECONDS).of("shop")

    assert (found.sql, found.datasets, found.duration_ms, found.waited_ms) == ("SELECT 'secret'", ("web",), 1500, 250)
    assert (found.files, found.bytes, found.rows, found.status) == (3, 4096, 7, "done")


def test_latest_query_is_first(ended: EndedQueries) -> None:
    for number in range(3):
        ended.note(query(number), Work(), 2)

    assert [each.id for each in ended.of("shop")] == ["q2", "q1", "q0"]


def test_fast_query_is_not_noted(tmp_path: Path, ended: EndedQueries) -> None:
    ended.note(query(), Work(), 0.99)

    assert list(tmp_path.iterdir()) == []


def test_tenant_sees_its_own_only(ended: EndedQueries) -> None:
    ended.note(query(), Work(), 2)

    assert ended.of("other") == []


def test_error_that_ended_it_is_its_status(ended: EndedQueries) -> None:
    work = Work()
    work.fail(TimedOut("the query ran longer than 300 s"))
    work.fail(ValueError("what followed from it"))
    ended.note(query(), work, 300)

    assert ended.of("shop")[0].status == TimedOut.code


def test_query_of_yesterday_is_not_told(ended: EndedQueries, monkeypatch: pytest.MonkeyPatch) -> None:
    ended.note(query(), Work(), 2)
    monkeypatch.setattr(ended_queries, "KEPT", -ended_queries.KEPT)

    assert ended.of("shop") == []


def test_file_stays_bounded_and_keeps_the_latest_of_each_tenant(tmp_path: Path, ended: EndedQueries) -> None:
    ended.note(query(1, "quiet"), Work(), 2)
    for number in range(2 * MOST_BYTES // MOST_CHARACTERS):
        ended.note(query(number, sql="x" * 2 * MOST_CHARACTERS), Work(), 2)

    assert (tmp_path / FILE_NAME).stat().st_size <= MOST_BYTES
    assert len(ended.of("shop")) == MOST_OF_TENANT
    assert len(ended.of("shop")[0].sql) == MOST_CHARACTERS + 1
    assert [each.id for each in ended.of("quiet")] == ["q1"]


def test_half_a_line_of_a_process_that_died_is_passed_over(tmp_path: Path, ended: EndedQueries) -> None:
    (tmp_path / FILE_NAME).write_bytes(b'{"id": "q1", "tena\n{"id": "of another version"}\n')
    ended.note(query(2), Work(), 2)

    assert [each.id for each in ended.of("shop")] == ["q2"]


def test_others_on_the_host_cannot_read_statements(tmp_path: Path, ended: EndedQueries) -> None:
    ended.note(query(), Work(), 2)

    assert stat.S_IMODE((tmp_path / FILE_NAME).stat().st_mode) == 0o600


def test_query_does_not_fail_when_it_cannot_be_noted(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    EndedQueries(tmp_path / "gone", LEAST_SECONDS).note(query(), Work(), 2)

    assert "slow query" in caplog.text
    assert "secret" not in caplog.text
