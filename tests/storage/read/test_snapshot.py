"""A snapshot is of one moment, whatever is converted, merged, renamed or deleted beside it."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from columns import ColumnType, Field
from models import base, column, file, manifest
from models.column import Change, Limits
from models.manifest import MOST_GUESSED, Manifest
from storage.read import snapshot
from storage.read.snapshot import take_snapshot
from storage.times import to_us
from storage.upkeep.compaction import SETTLED, compact
from tests.storage.workbench import NOON, Bench

HOUR_NS = 3_600 * 10**9
NOON_NS = to_us(NOON) * 1000


def before_manifest(monkeypatch: pytest.MonkeyPatch, happens: Callable[[], object]) -> None:
    """Have something happen once between the listing of segments and the manifest."""
    real, events = manifest.read, [happens]

    def read(*arguments: Any) -> Manifest:
        while events:
            events.pop()()
        return real(*arguments)

    monkeypatch.setattr(snapshot.manifest, "read", read)


def statements(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The statements that the database gets from here on."""
    seen: list[str] = []
    real = base.database.obj.execute_sql

    def execute_sql(sql: str, *rest: Any) -> Any:
        seen.append(sql)
        return real(sql, *rest)

    monkeypatch.setattr(base.database.obj, "execute_sql", execute_sql)
    return seen


def test_events_converted_after_the_listing_are_read_from_their_file_alone(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A query lists staging before it reads the manifest (architecture, invariant 4)."""
    bench.append(x=[1])
    bench.seal()
    before_manifest(monkeypatch, bench.convert)

    assert bench.rows()["x"].to_list() == [1]


def test_files_merged_after_the_listing_are_read_once(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(3):
        bench.append(x=[number])
        bench.convert()
    merged: list[int] = []
    later = datetime.now(UTC) + 2 * SETTLED
    before_manifest(monkeypatch, lambda: merged.append(compact(bench.layout, now=later)))

    assert sorted(bench.rows()["x"]) == [0, 1, 2]
    assert merged == [3]


def test_a_snapshot_is_one_statement(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    bench.append(x=[1], y=["a"])
    bench.convert()
    bench.append(x=[2], y=["b"])
    seen = statements(monkeypatch)

    taken = take_snapshot(bench.layout, bench.app, NOON_NS, NOON_NS + HOUR_NS, ("x", "absent"))

    assert len(seen) == 1
    assert (taken.columns, taken.files[0].stats) == ({"x"}, {"x": (1, 1, 0)})
    assert taken.schema == column.schema(bench.app.id)
    assert len(taken.segments) == 1


def test_statistics_are_found_under_the_stored_name(bench: Bench) -> None:
    """The name `*` is a pattern to Polars, so that files have another for it."""
    bench.append(**{"*": [7], "x": [1]})
    bench.convert()
    (stored,) = (each.stored for each in column.schema(bench.app.id).columns if each.name == "*")

    taken = take_snapshot(bench.layout, bench.app, columns=("*", "x"))

    assert stored != "*"
    assert taken.columns == {stored, "x"}
    assert taken.files[0].stats == {stored: (7, 7, 0), "x": (1, 1, 0)}


def test_a_statement_may_name_more_columns_than_the_database_selects_at_once(bench: Bench) -> None:
    bench.append(x=[1])
    bench.convert()

    taken = take_snapshot(bench.layout, bench.app, columns=["x", *(f"absent{n}" for n in range(1_700))])

    assert taken.columns == {"x"}
    assert taken.files[0].stats == {"x": (1, 1, 0)}


def test_many_columns_that_are_there_all_have_statistics(bench: Bench) -> None:
    names = [f"c{n}" for n in range(MOST_GUESSED + 1)]
    bench.append(**{name: [1] for name in names})
    bench.convert()

    assert take_snapshot(bench.layout, bench.app, columns=names).files[0].stats.keys() == set(names)


def test_a_column_is_there_from_the_commit_that_adds_it_on(bench: Bench) -> None:
    before = take_snapshot(bench.layout, bench.app).schema

    added = column.evolve(bench.app.id, Change(add=(Field("x", ColumnType.INT64),)), Limits(10), None)

    assert "x" not in before.by_name
    assert take_snapshot(bench.layout, bench.app).schema == added


@pytest.mark.parametrize(("hours", "outside"), [(0, False), (5, True)], ids=["in range", "elsewhere"])
def test_a_snapshot_tells_files_outside_its_range(bench: Bench, hours: int, outside: bool) -> None:
    bench.append(x=[1])
    bench.convert()
    start = NOON_NS + hours * HOUR_NS

    taken = take_snapshot(bench.layout, bench.app, start, start + HOUR_NS)

    assert taken.has_files_outside is outside
    assert bool(taken.files) is not outside


def test_files_come_by_time_and_expired_ones_not_at_all(bench: Bench) -> None:
    for hours in (2, 0, 1):
        bench.append(x=[hours], at=NOON + timedelta(hours=hours))
        bench.convert()
    file.expire(bench.app.id, NOON_NS + 1, datetime.now(UTC))

    taken = take_snapshot(bench.layout, bench.app)

    assert [each.tmin - NOON_NS for each in taken.files] == [HOUR_NS, 2 * HOUR_NS]
