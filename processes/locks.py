"""File locks (flock(2)): held by an open file, freed by the kernel when its process dies, however that happens."""

import fcntl
from typing import IO

Lockable = int | IO[str] | IO[bytes]


def wait_for_lock(file: Lockable, *, shared: bool = False) -> None:
    """Return when this process holds the lock of the open file."""
    fcntl.flock(file, fcntl.LOCK_SH if shared else fcntl.LOCK_EX)


def try_lock(file: Lockable, *, shared: bool = False) -> bool:
    """Take the lock of the open file; False when another process holds it."""
    try:
        fcntl.flock(file, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def unlock(file: Lockable) -> None:
    """Give the lock back before the file is closed."""
    fcntl.flock(file, fcntl.LOCK_UN)
