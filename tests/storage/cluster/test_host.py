"""The name of a host: its own, and the same for ever."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from storage.cluster import host


def test_a_host_keeps_its_name_and_no_other_has_it(tmp_path: Path) -> None:
    """With one name, each of two hosts would forget which of the other's segments were converted."""
    first, second = tmp_path / "first", tmp_path / "second"

    names = [host.name(root) for root in (first, second, first)]

    assert names[0] == names[2] != names[1]
    assert host.layout(first).node == names[0]


def test_processes_that_start_at_once_agree_on_the_name(tmp_path: Path) -> None:
    with ThreadPoolExecutor(8) as pool:
        names = set(pool.map(host.name, [tmp_path / "data"] * 50))

    assert len(names) == 1
    assert [path.name for path in (tmp_path / "data").iterdir()] == ["node"]
