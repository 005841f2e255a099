"""Files and directories whose names survive a crash (fsync of the directory), and files that their process locks."""

import os
from pathlib import Path

from processes.locks import try_lock
from storage.names import UNFINISHED_SUFFIX


def create_locked(directory: Path, name: str, suffix: str) -> int:
    """The descriptor of a new empty file that survives a crash and that this process holds the lock of."""
    unfinished = directory / (name + UNFINISHED_SUFFIX)
    fd = os.open(unfinished, os.O_CREAT | os.O_EXCL | os.O_RDWR | os.O_CLOEXEC, 0o640)
    try:
        # Before it has the name that others look for, so none of them can be first.
        try_lock(fd)
        os.fsync(fd)
        os.rename(unfinished, directory / (name + suffix))
        sync_directory(directory)
    except BaseException:
        os.close(fd)
        raise
    return fd


def is_locked(path: Path) -> bool:
    """Whether a living process holds the lock of the file."""
    try:
        with path.open("rb") as file:
            return not try_lock(file)
    except FileNotFoundError:
        return False


def sync_directory(directory: Path | str) -> None:
    """Make the directory's entries durable: after a crash, names created or removed before are so still."""
    fd = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def make_directory(path: Path, root: Path) -> None:
    """Create the directory, below `root`, so that it survives a crash.

    Every directory on the way is synced even if it was there: whoever made it may have died before it could.
    """
    path.mkdir(parents=True, exist_ok=True)
    for ancestor in (path, *path.parents):
        if ancestor == root:
            break
        sync_directory(ancestor.parent)
