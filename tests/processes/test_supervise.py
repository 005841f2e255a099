"""Supervision of the host's processes by a worker."""

import subprocess
import sys

from tests.running import ROOT, clean_environment

# What two greenlets of a worker do at its start.
STARTING = """
from gevent import monkey

monkey.patch_all()

import signal

import gevent

from processes import supervise

command = [__import__("sys").executable, "-c", "import signal; print(signal.pthread_sigmask(signal.SIG_BLOCK, []))"]
children = [gevent.spawn(supervise._spawn, command) for _ in range(2)]
assert [each.get().wait() for each in children] == [0, 0]
print("left", signal.pthread_sigmask(signal.SIG_BLOCK, []))
"""


def test_processes_that_are_started_at_once_leave_the_worker_its_signals() -> None:
    """One of them was left with SIGINT and SIGQUIT blocked, so that Ctrl-C did not reach the worker."""
    done = subprocess.run(
        [sys.executable, "-c", STARTING], cwd=ROOT, env=clean_environment(), capture_output=True, text=True, check=True
    )

    *children, left = done.stdout.splitlines()
    assert len(children) == 2
    assert all("SIGINT" in each and "SIGQUIT" in each for each in children)
    assert left == "left set()"
