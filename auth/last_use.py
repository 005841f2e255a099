"""When each API key was last used: noted in memory by requests, written at most once a minute by a thread."""

import logging
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Final

from models.write_behind import WriteBehind

logger = logging.getLogger(__name__)

EVERY_SECONDS: Final = 60.0


class LastUse:
    """Collects uses and hands the newest of each key to `write`. The thread starts with the first use."""

    def __init__(self, write: Callable[[Mapping[str, datetime]], None], every_seconds: float = EVERY_SECONDS) -> None:
        self._write = write
        self._uses: dict[str, datetime] = {}
        self._behind = WriteBehind(self.flush, every_seconds, "api-key-last-use")

    def note(self, key_id: str, at: datetime) -> None:
        """Costs a dictionary entry: no input or output on the request's way."""
        self._uses[key_id] = at
        self._behind.begin()

    def flush(self) -> None:
        """Write what was noted. When the database is away it is kept for the next time."""
        uses, self._uses = self._uses, {}
        if not uses:
            return
        try:
            self._write(uses)
        except Exception as error:
            # Whatever it was, the thread must outlive it: nobody would start another.
            logger.warning("last use of %d API keys not written yet: %s", len(uses), error)
            self._uses = uses | self._uses

    def close(self) -> None:
        """Stop the thread and write the rest."""
        self._behind.close()
