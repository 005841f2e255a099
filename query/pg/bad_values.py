"""Texts that are no value of a type, or of a value that we lack."""


class BadLiteral(ValueError):
    """The text is no value of the type; `sqlstate` and `message` are PostgreSQL's."""

    def __init__(self, sqlstate: str, message: str) -> None:
        super().__init__(message)
        self.sqlstate = sqlstate
        self.message = message


class UnsupportedLiteral(ValueError):
    """PostgreSQL has this value and we do not; the text names it."""
