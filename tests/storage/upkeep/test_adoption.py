"""Copies of other hosts' segments: converted once and only if their owner is lost, and gone when nobody needs them."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from models import host, segment, segment_copy
from models.base import connection, database
from storage.cluster import copies
from storage.context import Layout
from storage.upkeep.adoption import tend_copies
from storage.upkeep.conversion import convert, convert_all, remove_converted
from storage.wal.segments import list_segments
from tests.storage.workbench import Bench

OWNER = "01OWNER"


@pytest.fixture
def copied(bench: Bench) -> str:
    """The name of a segment of another host, which lives, with three events; a copy of it is here."""
    bench.append(x=[1, 2, 3])
    bench.seal()
    (found,) = list_segments(bench.layout.staging)
    host.arrive(OWNER, "http://127.0.0.1:1")
    segment_copy.begin(found.name, OWNER, bench.layout.node)
    copies.begin(bench.layout, OWNER, found.name)
    copies.append(bench.layout, OWNER, found.name, 0, Path(found.path).read_bytes())
    # The original is on the other host's disk.
    original = bench.layout.root / "other"
    original.mkdir()
    Path(found.path).rename(original / f"{found.name}.wal")
    return found.name


def lose(name: str) -> None:
    """Half a minute without a sign of life."""
    with connection():
        database.execute_sql("UPDATE host SET seen_at = now() - interval '1 hour' WHERE name = %s", (name,))


def on_disk(layout: Layout) -> list[str]:
    return sorted(each.name for each in layout.copies.rglob("*") if each.is_file())


def test_the_copy_of_a_living_host_waits(bench: Bench, copied: str) -> None:
    assert tend_copies(bench.layout) == 0

    assert on_disk(bench.layout) == [f"{copied}.wal"]
    assert not segment.converted([copied])


def test_the_copy_of_a_lost_host_is_converted_once_and_then_removed(bench: Bench, copied: str) -> None:
    lose(OWNER)

    tend_copies(bench.layout)
    assert bench.rows()["x"].sort().to_list() == [1, 2, 3]

    tend_copies(bench.layout)
    assert on_disk(bench.layout) == []
    assert segment_copy.held_by(bench.layout.node) == []
    # Its owner comes back with its disk.
    assert not convert(bench.layout, _original(bench, copied), OWNER)
    assert bench.rows().height == 3


def test_what_its_owner_has_converted_is_not_converted_here(bench: Bench, copied: str) -> None:
    convert(bench.layout, _original(bench, copied), OWNER)
    lose(OWNER)

    tend_copies(bench.layout)

    assert bench.rows().height == 3
    assert on_disk(bench.layout) == []


def test_bytes_that_were_taken_back_are_not_converted(bench: Bench, copied: str) -> None:
    """They may be in another segment, acknowledged there."""
    segment_copy.end_at(copied, 0)
    lose(OWNER)

    tend_copies(bench.layout)

    assert bench.rows().height == 0
    assert segment.converted([copied]) == {copied}


def test_a_copy_that_never_began_is_forgotten_and_its_segment_is_not_converted(bench: Bench) -> None:
    """Also after a restore, which brings the row and the segment, under another host's name, and not the copy."""
    bench.append(x=[1])
    bench.seal()
    (found,) = list_segments(bench.layout.staging)
    segment_copy.begin(found.name, OWNER, bench.layout.node)

    tend_copies(bench.layout)

    assert segment_copy.held_by(bench.layout.node) == []
    assert segment.converted([found.name]) == set()
    convert_all(bench.layout)
    assert bench.rows().height == 1


def test_an_owner_that_begins_while_its_copy_is_forgotten_keeps_it(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    segment_copy.begin("01LATE", OWNER, bench.layout.node)
    end = segment_copy.end

    def begins_first(segments: list[str]) -> None:
        copies.begin(bench.layout, OWNER, "01LATE")
        end(segments)

    with monkeypatch.context() as patched:
        patched.setattr(segment_copy, "end", begins_first)
        tend_copies(bench.layout)

    assert [each.segment for each in segment_copy.held_by(bench.layout.node)] == ["01LATE"]
    assert on_disk(bench.layout) == ["01LATE.wal"]


def test_a_copy_without_a_row_is_removed(bench: Bench, copied: str) -> None:
    """The host was dropped while it was away."""
    segment_copy.end([copied])

    assert tend_copies(bench.layout) == 1

    assert on_disk(bench.layout) == []
    assert not segment.converted([copied])


def test_a_copy_that_cannot_be_converted_stays_and_stops_no_other(
    bench: Bench, copied: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    segment_copy.begin("01OTHER", OWNER, bench.layout.node)
    copies.begin(bench.layout, OWNER, "01OTHER")
    lose(OWNER)

    def fails(layout: Layout, ref: object, owner: str) -> bool:
        if getattr(ref, "name", "") == copied:
            raise OSError("no space left on device")
        return convert(layout, ref, owner)  # type: ignore[arg-type]

    monkeypatch.setattr("storage.upkeep.adoption.convert", fails)
    tend_copies(bench.layout)

    assert on_disk(bench.layout) == sorted(["01OTHER.taken", f"{copied}.taken"])
    monkeypatch.undo()
    tend_copies(bench.layout)
    assert bench.rows().height == 3


def test_an_owner_keeps_what_it_converted_until_the_copy_is_gone(bench: Bench) -> None:
    """Who forgets earlier leaves a copy behind that looks as if it had never been converted."""
    bench.append(x=[1])
    bench.seal()
    (found,) = list_segments(bench.layout.staging)
    segment_copy.begin(found.name, bench.layout.node, "01HOLDER")
    convert_all(bench.layout)
    later = datetime.now(UTC) + timedelta(hours=1)

    assert remove_converted(bench.layout, 0, now=later) == 0
    segment_copy.end([found.name])
    assert remove_converted(bench.layout, 0, now=later) == 1


def test_copies_of_a_host_are_counted_until_they_are_converted(bench: Bench, copied: str) -> None:
    """`weirctl host drop` waits for them, as long as whoever keeps them lives."""
    host.arrive(bench.layout.node, "http://127.0.0.1:2")
    assert segment_copy.waiting_of(OWNER) == [(bench.layout.node, 1)]

    lose(bench.layout.node)
    assert segment_copy.waiting_of(OWNER) == []

    host.drop(bench.layout.node)
    assert segment_copy.held_by(bench.layout.node) == []


def _original(bench: Bench, name: str):
    (found,) = list_segments(bench.layout.root / "other")
    assert found.name == name
    return found
