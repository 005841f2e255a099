"""When a statement started: what the words `now`, `today`, `tomorrow` and `yesterday` in the text of a time ask for."""

from datetime import datetime
from typing import Protocol


class Clock(Protocol):
    """The same throughout a statement. Who asks it has an answer that depends on when the statement is run."""

    @property
    def now(self) -> datetime:
        """The moment, in UTC."""

    @property
    def local_now(self) -> datetime:
        """What the session's wall clock shows then, as if it were UTC."""
