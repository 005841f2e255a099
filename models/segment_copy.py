"""Which hosts keep copies of the segments of other hosts (docs/decisions/several-hosts.md, "A second copy")."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from models.base import connection, database
from models.host import LIVING_SECONDS


@dataclass(frozen=True, slots=True)
class SegmentCopy:
    """A copy that a host keeps. `is_converted`: nobody needs it; `is_abandoned`: its owner gives no sign of life.

    `size`: how many of its bytes count; None: all.
    """

    segment: str
    owner: str
    size: int | None
    is_converted: bool
    is_abandoned: bool


def begin(segment: str, owner: str, holder: str) -> None:
    """Note the copy, before its first byte is sent."""
    with connection():
        database.execute_sql(
            "INSERT INTO segment_copy (segment, owner, holder) VALUES (%s, %s, %s)", (segment, owner, holder)
        )


def end_at(segment: str, size: int) -> None:
    """Note that nothing beyond these bytes counts: its owner has taken it back, and may store it elsewhere."""
    with connection():
        database.execute_sql("UPDATE segment_copy SET size = %s WHERE segment = %s", (size, segment))


def is_open(segment: str, owner: str, holder: str) -> bool:
    """Whether the holder is to keep a copy of the owner's segment, which nobody has converted."""
    with connection():
        rows = database.execute_sql(
            "SELECT 1 FROM segment_copy WHERE segment = %s AND owner = %s AND holder = %s"
            " AND NOT EXISTS (SELECT FROM segment WHERE name = %s)",
            (segment, owner, holder, segment),
        )
        return rows.fetchone() is not None


def held_by(holder: str) -> list[SegmentCopy]:
    """The copies that the host keeps, oldest first."""
    with connection():
        rows = database.execute_sql(
            "SELECT c.segment, c.owner, c.size, s.name IS NOT NULL,"
            " NOT coalesce(h.seen_at > clock_timestamp() - make_interval(secs => %s), false)"
            " FROM segment_copy c LEFT JOIN segment s ON s.name = c.segment LEFT JOIN host h ON h.name = c.owner"
            " WHERE c.holder = %s ORDER BY c.segment",
            (LIVING_SECONDS, holder),
        )
        return [SegmentCopy(*row) for row in rows.fetchall()]


def waiting_of(owner: str) -> Sequence[tuple[str, int]]:
    """By each living host how many copies it keeps of the owner's segments that are not converted."""
    with connection():
        rows = database.execute_sql(
            "SELECT c.holder, count(*) FROM segment_copy c JOIN host h ON h.name = c.holder"
            " WHERE c.owner = %s AND h.seen_at > clock_timestamp() - make_interval(secs => %s)"
            " AND NOT EXISTS (SELECT FROM segment s WHERE s.name = c.segment) GROUP BY 1 ORDER BY 1",
            (owner, LIVING_SECONDS),
        )
        return [(holder, count) for holder, count in rows.fetchall()]


def end(segments: Collection[str]) -> None:
    """Forget copies whose files are gone for good."""
    with connection():
        database.execute_sql("DELETE FROM segment_copy WHERE segment = ANY(%s)", (list(segments),))
