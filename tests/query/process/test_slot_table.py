"""What the workers of one host share: docs/decisions/query-processes.md, "Sharing a host"."""

from pathlib import Path

from query.process.slot_table import SlotTable


def test_worker_knows_whether_all_slots_are_its_own(tmp_path: Path) -> None:
    """While they are, nobody else can free one, and its waiting queries need not poll."""
    first, second = SlotTable(tmp_path, 2), SlotTable(tmp_path, 2)
    for host in (first, second):
        host.open()

    one, theirs = first.try_slot(None), second.try_slot(None)
    assert (first.holds_all, second.holds_all, first.try_slot(None)) == (False, False, None)

    assert theirs is not None
    second.release_slot(theirs)
    two = first.try_slot(None)
    assert (first.holds_all, {one, two}) == (True, {0, 1})

    assert one is not None
    first.release_slot(one)
    assert not first.holds_all
