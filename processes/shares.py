"""Shares: how many of something one name may hold at once, counted over all processes of a host.

A share is a lock of one byte of a file, at a position by the name, so nothing has to be deleted: the kernel frees the
locks of a process that dies in whatever way (fcntl(2), "Open file description locks").
"""

import fcntl
import os
import struct
from hashlib import blake2b
from pathlib import Path
from typing import IO, Final

# struct flock of 64-bit Linux: kind, whence, start, length, process (0 for a lock of the open file).
RANGE: Final = struct.Struct("hhqqi0q")
# Of a position's 63 bits, those that number the shares of a name, of which it has 65,536 at most; the others are of its
# digest. Two of a hundred names are one with a chance of 2^-35.
SHARE_BITS: Final = 16
NAME_BITS: Final = 63 - SHARE_BITS


class Shares:
    """The file as one process sees it. Not for use by several processes through a fork."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file: IO[str] | None = None
        self._held: set[int] = set()

    def open(self) -> None:
        """Create the file where it is missing. Raises OSError."""
        if self._file is None:
            self._file = self._path.open("w")

    def close(self) -> None:
        """Give all shares back."""
        if self._file is not None:
            self._file.close()
        self._held.clear()

    def take(self, name: str, most: int) -> int | None:
        """One of the `most` shares that the name may hold at once, wherever on the host; None: it holds them all."""
        digest = blake2b(name.encode(), digest_size=8).digest()
        first = int.from_bytes(digest) >> 64 - NAME_BITS << SHARE_BITS
        for number in range(first, first + min(most, 1 << SHARE_BITS)):
            if number not in self._held and self._set(number, fcntl.F_WRLCK):
                self._held.add(number)
                return number
        return None

    def give_back(self, number: int) -> None:
        self._held.discard(number)
        self._set(number, fcntl.F_UNLCK)

    def _set(self, number: int, lock_type: int) -> bool:
        if self._file is None or self._file.closed:
            return False
        try:
            fcntl.fcntl(self._file, fcntl.F_OFD_SETLK, RANGE.pack(lock_type, os.SEEK_SET, number, 1, 0))
        except BlockingIOError:
            return False
        return True
