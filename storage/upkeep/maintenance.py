"""The maintenance process: one per host converts segments; run as `python -m storage.upkeep.maintenance`.

What is to be done once for all hosts, as compaction, is done by the one that leads (storage/cluster/leadership.py).
It may be killed at any moment and started again: every step is either invisible or one transaction.
"""

import argparse
import logging
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from time import monotonic
from typing import Final

import logs
from config import Settings
from embedded_postgres import server
from errors import InternalError, StorageUnavailable, WeirError
from models import idempotency_record
from models.base import bind
from processes.child import Wait, end_with_parent
from processes.locks import try_lock
from storage.cluster import host, peers
from storage.cluster.leadership import Leadership
from storage.context import Layout
from storage.durable_files import make_directory
from storage.files import object_cache
from storage.upkeep import pressure
from storage.upkeep.compaction import compact, remove_replaced
from storage.upkeep.conversion import convert_all, remove_converted
from storage.upkeep.retention import expire_all
from storage.upkeep.sweep import sweep_cache, sweep_staging, sweep_store

logger = logging.getLogger(__name__)

IDLE_SECONDS: Final = 0.5
BACK_OFF_SECONDS: Final = 30.0
COMPACT_SECONDS: Final = 5.0
# How many times as long as it worked a rare duty rests. So it takes at most a fifth of one core, and where requests
# wait for the cores, a twentieth: what is not compacted costs queries a little, and waits for a quieter hour.
REST: Final = 4.0
BUSY_REST: Final = 19.0
RETAIN_SECONDS: Final = 60.0
SWEEP_SECONDS: Final = 3600.0
# Added to the longest query: how long after its removal a file may still be read.
GRACE_MARGIN_SECONDS: Final = 60.0


class PeriodicTask:
    """A duty that is due some time after there was nothing left of it, and in small portions until then."""

    def __init__(self, duty: Callable[[], int | None], every_seconds: float) -> None:
        self._duty = duty
        self._every_seconds = every_seconds
        self._due = 0.0

    def perform(self) -> None:
        """Do a portion if it is due. Raises StorageUnavailable, OSError."""
        begin = monotonic()
        if begin < self._due:
            return
        # Before, so that a duty that fails does not keep the others from their turn.
        self._due = begin + self._every_seconds
        if self._duty():
            end = monotonic()
            self._due = end + (BUSY_REST if pressure.is_busy() else REST) * (end - begin)


def alone() -> bool:
    """A host that shares its database with no other leads."""
    return True


@dataclass(frozen=True, slots=True)
class Tasks:
    """What one round of maintenance does, and by which numbers. `revive` sees to it that the database runs.

    `rare` are this host's own; `led` are those that are done by the one host that `leads`.
    """

    layout: Layout
    grace_seconds: float
    revive: Callable[[], None]
    rare: tuple[PeriodicTask, ...] = ()
    led: tuple[PeriodicTask, ...] = ()
    leads: Callable[[], bool] = alone

    def round(self) -> None:
        """Do what is due; conversion first, since queries wait for it.

        A duty that fails does not keep the others from being done; InternalError is raised in the end. Raises
        StorageUnavailable at once, because nothing can be done without the database.
        """
        self.revive()
        failed = sum(not _succeeds(duty) for duty in self._duties())
        if failed:
            raise InternalError(f"{failed} duties failed")

    def _duties(self) -> tuple[Callable[[], object], ...]:
        return (
            lambda: convert_all(self.layout),
            lambda: remove_converted(self.layout, self.grace_seconds),
            *(each.perform for each in self.rare),
            lambda: self._lead(lambda: remove_replaced(self.layout, self.grace_seconds)),
            *(partial(self._lead, each.perform) for each in self.led),
        )

    def _lead(self, duty: Callable[[], int | None]) -> None:
        """Asked before each duty: who has lost the lead during the one before begins none any more."""
        if self.leads():
            duty()


def _succeeds(duty: Callable[[], object]) -> bool:
    try:
        duty()
    except StorageUnavailable:
        raise
    except Exception:
        logger.exception("maintenance: a duty failed")
        return False
    return True


def run(duties: Tasks, wait: Wait) -> None:
    """Wait to be the host's only maintenance, then do the duties until `wait` says stop."""
    make_directory(duties.layout.staging, duties.layout.root)
    with duties.layout.leader.open("w") as lock:
        if not _lead(lock.fileno(), wait):
            return
        logger.info("maintenance leads on %s", duties.layout.root)
        pause = IDLE_SECONDS
        while not wait(pause):
            pause = _round(duties, pause)


def _lead(lock: int, wait: Wait) -> bool:
    while not try_lock(lock):
        if wait(IDLE_SECONDS):
            return False
    return True


def _round(duties: Tasks, pause: float) -> float:
    """One round; how long to wait until the next: longer and longer while it fails."""
    try:
        duties.round()
    except (WeirError, OSError) as error:
        logger.warning("maintenance: %s; trying again", error)
        return min(2 * pause, BACK_OFF_SECONDS)
    return IDLE_SECONDS


def reviver(settings: Settings) -> Callable[[], None]:
    """What keeps the embedded PostgreSQL running, should it be killed; nothing, when another one is configured."""
    if settings.database_url is not None:
        return lambda: None
    found = server.cluster(settings.data_dir)

    def revive() -> None:
        if not server.is_running(found):
            logger.warning("the embedded PostgreSQL is not running; starting it")
            server.ensure_running(settings.data_dir)

    return revive


def host_tasks(layout: Layout, grace_seconds: float) -> tuple[PeriodicTask, ...]:
    """The sweep of this host's disk: what a crash has left, and copies and mirrors that queries have no use for."""
    return (
        PeriodicTask(lambda: sweep_staging(layout), SWEEP_SECONDS),
        PeriodicTask(lambda: sweep_cache(layout), SWEEP_SECONDS),
        PeriodicTask(lambda: peers.forget(layout.mirrors, grace_seconds), RETAIN_SECONDS),
    )


def leader_tasks(layout: Layout) -> tuple[PeriodicTask, ...]:
    """Compaction one merge at a time, so that conversion never waits for long; retention; the sweep; old keys."""
    return (
        PeriodicTask(lambda: compact(layout), COMPACT_SECONDS),
        PeriodicTask(expire_all, RETAIN_SECONDS),
        PeriodicTask(lambda: sweep_store(layout), SWEEP_SECONDS),
        PeriodicTask(idempotency_record.expire, SWEEP_SECONDS),
    )


def main() -> None:
    """Serve until SIGTERM or SIGINT. Settings come from the environment."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--parent", type=int, metavar="PID", help="end when this process, our parent, has ended")
    parser.add_argument("--log-to", type=int, metavar="FD", help="an inherited socket for the log lines")
    asked = parser.parse_args()
    settings = Settings.from_env()
    logs.configure(settings.log_format, settings.log_level)
    logs.withhold()
    if asked.log_to is not None:
        logs.relay(asked.log_to)
    bind(server.url(settings.database_url, settings.data_dir), max_connections=2)
    grace = settings.query_timeout_seconds + GRACE_MARGIN_SECONDS
    layout = replace(host.layout(settings.data_dir, settings.storage_url), cached=object_cache.limits(settings))
    leadership = Leadership(layout.node)
    duties = Tasks(
        layout, grace, reviver(settings), host_tasks(layout, grace), leader_tasks(layout), leads=leadership.holds
    )
    run(duties, end_with_parent(asked.parent))
    with suppress(StorageUnavailable):
        leadership.release()


if __name__ == "__main__":
    main()
