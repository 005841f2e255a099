"""Idempotency records: a request that may be repeated claims one before it stores events, and completes it after.

`receipt`, also a column's name, is the digest of what a repetition has too. `claim_id` names one claim of a receipt: it
is stored with the events.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from models.base import connection, database

# How long a key is remembered (api.md section 4), and the longest time for which a repeated body is.
KEPT_SECONDS: Final = 24 * 3600


@dataclass(frozen=True, slots=True)
class IdempotencyRecord:
    """A claimed receipt. `events`: how many were stored; None: not known to be stored, `owner` is or was at it."""

    body: bytes
    owner: str
    claim_id: bytes
    events: int | None


def claim(
    receipt: bytes, body: bytes, owner: str, claim_id: bytes, kept_seconds: int = KEPT_SECONDS
) -> IdempotencyRecord | None:
    """Claim the receipt; None if `owner` has it now, else the record of its first request.

    A receipt expires `kept_seconds` after its claim. While nobody knows whether the events of a claim are stored, it
    does not: the request at hand may be the repetition of one that takes longer than that.
    """
    with connection(), database.atomic():
        database.execute_sql(
            "DELETE FROM receipt WHERE receipt = %s AND events IS NOT NULL"
            " AND created_at < now() - make_interval(secs => %s)",
            (receipt, kept_seconds),
        )
        inserted = database.execute_sql(
            "INSERT INTO receipt (receipt, body, owner, claim_id) VALUES (%s, %s, %s, %s)"
            " ON CONFLICT DO NOTHING RETURNING 1",
            (receipt, body, owner, claim_id),
        ).fetchone()
    return None if inserted else find(receipt)


def find(receipt: bytes) -> IdempotencyRecord | None:
    """The record of the receipt, if there is one."""
    with connection():
        row = database.execute_sql(
            "SELECT body, owner, claim_id, events FROM receipt WHERE receipt = %s", (receipt,)
        ).fetchone()
    return None if row is None else IdempotencyRecord(bytes(row[0]), row[1], bytes(row[2]), row[3])


def take_over(receipt: bytes, old: str, new: str, claim_id: bytes) -> bool:
    """Replace an uncompleted claim of owner `old` by one of `new`; return whether it was `old`'s."""
    with connection():
        row = database.execute_sql(
            "UPDATE receipt SET owner = %s, claim_id = %s, created_at = now()"
            " WHERE receipt = %s AND owner = %s AND events IS NULL RETURNING 1",
            (new, claim_id, receipt, old),
        ).fetchone()
    return row is not None


def complete(events: Mapping[bytes, int]) -> None:
    """Note that these many events are stored for each claim, by its id."""
    with connection():
        for claim_id, count in events.items():
            database.execute_sql("UPDATE receipt SET events = %s WHERE claim_id = %s", (count, claim_id))


def release(receipt: bytes, owner: str) -> None:
    """Give up a claim whose request stored nothing."""
    with connection():
        database.execute_sql(
            "DELETE FROM receipt WHERE receipt = %s AND owner = %s AND events IS NULL", (receipt, owner)
        )


def expire() -> int:
    """Forget the receipts that are older than a day; return how many."""
    with connection():
        rows = database.execute_sql(
            "DELETE FROM receipt WHERE created_at < now() - make_interval(secs => %s) RETURNING 1", (KEPT_SECONDS,)
        ).fetchall()
    return len(rows)
