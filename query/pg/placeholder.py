"""A placeholder on its way through the binder: an untyped literal that remembers what its place made of it."""

from query.pg.types import PgType


class Placeholder(str):
    """Stands where the text of an untyped literal would, and is typed where that would be read."""

    number: int
    type: PgType | None

    @classmethod
    def of(cls, number: int) -> "Placeholder":
        """The placeholder `$number`, of no type yet."""
        made = cls(f"${number}")
        made.number, made.type = number, None
        return made

    def __str__(self) -> str:
        """Itself: the binder copies texts by `str`."""
        return self
