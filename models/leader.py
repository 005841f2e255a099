"""The leader: the host that performs the tasks of all hosts. A row with an expiry, by the database's clock."""

from models.base import connection, database


def acquire(host: str, seconds: float) -> bool:
    """Let the host lead for so many seconds, unless another host leads; return whether it leads. One statement."""
    with connection():
        row = database.execute_sql(
            "INSERT INTO leader (host, leased_until) VALUES (%s, clock_timestamp() + make_interval(secs => %s))"
            " ON CONFLICT (one) DO UPDATE SET host = EXCLUDED.host, leased_until = EXCLUDED.leased_until"
            " WHERE leader.host = EXCLUDED.host OR leader.leased_until < clock_timestamp() RETURNING host",
            (host, seconds),
        ).fetchone()
    return row is not None


def release(host: str) -> None:
    """Let another host lead at once."""
    with connection():
        database.execute_sql("DELETE FROM leader WHERE host = %s", (host,))


def current() -> str | None:
    """The name of the host that leads."""
    with connection():
        row = database.execute_sql("SELECT host FROM leader WHERE leased_until > clock_timestamp()").fetchone()
    return None if row is None else str(row[0])
