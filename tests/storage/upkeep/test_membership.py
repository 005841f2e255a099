"""How a host leaves: only one with nothing left is not missed."""

import pytest

from errors import StorageUnavailable
from models import file, host
from storage.upkeep import membership
from storage.upkeep.membership import join, leave
from tests.storage.workbench import Bench


def test_host_of_several_converts_what_it_has_and_is_not_missed(bench: Bench) -> None:
    join(bench.layout, "http://10.0.0.1:8000")
    bench.append(x=[1])
    bench.storage.close()

    leave(bench.layout, is_alone=False)

    assert host.present() == []
    assert len(file.find(bench.app.id, None, None)) == 1
    assert bench.rows()["x"].to_list() == [1]


def test_host_that_cannot_convert_what_it_has_is_missed(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    def away(*_: object) -> int:
        raise StorageUnavailable("the object store is away")

    join(bench.layout, "http://10.0.0.1:8000")
    bench.append(x=[1])
    bench.storage.close()
    monkeypatch.setattr(membership, "convert_all", away)

    leave(bench.layout, is_alone=False)

    (missed,) = host.present()
    assert (missed.name, missed.seen_at) == (bench.layout.node, None)


def test_host_that_is_alone_leaves_its_segments_for_its_next_start(bench: Bench) -> None:
    """A stop takes no longer than it must, and another host may take its place."""
    join(bench.layout, None)
    bench.append(x=[1])
    bench.storage.close()

    leave(bench.layout, is_alone=True)

    assert file.find(bench.app.id, None, None) == []
    (stopped,) = host.list_all()
    assert not stopped.is_living


def test_mirrors_of_a_time_before_a_crash_are_not_trusted(bench: Bench) -> None:
    torn = bench.layout.mirrors / "other" / "01ARZ3NDEKTSV4RRFFQ69G5FAV.wal"
    torn.parent.mkdir(parents=True)
    torn.write_bytes(bytes(100))

    join(bench.layout, "http://10.0.0.1:8000")

    assert not torn.exists()
