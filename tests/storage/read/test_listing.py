"""The segments that are not converted: a converted one is asked about once, and no event is lost or doubled by that."""

from collections.abc import Collection
from typing import Any

import pytest

from models import manifest
from models.manifest import Manifest
from storage import context
from storage.context import Converted, Layout
from storage.read.listing import list_unconverted
from storage.upkeep.conversion import convert_all
from storage.wal.segments import list_segments
from tests.storage.workbench import Bench


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Of how many segments the database was asked, each time."""
    seen: list[int] = []
    real = manifest.read

    def read(segments: Collection[str], *rest: Any) -> Manifest:
        seen.append(len(segments))
        return real(segments, *rest)

    monkeypatch.setattr(manifest, "read", read)
    return seen


def test_a_converted_segment_is_asked_about_once_and_its_events_are_seen_once(bench: Bench, asked: list[int]) -> None:
    bench.append(x=[1])
    assert bench.rows()["x"].to_list() == [1]
    bench.convert()
    bench.append(x=[2])
    asked.clear()

    assert [sorted(bench.rows()["x"]) for _ in range(3)] == [[1, 2]] * 3
    assert asked == [2, 1, 1]
    bench.convert()
    asked.clear()
    assert [sorted(bench.rows()["x"]) for _ in range(2)] == [[1, 2]] * 2
    assert asked == [1, 0]


def test_a_segment_that_another_process_converts_is_seen_from_its_commit_on(bench: Bench) -> None:
    other = Layout(bench.layout.root)
    for number in range(3):
        bench.append(x=[number])
        assert sorted(bench.rows()["x"]) == list(range(number + 1))
        bench.seal()
        assert convert_all(other) == 1
        assert sorted(bench.rows()["x"]) == list(range(number + 1))
    with list_unconverted(bench.layout) as staged:
        assert staged.segments == ()
    assert bench.layout.converted.names == {each.name for each in list_segments(bench.layout.staging)}


def test_of_too_many_the_newest_half_is_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(context, "MOST_CONVERTED", 4)
    known = Converted()

    for name in "abcde":
        known.add([name])

    assert known.names == {"d", "e"}
