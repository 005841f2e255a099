"""What the workers of one host share: docs/decisions/query-processes.md, "Sharing a host"."""

import errno
from pathlib import Path

import pytest

from query.process import slot_table
from query.process.slot_table import Query, SlotTable


def query(name: str, *, privileged: bool = False) -> Query:
    return Query("q", "", f"native:{name}", "SELECT 1", "2026-01-31T12:00:00Z", privileged)


def test_worker_knows_whether_all_slots_are_its_own(tmp_path: Path) -> None:
    """While they are, nobody else can free one, and its waiting queries need not poll."""
    first, second = SlotTable(tmp_path, 2), SlotTable(tmp_path, 2)
    for host in (first, second):
        host.open()

    one, theirs = first.try_slot(None), second.try_slot(None)
    assert (first.holds_all(), second.holds_all(), first.try_slot(None)) == (False, False, None)

    assert theirs is not None
    second.release_slot(theirs)
    two = first.try_slot(None)
    assert (first.holds_all(), first.holds_all(privileged=True), {one, two}) == (True, False, {0, 1})

    assert first.try_slot(None, privileged=True) == 2
    assert first.holds_all(privileged=True)

    assert one is not None
    first.release_slot(one)
    assert not first.holds_all()


def test_a_caller_holds_all_but_one_slot_of_the_host_through_whichever_worker(tmp_path: Path) -> None:
    first, second = SlotTable(tmp_path, 3), SlotTable(tmp_path, 3)
    for host in (first, second):
        host.open()
    greedy, other, administrator = query("ann"), query("bob"), query("admin", privileged=True)

    shares = [first.try_share(greedy), second.try_share(greedy)]
    assert None not in shares
    assert [host.try_share(greedy) for host in (first, second)] == [None, None]
    assert [host.try_share(other) is not None for host in (first, second, first)] == [True, True, False]
    assert [second.try_share(administrator) is not None for _ in range(4)] == [True, True, True, False]

    assert shares[0] is not None
    first.release_share(shares[0])
    assert second.try_share(greedy) == shares[0]


def test_one_slot_cannot_be_shared(tmp_path: Path) -> None:
    host = SlotTable(tmp_path, 1)
    host.open()

    assert [host.try_share(query("ann")) is not None for _ in range(2)] == [True, False]


def test_query_on_a_full_disk_runs_unlisted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = SlotTable(tmp_path / "queries", 2)
    table.open()
    monkeypatch.setattr(slot_table, "_write", _refuse)

    entry = table.enter(Query("1", "default", "key/a", "SELECT 1", "2026-01-01T00:00:00Z"))
    listed = table.queries("default")
    place = table.enqueue()
    slot = table.try_slot(place)
    place.close()
    entry.close()

    assert listed == []
    assert slot == 0
    assert sorted(path.suffix for path in (tmp_path / "queries").iterdir()) == [".lock"] * 4


def _refuse(*_: object) -> None:
    raise OSError(errno.ENOSPC, "No space left on device")
