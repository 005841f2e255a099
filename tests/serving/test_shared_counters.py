"""Counters of several processes: real processes, since the sharing is by files and locks of the kernel."""

import subprocess
import sys
from pathlib import Path

from serving.shared_counters import living
from tests.running import ROOT

PROCESS = """
import os, sys
from pathlib import Path
from serving.shared_counters import share
print(share(Path(sys.argv[1])), flush=True)
from metrics.meters import Meters
from metrics.exposition import text
meters = Meters()
for line in sys.stdin:
    if line.strip() == "count":
        meters.refused("overloaded")
    if line.strip() == "count many":
        for number in range(1000):
            meters.refused(f"code_{number}")
    shown = text(meters.registry, [], lambda tenant, dataset: True).decode().splitlines()
    print([line for line in shown if line.startswith("weir_refusals_total")], flush=True)
"""

# What comes first in the process whose disk is full.
FULL_DISK = """
import errno, os
def refuse(descriptor, offset, size):
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
os.posix_fallocate = refuse
"""


class Worker:
    """A process that shares its counters. `slot` is the one it got; `before` is what it runs first."""

    def __init__(self, directory: Path, before: str = "") -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-c", before + PROCESS, str(directory)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=ROOT,
        )
        self.slot = int(self._line())

    def ask(self, what: str) -> str:
        assert self.process.stdin is not None
        self.process.stdin.write(what + "\n")
        self.process.stdin.flush()
        return self._line()

    def kill(self) -> None:
        self.process.kill()
        self.process.communicate()

    def _line(self) -> str:
        assert self.process.stdout is not None
        return self.process.stdout.readline().strip()


def test_every_process_shows_what_all_have_counted(tmp_path: Path):
    first, second = Worker(tmp_path), Worker(tmp_path)

    first.ask("count")
    second.ask("count")
    shown = first.ask("show")

    assert shown == """['weir_refusals_total{code="overloaded"} 2.0']"""
    assert {first.slot, second.slot} == {0, 1}
    first.kill()
    second.kill()


def test_counts_stay_when_a_file_grows(tmp_path: Path):
    """A file of 64 KiB holds some hundreds of series; one that grows is mapped anew."""
    first, second = Worker(tmp_path), Worker(tmp_path)
    first.ask("count")

    for _ in range(2):
        first.ask("count many")
        first.ask("count")

    shown = second.ask("show")
    assert shown == first.ask("show")
    assert """weir_refusals_total{code="overloaded"} 3.0""" in shown
    assert shown.count("} 2.0") == 1000
    assert (tmp_path / "counter_0.db").stat().st_size > 64 * 1024
    first.kill()
    second.kill()


def test_a_file_that_found_no_room_is_in_no_readers_way(tmp_path: Path):
    """It counts nothing, and the others' counts are shown. A limit of the kernel's stands for a full disk."""
    first, second = Worker(tmp_path, FULL_DISK), Worker(tmp_path)

    of_nobody = first.ask("count")
    of_the_second = second.ask("count")

    assert of_nobody == "[]"
    assert of_the_second == first.ask("show") == """['weir_refusals_total{code="overloaded"} 1.0']"""
    assert not list(tmp_path.glob("*_0.*")), "nothing half made"
    first.kill()
    second.kill()


def test_a_killed_process_leaves_its_counts_to_its_successor(tmp_path: Path):
    first, second = Worker(tmp_path), Worker(tmp_path)
    first.ask("count")

    first.kill()
    third = Worker(tmp_path)
    third.ask("count")

    assert third.slot == first.slot
    assert second.ask("show") == """['weir_refusals_total{code="overloaded"} 2.0']"""
    assert len(list(tmp_path.glob("counter_*.db"))) == 2
    second.kill()
    third.kill()


def test_living_processes_are_counted(tmp_path: Path):
    first, second = Worker(tmp_path), Worker(tmp_path)

    first.kill()

    assert living(tmp_path) == 1
    second.kill()
