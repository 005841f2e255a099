"""A counter that all processes of a host share: what is cached under an older count is stale.

One load from shared memory, so it may be asked for on every request.
"""

import fcntl
import mmap
import os
import struct
from pathlib import Path
from typing import Final

_COUNT: Final = struct.Struct("<Q")


class Generation:
    """The counter kept in the file at `path`, which is created if missing."""

    def __init__(self, path: Path) -> None:
        self._fd = os.open(path, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o640)
        if os.fstat(self._fd).st_size < _COUNT.size:
            os.truncate(self._fd, _COUNT.size)
        self._shared = mmap.mmap(self._fd, _COUNT.size)

    def current(self) -> int:
        return int(_COUNT.unpack_from(self._shared)[0])

    def bump(self) -> None:
        """Make everything stale that was cached before, in every process, from the return on."""
        fcntl.flock(self._fd, fcntl.LOCK_EX)
        try:
            _COUNT.pack_into(self._shared, 0, self.current() + 1)
        finally:
            fcntl.flock(self._fd, fcntl.LOCK_UN)

    def close(self) -> None:
        if self._fd >= 0:
            self._shared.close()
            os.close(self._fd)
            self._fd = -1
