"""The generation: a counter that changes of what workers cache advance, each in its own transaction."""

from collections.abc import Iterator
from contextlib import contextmanager

from peewee import BigIntegerField, BooleanField

from models.base import Table, connection, database


class Generation(Table):
    one = BooleanField(primary_key=True)
    value = BigIntegerField()


@connection()
def current() -> int:
    """The number of changes committed so far. One round trip."""
    return Generation.select(Generation.value).scalar()


@contextmanager
def changing() -> Iterator[None]:
    """A transaction that changes identities, or deletes a dataset.

    Takes the generation's row lock first, so such changes are serial: what the block reads stays true
    until it commits (the last administrator, a role in use). Nested blocks join the outer one.
    """
    with connection(), database.atomic():
        Generation.update(value=Generation.value + 1).execute()
        yield
