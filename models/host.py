"""The hosts of a deployment: who may have events that are not in the manifest yet, and how it is reached.

All times are those of the database's clock, so that the hosts' own need not agree.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from errors import Conflict, HostLives, HostNotFound
from models.base import connection, database

BEAT_SECONDS: Final = 5.0
# A host that was not heard of for so long is not thought to be alive any more. Only drops depend on it, no answer does.
LIVING_SECONDS: Final = 30.0


@dataclass(frozen=True, slots=True)
class Host:
    """A host. `url` None: it is alone and not to be reached; `seen_at` None: it was stopped in order.

    `is_living`: it gave a sign of life within the last LIVING_SECONDS.
    """

    name: str
    url: str | None
    started_at: datetime
    seen_at: datetime | None
    left_at: datetime | None
    dropped_at: datetime | None
    is_living: bool

    @property
    def is_present(self) -> bool:
        """Whether it may hold acknowledged events that nobody else has, and is not given up."""
        return self.left_at is None and self.dropped_at is None


def list_all() -> list[Host]:
    """All hosts there ever were, by name."""
    with connection():
        rows = database.execute_sql(
            "SELECT name, url, started_at, seen_at, left_at, dropped_at,"
            " coalesce(seen_at > clock_timestamp() - make_interval(secs => %s), false) FROM host ORDER BY name",
            (LIVING_SECONDS,),
        )
        return [_host(row) for row in rows.fetchall()]


def _host(row: Sequence[Any]) -> Host:
    return Host(*row)


def present() -> list[Host]:
    """The hosts that may hold events that are not in the manifest yet."""
    return [each for each in list_all() if each.is_present]


def clock() -> datetime:
    """What time it is, for the database."""
    with connection():
        (moment,) = database.execute_sql("SELECT clock_timestamp()").fetchone()
        return moment


def arrive(name: str, url: str | None) -> None:
    """Register the host before it stores its first event. Raises Conflict if the other hosts could not read it.

    Two hosts of which one has no address cannot read each other's events. Of two hosts with one name, peers would ask
    only one.
    """
    with connection(), database.atomic():
        # If two hosts register at once, the later one sees the earlier one.
        database.execute_sql("LOCK TABLE host IN SHARE ROW EXCLUSIVE MODE")
        for other in present():
            if other.name == name and other.is_living and other.url != url:
                raise Conflict(
                    f"this host's name is {name}, and a host of that name lives at {other.url or 'no address'}: a copy"
                    " of a data directory must leave out the file `node`; if there is no other, wait half a minute"
                )
            if other.name != name and _is_apart(other, url):
                raise Conflict(
                    f"host {other.name} ({other.url or 'without an address'}) uses this database too: several hosts"
                    " need WEIR_ADVERTISE_URL on each, by which the others read what it has not converted yet"
                )
        database.execute_sql(
            "INSERT INTO host (name, url) VALUES (%s, %s) ON CONFLICT (name) DO UPDATE SET url = EXCLUDED.url,"
            " started_at = now(), seen_at = now(), left_at = NULL, dropped_at = NULL",
            (name, url),
        )


def _is_apart(host: Host, url: str | None) -> bool:
    """Whether the other one cannot be of one deployment with a host of this address."""
    if url is None:
        return host.url is not None or host.is_living
    return host.url is None and host.is_living


def beat(name: str, url: str | None) -> None:
    """Note that the host lives. If it was given up, it is present again with its events."""
    with connection():
        database.execute_sql(
            "INSERT INTO host (name, url) VALUES (%s, %s) ON CONFLICT (name) DO UPDATE SET url = EXCLUDED.url,"
            " seen_at = clock_timestamp(), left_at = NULL, dropped_at = NULL",
            (name, url),
        )


def stop(name: str, *, has_nothing_left: bool) -> None:
    """Note that the host takes no events any more. `has_nothing_left`: the manifest has all of its events."""
    with connection():
        database.execute_sql(
            "UPDATE host SET seen_at = NULL, left_at = CASE WHEN %s THEN now() END WHERE name = %s",
            (has_nothing_left, name),
        )


def drop(name: str) -> Host:
    """Give up the host and the events that only it has, until it returns. Raises HostNotFound, HostLives."""
    with connection(), database.atomic():
        host = next((each for each in list_all() if each.name == name), None)
        if host is None:
            raise HostNotFound(f"there is no host {name}")
        dropped = database.execute_sql(
            "UPDATE host SET dropped_at = now() WHERE name = %s"
            " AND (seen_at IS NULL OR seen_at <= clock_timestamp() - make_interval(secs => %s)) RETURNING name",
            (name, LIVING_SECONDS),
        ).fetchone()
        if dropped is None:
            raise HostLives(f"host {name} gave a sign of life within the last {LIVING_SECONDS:.0f} s: stop it first")
        # The copies that it keeps are given up with it, so that their owners need not wait for it.
        database.execute_sql("DELETE FROM segment_copy WHERE holder = %s", (name,))
        return host
