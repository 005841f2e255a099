"""A dataset that went by arrival gets its events' own time.

Every state between the change and the last rewritten file answers alike: rows in segments, in old files, in new ones.
"""

from datetime import UTC, datetime

import pytest

from errors import ColumnNotFound, InvalidEvent, InvalidRequest
from models import column, dataset, file
from storage.read.dataset_stats import day_stats
from storage.read.fingerprint import fingerprint
from storage.read.scan import scan
from storage.read.small_files import SmallFiles
from storage.read.snapshot import take_snapshot
from storage.times import to_us
from storage.upkeep.compaction import compact
from storage.upkeep.event_times import rewrite_times
from storage.wal.index import SegmentIndex
from storage.write.arrival import Arrival
from storage.write.engine import Storage
from tests.storage.workbench import NOON, Bench, batch_of

MAY = datetime(2025, 5, 5, 10, tzinfo=UTC)
MAY_NS, MAY_END_NS = to_us(MAY) * 1000, (to_us(MAY) + 3_600_000_000) * 1000
NOON_NS = to_us(NOON) * 1000


def set_event_time(bench: Bench, field: str = "created") -> None:
    bench.storage.set_event_time("default", "app", field)
    bench.app = bench.storage.find("default", "app")


def found(bench: Bench, start: int | None = MAY_NS, end: int | None = MAY_END_NS) -> list[int]:
    """The numbers of the rows in May; small files are read both ways."""
    snapshot, small = take_snapshot(bench.layout, bench.app, start, end), SmallFiles()
    answers = [sorted(scan(snapshot, small=each).collect()["n"].to_list()) for each in (None, small, small)]
    assert answers[0] == answers[1] == answers[2]
    return list(answers[0])


def test_rows_of_before_are_found_by_their_own_time_at_every_step(bench: Bench) -> None:
    bench.append(created=["2025-05-05T10:00:00Z", "2025-05-05T12:00:00+01:00"], n=[1, 2])
    bench.convert()
    bench.append(created=["[05/May/2025:10:30:00 +0000]"], n=[3])

    set_event_time(bench)

    assert found(bench) == [1, 3]
    bench.append(created=["2025-05-05T10:59:00Z"], n=[4], target=bench.app)
    assert found(bench) == [1, 3, 4]
    bench.convert()
    assert found(bench) == [1, 3, 4]
    assert rewrite_times(bench.layout) == 1
    assert rewrite_times(bench.layout) == 0
    assert found(bench) == [1, 3, 4]
    assert found(bench, None, None) == [1, 2, 3, 4]
    assert found(bench, NOON_NS, None) == []
    assert {each.tmin // 3_600_000_000_000 for each in file.find(bench.app.id, None, None)} == {
        MAY_NS // 3_600_000_000_000,
        MAY_NS // 3_600_000_000_000 + 1,
    }


@pytest.mark.parametrize("values", [[1746439200, 1746439200123], [1746439200.25, 1746439201.5]])
def test_numbers_are_unix_times(bench: Bench, values: list[object]) -> None:
    """By magnitude, as for events that arrive (api.md section 4)."""
    bench.append(created=values, n=[1, 2])
    bench.convert()

    set_event_time(bench)

    assert found(bench) == [1, 2]
    rewrite_times(bench.layout)
    assert found(bench) == [1, 2]


def test_what_cannot_be_read_has_the_time_of_arrival_and_keeps_its_text(bench: Bench) -> None:
    bench.append(created=["soon", None, "2025-05-05T10:00:00Z"], n=[1, 2, 3])
    bench.append(n=[4])
    bench.convert()

    set_event_time(bench)

    for _ in range(2):
        assert found(bench, NOON_NS, None) == [1, 2, 4]
        assert found(bench) == [3]
        rewrite_times(bench.layout)
    columns = column.schema(bench.app.id)
    assert [columns.by_name["created"].type, columns.by_name["created_utf8"].type] == ["timestamp_ns", "utf8"]
    kept = bench.rows()[columns.stored("created_utf8") or ""].drop_nulls()
    assert sorted(kept) == ["2025-05-05T10:00:00Z", "soon"]


def test_a_request_that_began_before_is_found_too(bench: Bench) -> None:
    """It stores text where the next one stores a time."""
    bench.append(created=["2025-05-05T10:00:00Z"], n=[1])
    other = Storage(bench.layout, flush_seconds=60)
    before = other.find("default", "app")

    set_event_time(bench)
    other.append(before, batch_of(created=["2025-05-05T10:01:00Z"], n=[2]), Arrival(NOON))
    other.append(other.find("default", "app"), batch_of(created=["2025-05-05T10:02:00Z"], n=[3]), Arrival(NOON))

    assert found(bench) == [1, 2, 3]
    other.close()
    bench.convert()
    assert found(bench) == [1, 2, 3]
    assert rewrite_times(bench.layout) == 0


def test_new_events_have_to_have_the_field(bench: Bench) -> None:
    bench.append(created=["2025-05-05T10:00:00Z"], n=[1])
    set_event_time(bench)

    with pytest.raises(InvalidEvent):
        bench.append(n=[2], target=bench.app)


def test_compaction_does_not_join_files_without_times(bench: Bench) -> None:
    for number in range(9):
        bench.append(created=["2025-05-05T10:00:00Z"], n=[number])
        bench.convert()
    set_event_time(bench)

    assert compact(bench.layout) == 0
    assert rewrite_times(bench.layout) == 9
    assert found(bench) == list(range(9))


def test_statistics_and_cached_results_know_the_change(bench: Bench) -> None:
    bench.append(created=["2025-05-05T10:00:00Z"], n=[1])
    set_event_time(bench)

    assert day_stats(bench.layout, bench.app, MAY.date()).events == 1
    assert fingerprint(take_snapshot(bench.layout, bench.app, MAY_NS, MAY_END_NS), SegmentIndex()) is None
    bench.convert()
    assert fingerprint(take_snapshot(bench.layout, bench.app, MAY_NS, MAY_END_NS), SegmentIndex()) is not None


def test_refusals(bench: Bench) -> None:
    bench.append(created=["2025-05-05T10:00:00Z"], created_utf8=["x"], flag=[True], n=[1])
    with pytest.raises(ColumnNotFound):
        set_event_time(bench, "creatd")
    with pytest.raises(InvalidRequest):
        set_event_time(bench, "flag")
    with pytest.raises(InvalidRequest):
        set_event_time(bench, "p_timestamp")
    dataset.create("default", "owners", is_lookup=True)
    with pytest.raises(InvalidRequest):
        bench.storage.set_event_time("default", "owners", "created")

    set_event_time(bench)

    assert "created_utf8_utf8" in column.schema(bench.app.id).by_name
    with pytest.raises(InvalidRequest):
        set_event_time(bench, "n")
