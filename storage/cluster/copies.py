"""The second copy, on the side of who keeps it: appended to by its owner, taken over when the owner is lost.

A copy that is taken over gets another name first. Its owner, should it live after all, can append no more, so it
acknowledges nothing that whoever converts the copy does not see.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from errors import Conflict
from models import segment_copy
from processes.locks import try_lock
from storage.context import Layout
from storage.durable_files import make_directory, sync_directory
from storage.names import SEGMENT_SUFFIX, directory, require_segment
from storage.wal.segments import SegmentRef, write_buffers

# Of a copy to which nothing is appended any more.
TAKEN_SUFFIX: Final = ".taken"


def begin(layout: Layout, owner: str, segment: str) -> None:
    """Make the file of a copy that is to be kept here. Raises Conflict if it is not, StorageUnavailable, OSError."""
    path, taken = (_path(layout, owner, segment, suffix) for suffix in (SEGMENT_SUFFIX, TAKEN_SUFFIX))
    make_directory(path.parent, layout.root)
    path.touch(0o640)
    sync_directory(path.parent)
    # After the file was made: whoever ends the copy at this moment finds the file, or this finds it ended.
    if taken.exists() or not segment_copy.is_open(segment, owner, layout.node):
        raise Conflict(f"no copy of segment {segment} is kept here")


def append(layout: Layout, owner: str, segment: str, offset: int, body: bytes) -> None:
    """Return when the bytes from `offset` on are durable; the same again is nothing. Raises Conflict, OSError.

    Conflict: the copy is taken over, or ends elsewhere.
    """
    with _opened(_path(layout, owner, segment, SEGMENT_SUFFIX)) as fd:
        size = os.fstat(fd).st_size
        if size == offset:
            write_buffers(fd, [body], offset)
        elif os.pread(fd, len(body), offset) != body or size != offset + len(body):
            raise Conflict(f"the copy of segment {segment} has {size} bytes, and not {offset}")
        os.fdatasync(fd)


def take_over(layout: Layout, owner: str, segment: str, size: int | None = None) -> SegmentRef | None:
    """The copy, to which its owner appends nothing from now on; None: nothing was ever appended.

    `size`: how many of its bytes count, the others are removed; None: all. Raises Conflict, OSError.
    """
    growing, path = (_path(layout, owner, segment, suffix) for suffix in (SEGMENT_SUFFIX, TAKEN_SUFFIX))
    if growing.exists():
        with _opened(growing):
            growing.replace(path)
    if not path.exists():
        return None
    if size is not None and size < path.stat().st_size:
        os.truncate(path, size)
    sync_directory(path.parent)
    return SegmentRef(segment, str(path), path.stat().st_size)


def has_begun(layout: Layout, owner: str, segment: str) -> bool:
    """Whether there is a file of the copy."""
    return any(_path(layout, owner, segment, suffix).exists() for suffix in (SEGMENT_SUFFIX, TAKEN_SUFFIX))


def remove(layout: Layout, owner: str, segment: str) -> None:
    """Remove the copy for good. Raises OSError."""
    parent = _path(layout, owner, segment, SEGMENT_SUFFIX).parent
    for suffix in (SEGMENT_SUFFIX, TAKEN_SUFFIX):
        with suppress(FileNotFoundError):
            _path(layout, owner, segment, suffix).unlink()
    with suppress(FileNotFoundError):
        sync_directory(parent)


def names(layout: Layout) -> list[tuple[str, str]]:
    """Owner and segment of every copy on this host's disk."""
    suffixes = (SEGMENT_SUFFIX, TAKEN_SUFFIX)
    return sorted({(each.parent.name, each.stem) for each in layout.copies.glob("*/*") if each.suffix in suffixes})


def _path(layout: Layout, owner: str, segment: str, suffix: str) -> Path:
    return layout.copies / directory(owner) / (require_segment(segment) + suffix)


@contextmanager
def _opened(path: Path) -> Iterator[int]:
    """The file, which nobody else appends to or takes over meanwhile. Raises Conflict."""
    try:
        fd = os.open(path, os.O_RDWR | os.O_CLOEXEC)
    except FileNotFoundError as error:
        raise Conflict(f"no copy of segment {path.stem} is kept here") from error
    try:
        if not try_lock(fd) or not _is_still(fd, path):
            # Its owner tries again elsewhere; whoever takes it over, later.
            raise Conflict(f"the copy of segment {path.stem} is in use")
        yield fd
    finally:
        os.close(fd)


def _is_still(fd: int, path: Path) -> bool:
    """Whether the file has that name; it may have been taken over since it was opened."""
    try:
        return os.path.samestat(os.fstat(fd), os.stat(path))
    except FileNotFoundError:
        return False
