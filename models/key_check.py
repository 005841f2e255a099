"""The digest that tells whether this host's secret key is the one that the database was first used with."""

from peewee import BlobField, BooleanField

from models.base import Table, connection


class KeyCheck(Table):
    one = BooleanField(primary_key=True, default=True)
    digest = BlobField()


@connection()
def ensure(digest: bytes) -> bytes:
    """The stored digest; the given one when there was none."""
    KeyCheck.insert(one=True, digest=digest).on_conflict_ignore().execute()
    return bytes(KeyCheck.select(KeyCheck.digest).scalar())
