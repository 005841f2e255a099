"""When each API key was last used: noted in memory by requests, written at most once a minute by a thread."""

import logging
from collections.abc import Callable, Mapping
from datetime import datetime
from threading import Event, Lock, Thread
from typing import Final

logger = logging.getLogger(__name__)

EVERY_SECONDS: Final = 60.0


class LastUse:
    """Collects uses and hands the newest of each key to `write`. The thread starts with the first use."""

    def __init__(self, write: Callable[[Mapping[str, datetime]], None], every_seconds: float = EVERY_SECONDS) -> None:
        self._write = write
        self._every_seconds = every_seconds
        self._uses: dict[str, datetime] = {}
        self._stopped = Event()
        self._starting = Lock()
        self._thread: Thread | None = None

    def note(self, key_id: str, at: datetime) -> None:
        """Costs a dictionary entry: no input or output on the request's way."""
        self._uses[key_id] = at
        if self._thread is None:
            self._start()

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
        self._stopped.set()
        self.flush()

    def _start(self) -> None:
        with self._starting:
            if self._thread is None:
                self._thread = Thread(target=self._run, name="api-key-last-use", daemon=True)
                self._thread.start()

    def _run(self) -> None:
        while not self._stopped.wait(self._every_seconds):
            self.flush()
