"""Power loss: what has to be on the disk before what, proven by the system calls of a real run, in their order."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.storage.workbench import Bench

ROOT = Path(__file__).parents[2]
CALLS = "pwritev,pwritev2,write,fdatasync,fsync,rename,renameat,renameat2,unlink,unlinkat,mkdir,mkdirat,sendto"

pytestmark = [pytest.mark.crash, pytest.mark.skipif(shutil.which("strace") is None, reason="strace is not installed")]


@pytest.fixture
def trace(bench: Bench, database_url: str, tmp_path: Path) -> str:
    """One line per system call of an append, a conversion and a removal; paths below the data directory."""
    root = tmp_path / "traced"
    root.mkdir()
    command = [sys.executable, "-m", "tests.storage.traced", database_url, str(root)]
    output = tmp_path / "trace"
    done = subprocess.run(
        ["strace", "-f", "-y", "-s", "60", "-e", f"trace={CALLS}", "-o", str(output), *command],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
    )
    if "PTRACE" in done.stderr or "ptrace" in done.stderr:
        pytest.skip("this machine does not allow strace")
    assert done.returncode == 0, done.stderr
    return output.read_text().replace(str(root), "ROOT")


def assert_order(trace: str, *patterns: str) -> None:
    """Each pattern is found after the one before it."""
    at = 0
    for pattern in patterns:
        found = re.compile(pattern).search(trace, at)
        assert found, f"no {pattern} after:\n{trace[max(0, at - 1000) : at]}\n--- then:\n{trace[at : at + 3000]}"
        at = found.end()


SEGMENT = r"ROOT/staging/local/\w+"
HOUR = "ROOT/default/app/date=2026-01-02/hour=12"


def test_everything_is_on_the_disk_before_what_relies_on_it(trace: str) -> None:
    """architecture.md section 3, invariants 1 and 2."""
    assert_acknowledged_after_its_sync(trace)
    assert_committed_after_the_file_is_durable(trace)
    assert_forgotten_after_the_segment_is_gone(trace)
    assert_order(
        trace, "MARK converted", rf'unlink\w*\(.*"{HOUR}/\w+\.parquet"', r'DELETE FROM \\"file', "MARK removed"
    )


def assert_acknowledged_after_its_sync(trace: str) -> None:
    assert_order(
        trace,
        r'mkdir\w*\(.*"ROOT/staging/local"',
        r"fsync\(\d+<ROOT/staging>\)",
        rf"fsync\(\d+<{SEGMENT}\.new>",
        rf'rename\w*\(.*"{SEGMENT}\.new".*"{SEGMENT}\.wal"',
        r"fsync\(\d+<ROOT/staging/local>\)",
        rf"pwritev2?\(\d+<{SEGMENT}\.wal>",
        rf"fdatasync\(\d+<{SEGMENT}\.wal>\)",
        "MARK acknowledged",
    )


def assert_committed_after_the_file_is_durable(trace: str) -> None:
    assert_order(
        trace,
        "MARK acknowledged",
        rf"fsync\(\d+<{HOUR}/\w+\.new>",
        rf'rename\w*\(.*"{HOUR}/\w+\.new".*"{HOUR}/\w+\.parquet"',
        rf"fsync\(\d+<{HOUR}>\)",
        "INSERT INTO segment",
        "COMMIT",
        "MARK converted",
    )
    for directory in (HOUR, *(str(each) for each in Path(HOUR).parents)):
        if directory not in (".", "ROOT"):
            parent = re.escape(str(Path(directory).parent))
            assert_order(
                trace, rf'mkdir\w*\(.*"{directory}"', rf"fsync\(\d+<{parent}>\)", "INSERT INTO segment", "COMMIT"
            )


def assert_forgotten_after_the_segment_is_gone(trace: str) -> None:
    """A segment that came back without its row would be converted a second time."""
    assert_order(
        trace,
        "MARK converted",
        rf'unlink\w*\(.*"{SEGMENT}\.wal"',
        r"fsync\(\d+<ROOT/staging/local>\)",
        r'DELETE FROM \\"segment',
    )
