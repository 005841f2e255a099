"""Transaction blocks. Nothing is changed over this protocol, so a block is a state, the time of now(), and cursors."""

import time
from dataclasses import dataclass, field
from typing import Final

from pgwire.errors import PgError

IDLE: Final = b"I"
OPEN: Final = b"T"
FAILED: Final = b"E"
ABORTED: Final = "current transaction is aborted, commands ignored until end of transaction block"


@dataclass(slots=True)
class Transaction:
    """`is_batch`: several statements came in one message, which are one transaction to PostgreSQL."""

    status: bytes = IDLE
    savepoints: list[str] = field(default_factory=list)
    began_ns: int | None = None
    is_batch: bool = False

    @property
    def is_open(self) -> bool:
        return self.status != IDLE

    def begin(self) -> PgError | None:
        """A notice where a block is open already."""
        if self.is_open:
            return PgError("25001", "there is already a transaction in progress")
        self.status, self.began_ns = OPEN, time.time_ns()
        return None

    def end(self) -> PgError | None:
        """A notice where none is open."""
        notice = None if self.is_open else PgError("25P01", "there is no transaction in progress")
        self.status, self.began_ns = IDLE, None
        self.savepoints.clear()
        return notice

    def fail(self) -> None:
        """After an error a block takes no statement but its end."""
        if self.is_open:
            self.status = FAILED

    def require_usable(self) -> None:
        """Raises PgError in a block that has failed."""
        if self.status == FAILED:
            raise PgError("25P02", ABORTED)

    def require_block(self, command: str) -> None:
        """Raises PgError outside of a block."""
        if not (self.is_open or self.is_batch):
            raise PgError("25P01", f"{command} can only be used in transaction blocks")

    def save(self, name: str) -> None:
        self.require_block("SAVEPOINT")
        self.savepoints.append(name)

    def release(self, name: str) -> None:
        self.require_block("RELEASE SAVEPOINT")
        del self.savepoints[self._find(name) :]

    def roll_back_to(self, name: str) -> None:
        self.require_block("ROLLBACK TO SAVEPOINT")
        del self.savepoints[self._find(name) + 1 :]
        if self.is_open:
            self.status = OPEN

    def _find(self, name: str) -> int:
        for at in reversed(range(len(self.savepoints))):
            if self.savepoints[at] == name:
                return at
        raise PgError("3B001", f'savepoint "{name}" does not exist')
