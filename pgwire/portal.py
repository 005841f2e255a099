"""Portals: statements with their values, which run when they are first asked for rows; cursors are the same."""

from dataclasses import dataclass, field

from pgwire.catalogue.backend import Values
from pgwire.errors import PgError
from pgwire.messages import Column
from pgwire.rows import Rows
from pgwire.statement import PreparedStatement


@dataclass(slots=True)
class Answer:
    """What a statement that has run gives: rows and their columns, or none, and the word of its command tag.

    `head` and `tail` are messages around the rows, as COPY has them.
    """

    tag: str
    columns: tuple[Column, ...] | None = None
    rows: Rows | None = None
    raw_description: bytes | None = None
    head: bytes = b""
    tail: bytes = b""
    # FETCH takes so many rows of a cursor that others share; the tag counts them.
    is_counted: bool = False
    notices: tuple[PgError, ...] = ()

    def tag_of(self, given: int) -> str:
        return f"{self.tag} {given}" if self.is_counted else self.tag


@dataclass(slots=True)
class Portal:
    """`answer` is there once it has begun to run. A cursor `is_held` beyond its transaction, and has been declared."""

    prepared: PreparedStatement
    values: Values = field(default_factory=Values)
    answer: Answer | None = None
    is_cursor: bool = False
    is_held: bool = False
    is_over: bool = False

    def close(self) -> None:
        if self.answer is not None and self.answer.rows is not None:
            self.answer.rows.close()
