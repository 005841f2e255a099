"""The disk's high and low water: above the one, ingestion is refused, until use falls below the other."""

import os
from collections.abc import Callable
from pathlib import Path
from time import monotonic
from typing import Final

from errors import DiskFull

# How old a measurement may be. In this time a disk of 10 GB/s, which there is none, would fill by 5 GB.
FRESH_SECONDS: Final = 0.5


def used_percent(path: Path) -> float:
    """How much of the file system is used, as `df` counts it: of what ordinary users may use."""
    status = os.statvfs(path)
    used = status.f_blocks - status.f_bfree
    return 100 * used / max(1, used + status.f_bavail)


class DiskWatermark:
    """The state of one disk. `measure` returns the percentage used."""

    def __init__(self, measure: Callable[[], float], high_percent: float, low_percent: float) -> None:
        self._measure = measure
        self._high = high_percent
        self._low = low_percent
        self._measured = -FRESH_SECONDS
        self._is_high = False

    def check(self) -> None:
        """Raise DiskFull above the high-water mark, and then until use is below the low-water mark."""
        if monotonic() - self._measured >= FRESH_SECONDS:
            self.refresh()
        if self._is_high:
            raise DiskFull("the disk is nearly full; nothing is taken in until there is room", retry_after_seconds=10)

    def refresh(self) -> None:
        """Measure now."""
        self._measured = monotonic()
        used = self._measure()
        self._is_high = used >= self._high or (self._is_high and used >= self._low)
