"""Idempotency records: a request with an Idempotency-Key claims one before it stores events, and completes it after.

`receipt`, also a column's name, is the digest of the key.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from models.base import connection, database

# How long a key is remembered (api.md section 4).
KEPT_HOURS: Final = 24


@dataclass(frozen=True, slots=True)
class IdempotencyRecord:
    """A claimed key. `events`: how many were stored; None: not known to be stored, `owner` is or was at it."""

    body: bytes
    owner: str
    events: int | None


def claim(receipt: bytes, body: bytes, owner: str) -> IdempotencyRecord | None:
    """Claim the key; None if `owner` has it now, else the record of its first request. Keys expire after a day."""
    with connection(), database.atomic():
        database.execute_sql(
            "DELETE FROM receipt WHERE receipt = %s AND created_at < now() - make_interval(hours => %s)",
            (receipt, KEPT_HOURS),
        )
        inserted = database.execute_sql(
            "INSERT INTO receipt (receipt, body, owner) VALUES (%s, %s, %s) ON CONFLICT DO NOTHING RETURNING 1",
            (receipt, body, owner),
        ).fetchone()
    return None if inserted else find(receipt)


def find(receipt: bytes) -> IdempotencyRecord | None:
    """The record of the receipt, if there is one."""
    with connection():
        row = database.execute_sql("SELECT body, owner, events FROM receipt WHERE receipt = %s", (receipt,)).fetchone()
    return None if row is None else IdempotencyRecord(bytes(row[0]), row[1], row[2])


def take_over(receipt: bytes, old: str, new: str) -> bool:
    """Move an uncompleted claim from owner `old` to `new`; return whether it was `old`'s."""
    with connection():
        row = database.execute_sql(
            "UPDATE receipt SET owner = %s WHERE receipt = %s AND owner = %s AND events IS NULL RETURNING 1",
            (new, receipt, old),
        ).fetchone()
    return row is not None


def complete(events: Mapping[bytes, int]) -> None:
    """Note that these many events are stored for each receipt."""
    with connection():
        for receipt, count in events.items():
            database.execute_sql("UPDATE receipt SET events = %s WHERE receipt = %s", (count, receipt))


def release(receipt: bytes, owner: str) -> None:
    """Give up a claim whose request stored nothing."""
    with connection():
        database.execute_sql(
            "DELETE FROM receipt WHERE receipt = %s AND owner = %s AND events IS NULL", (receipt, owner)
        )


def expire() -> int:
    """Forget the keys that are older than a day; return how many."""
    with connection():
        rows = database.execute_sql(
            "DELETE FROM receipt WHERE created_at < now() - make_interval(hours => %s) RETURNING 1", (KEPT_HOURS,)
        ).fetchall()
    return len(rows)
