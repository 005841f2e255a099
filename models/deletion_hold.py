"""Holds on deletion: while a backup reads, files that left the manifest stay on disk and in the bucket.

Advisory locks of PostgreSQL, so every host sees them and none outlives its holder.
"""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Final

from peewee import DatabaseError, InterfaceError

from errors import StorageUnavailable
from models.base import connection, database

# Like the lock of migrations: any constant that no other program uses in this database.
HOLD_LOCK: Final = 0x5745_4953


@contextmanager
def held() -> Iterator[None]:
    """Prevent deletion during the block. Several holds may overlap; a hold waits for a deletion that is at work.

    Raises StorageUnavailable at the end if the hold did not last, because the connection was lost or is shared.
    """
    with connection():
        database.execute_sql("SELECT pg_advisory_lock_shared(%s)", (HOLD_LOCK,))
        try:
            yield
        except BaseException:
            # A lost connection has lost the lock with it.
            with suppress(DatabaseError, InterfaceError):
                _release()
            raise
        if not _release():
            raise StorageUnavailable(
                "the hold on deletion was lost: a pooler before PostgreSQL must not share sessions"
            )


def _release() -> bool:
    """Release the hold; return whether it lasted until now."""
    (is_held,) = database.execute_sql("SELECT pg_advisory_unlock_shared(%s)", (HOLD_LOCK,)).fetchone()
    return bool(is_held)


@contextmanager
def deletion() -> Iterator[bool]:
    """Prevent holds during the block, which is one transaction; yield False if there is a hold already."""
    with connection(), database.atomic():
        (is_free,) = database.execute_sql("SELECT pg_try_advisory_xact_lock(%s)", (HOLD_LOCK,)).fetchone()
        yield is_free
