"""Shares are counted over all processes of a host, and are those of the living only."""

import subprocess
import sys
from pathlib import Path

import pytest

from processes.shares import SHARE_BITS, Shares

HOLDER = """
import sys
from pathlib import Path
from processes.shares import Shares
shares = Shares(Path(sys.argv[1]))
shares.open()
print(shares.take("ann", 2), flush=True)
sys.stdin.read()
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "shares.lock"


def opened(path: Path) -> Shares:
    shares = Shares(path)
    shares.open()
    return shares


def test_a_name_holds_so_many_whoever_asks(path: Path) -> None:
    first, second = opened(path), opened(path)

    held = [first.take("ann", 2), second.take("ann", 2)]
    assert None not in held
    assert [each.take("ann", 2) for each in (first, second)] == [None, None]
    assert second.take("bob", 1) is not None

    assert held[0] is not None
    first.give_back(held[0])
    assert second.take("ann", 2) == held[0]


def test_closing_gives_all_back(path: Path) -> None:
    first, second = opened(path), opened(path)
    assert [first.take("ann", 3) is not None for _ in range(4)] == [True, True, True, False]

    first.close()

    assert [second.take("ann", 3) is not None for _ in range(4)] == [True, True, True, False]


def test_the_shares_of_a_process_that_is_killed_are_free(path: Path) -> None:
    ours = opened(path)
    with subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as holder:
        assert holder.stdout is not None
        assert int(holder.stdout.readline()) >= 0
        assert [ours.take("ann", 2) is not None for _ in range(2)] == [True, False]
        holder.kill()

    assert ours.take("ann", 2) is not None


def test_names_have_places_far_apart(path: Path) -> None:
    shares = opened(path)
    taken = [shares.take(f"name {number}", 1) for number in range(100)]

    assert all(each is not None and 0 <= each < 2**63 for each in taken)
    assert len({each >> SHARE_BITS for each in taken if each is not None}) == 100
