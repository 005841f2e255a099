"""Ends what a cluster does for a query process that is gone: a process beside it, since who is killed says nothing.

A Connect server goes on with a plan whose client has vanished. The watch gets the session on its standard input, which
ends with the query process, and a word more if the session has ended in order.
"""

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from query.spark.session import release

_DONE: Final = "done"
_ROOT: Final = Path(__file__).resolve().parents[2]


@contextmanager
def watched(url: str, session_id: str) -> Iterator[None]:
    """Whatever ends this process within the block, the session ends. Raises OSError."""
    watch = subprocess.Popen(
        [sys.executable, "-m", "query.spark.owner_watch"],
        cwd=_ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        text=True,
        # Whoever ends the query process' group does not mean it.
        start_new_session=True,
    )
    assert watch.stdin is not None
    try:
        watch.stdin.write(json.dumps([url, session_id]) + "\n")
        watch.stdin.flush()
        yield
    finally:
        with suppress(BrokenPipeError):
            watch.stdin.write(_DONE)
            watch.stdin.close()
        watch.wait()


def main() -> None:
    """Wait for the end of the owner."""
    url, session_id = json.loads(sys.stdin.readline())
    if sys.stdin.read() != _DONE:
        release(url, session_id)


if __name__ == "__main__":
    main()
