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
    """Nothing is deleted during the block. Several may hold at once; one that deletes is waited for.

    Raises StorageUnavailable in the end when the hold did not last, because the connection was lost or is shared.
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
    """Whether it was held until now."""
    (is_held,) = database.execute_sql("SELECT pg_advisory_unlock_shared(%s)", (HOLD_LOCK,)).fetchone()
    return bool(is_held)


@contextmanager
def deletion() -> Iterator[bool]:
    """Whether files may be deleted now, which stays so during the block. The block is one transaction."""
    with connection(), database.atomic():
        (is_free,) = database.execute_sql("SELECT pg_try_advisory_xact_lock(%s)", (HOLD_LOCK,)).fetchone()
        yield is_free
