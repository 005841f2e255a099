"""Memory that a worker shares with its tail process: which tail it is working for, and since when.

A message would come too late: what is to be found out is who has brought the process to a standstill.
"""

import mmap
import os
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from time import monotonic
from typing import Final

_CELL: Final = struct.Struct("<Qd")
# No tail has this number.
NOBODY: Final = 0


class BusyCell:
    """The cell behind a descriptor, which is the caller's."""

    def __init__(self, descriptor: int) -> None:
        self._memory = mmap.mmap(descriptor, _CELL.size)

    @contextmanager
    def working_for(self, tail: int) -> Iterator[None]:
        """The block is work for the tail."""
        _CELL.pack_into(self._memory, 0, tail, monotonic())
        try:
            yield
        finally:
            _CELL.pack_into(self._memory, 0, NOBODY, 0.0)

    def read(self) -> tuple[int, float]:
        """The tail that is worked for, or NOBODY, and for how many seconds."""
        tail, since = _CELL.unpack_from(self._memory)
        return tail, monotonic() - since if tail != NOBODY else 0.0


def create() -> int:
    """The descriptor of a cell's memory."""
    descriptor = os.memfd_create("weir-tail")
    os.ftruncate(descriptor, _CELL.size)
    return descriptor
