"""Writing behind: what requests note in memory, a thread writes to the database every so often."""

from collections.abc import Callable
from threading import Event, Lock, Thread


class WriteBehind:
    """Calls `flush`, which raises nothing, every so many seconds. The thread starts with the first `begin`."""

    def __init__(self, flush: Callable[[], None], every_seconds: float, name: str) -> None:
        self._flush = flush
        self._every_seconds = every_seconds
        self._name = name
        self._stopped = Event()
        self._starting = Lock()
        self._thread: Thread | None = None

    def begin(self) -> None:
        """Something was noted. Costs nothing once the thread runs; a fork has none, hence not from the start."""
        if self._thread is None:
            with self._starting:
                if self._thread is None:
                    self._thread = Thread(target=self._run, name=self._name, daemon=True)
                    self._thread.start()

    def close(self) -> None:
        """Stop the thread and write the rest."""
        self._stopped.set()
        self._flush()

    def _run(self) -> None:
        while not self._stopped.wait(self._every_seconds):
            self._flush()
