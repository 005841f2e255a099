"""Whether processes wait for a processor: Linux's pressure stall information (kernel docs, psi)."""

from pathlib import Path
from typing import Final

SOURCE: Final = Path("/proc/pressure/cpu")
# Share of the last ten seconds in which a runnable process had to wait.
BUSY_PERCENT: Final = 50.0


def is_busy(source: Path = SOURCE) -> bool:
    """Whether a process waited for a processor in most of the last ten seconds; False where the kernel cannot say."""
    try:
        some = source.read_text().partition("\n")[0].split()
        return float(some[1].removeprefix("avg10=")) > BUSY_PERCENT
    except (OSError, IndexError, ValueError):
        return False
