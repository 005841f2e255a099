"""The maintenance process: one per host converts segments; run as `python -m storage.upkeep.maintenance`.

Tasks for all hosts together, such as compaction, are performed by the host that leads (storage/cluster/leadership.py).
The process may be killed at any moment and started again: every step is either invisible or one transaction.
"""

import logging
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from time import monotonic
from typing import Final

from config import Settings
from embedded_postgres import server
from errors import InternalError, StorageUnavailable, WeirError
from models import idempotency_record, sender_count
from models.base import bind
from processes.background import start
from processes.child import Wait
from processes.locks import try_lock
from storage.cluster import host, peers
from storage.cluster.leadership import Leadership
from storage.context import Layout
from storage.durable_files import make_directory
from storage.files import object_cache
from storage.lake.publication import publish_all, sweep_metadata, tend, withdraw_all
from storage.upkeep import pressure
from storage.upkeep.adoption import tend_copies
from storage.upkeep.compaction import compact, remove_replaced
from storage.upkeep.conversion import convert_all, remove_converted
from storage.upkeep.event_times import rewrite_times
from storage.upkeep.retention import expire_all
from storage.upkeep.rewriting import rewrite
from storage.upkeep.sweep import sweep_cache, sweep_staging, sweep_store

logger = logging.getLogger(__name__)

IDLE_SECONDS: Final = 0.5
BACK_OFF_SECONDS: Final = 30.0
COMPACT_SECONDS: Final = 5.0
# A periodic task rests this many times as long as it worked. So it takes at most a fifth of one core, or a twentieth
# where requests wait for the cores: files that are not compacted cost queries little, and can wait for a quieter hour.
REST: Final = 4.0
BUSY_REST: Final = 19.0
# A column that widens is published when its files are rewritten.
REWRITE_SECONDS: Final = 5.0
RETAIN_SECONDS: Final = 60.0
COPIES_SECONDS: Final = 5.0
SWEEP_SECONDS: Final = 3600.0
# A removed file stays on disk for the longest query's time plus this, because a query may still read it.
GRACE_MARGIN_SECONDS: Final = 60.0


class PeriodicTask:
    """A task in small portions. It rests briefly after each portion, and for `every_seconds` once nothing is left."""

    def __init__(self, task: Callable[[], int | None], every_seconds: float) -> None:
        self._task = task
        self._every_seconds = every_seconds
        self._due = 0.0

    def perform(self) -> None:
        """Do one portion if the task is due. Raises StorageUnavailable, OSError."""
        begin = monotonic()
        if begin < self._due:
            return
        # Set before the work, so that a failing task is not due again at once and the others get their turn.
        self._due = begin + self._every_seconds
        if self._task():
            end = monotonic()
            self._due = end + (BUSY_REST if pressure.is_busy() else REST) * (end - begin)


def alone() -> bool:
    """A host that shares its database with no other leads."""
    return True


@dataclass(frozen=True, slots=True)
class Tasks:
    """The tasks of one round of maintenance. `revive` restarts the database if it was killed.

    `rare` are the periodic tasks of this host; only the host that `leads` performs the `led` ones.
    """

    layout: Layout
    grace_seconds: float
    revive: Callable[[], None]
    rare: tuple[PeriodicTask, ...] = ()
    led: tuple[PeriodicTask, ...] = ()
    leads: Callable[[], bool] = alone

    def round(self) -> None:
        """Perform the tasks that are due; conversion first, since queries wait for it.

        If a task fails, the others are still performed, and InternalError is raised in the end. StorageUnavailable is
        raised at once, because no task can work without the database.
        """
        self.revive()
        failed = sum(not _run_task(task) for task in self._steps())
        if failed:
            raise InternalError(f"{failed} tasks failed")

    def _steps(self) -> tuple[Callable[[], object], ...]:
        return (
            lambda: convert_all(self.layout),
            lambda: remove_converted(self.layout, self.grace_seconds),
            *(each.perform for each in self.rare),
            lambda: self._lead(lambda: remove_replaced(self.layout, self.grace_seconds)),
            *(partial(self._lead, each.perform) for each in self.led),
        )

    def _lead(self, task: Callable[[], int | None]) -> None:
        """Check the lead before each task: a host may have lost it during the task before."""
        if self.leads():
            task()


def _run_task(task: Callable[[], object]) -> bool:
    try:
        task()
    except StorageUnavailable:
        raise
    except Exception:
        logger.exception("maintenance: a task failed")
        return False
    return True


def run(tasks: Tasks, wait: Wait) -> None:
    """Wait until no other maintenance process runs on this host, then perform the tasks until `wait` says stop."""
    make_directory(tasks.layout.staging, tasks.layout.root)
    with tasks.layout.leader.open("w") as lock:
        if not _lead(lock.fileno(), wait):
            return
        logger.info("maintenance leads on %s", tasks.layout.root)
        pause = IDLE_SECONDS
        while not wait(pause):
            pause = _round(tasks, pause)


def _lead(lock: int, wait: Wait) -> bool:
    while not try_lock(lock):
        if wait(IDLE_SECONDS):
            return False
    return True


def _round(tasks: Tasks, pause: float) -> float:
    """Perform one round; return the pause until the next one, which doubles while rounds fail."""
    try:
        tasks.round()
    except (WeirError, OSError) as error:
        logger.warning("maintenance: %s; trying again", error)
        return min(2 * pause, BACK_OFF_SECONDS)
    return IDLE_SECONDS


def postgres_watchdog(settings: Settings) -> Callable[[], None]:
    """A function that restarts the embedded PostgreSQL if it was killed, and does nothing if another is configured."""
    if settings.database_url is not None:
        return lambda: None
    cluster = server.cluster(settings.data_dir)

    def revive() -> None:
        if not server.is_running(cluster):
            logger.warning("the embedded PostgreSQL is not running; starting it")
            server.ensure_running(settings.data_dir)

    return revive


def host_tasks(layout: Layout, grace_seconds: float) -> tuple[PeriodicTask, ...]:
    """What this host keeps for others, and the sweeps of its disk: leftovers of a crash, and what no query uses."""
    return (
        PeriodicTask(lambda: tend_copies(layout), COPIES_SECONDS),
        PeriodicTask(lambda: sweep_staging(layout), SWEEP_SECONDS),
        PeriodicTask(lambda: sweep_cache(layout), SWEEP_SECONDS),
        PeriodicTask(lambda: peers.forget(layout.mirrors, grace_seconds), RETAIN_SECONDS),
    )


def lake_tasks(layout: Layout, grace_seconds: float, iceberg_seconds: float) -> tuple[PeriodicTask, ...]:
    """Publication twice in the time that it may take; before it, the tables that are not here are withdrawn."""
    sweep = PeriodicTask(lambda: sweep_metadata(layout, grace_seconds), RETAIN_SECONDS)
    if not iceberg_seconds:
        return (PeriodicTask(withdraw_all, SWEEP_SECONDS), sweep)
    return (
        PeriodicTask(lambda: tend(layout), SWEEP_SECONDS),
        PeriodicTask(lambda: publish_all(layout, grace_seconds), iceberg_seconds / 2),
        sweep,
    )


def leader_tasks(layout: Layout) -> tuple[PeriodicTask, ...]:
    """Compaction and rewriting, a file at a time, so that conversion never waits for long; then what is rare."""
    return (
        PeriodicTask(lambda: compact(layout), COMPACT_SECONDS),
        PeriodicTask(lambda: rewrite_times(layout), REWRITE_SECONDS),
        PeriodicTask(lambda: rewrite(layout), REWRITE_SECONDS),
        PeriodicTask(expire_all, RETAIN_SECONDS),
        PeriodicTask(lambda: sweep_store(layout), SWEEP_SECONDS),
        PeriodicTask(idempotency_record.expire, SWEEP_SECONDS),
        PeriodicTask(sender_count.expire, SWEEP_SECONDS),
    )


def main() -> None:
    """Serve until SIGTERM or SIGINT. Settings come from the environment."""
    settings, wait = start(main.__doc__)
    bind(server.url(settings.database_url, settings.data_dir), max_connections=2)
    grace = settings.query_timeout_seconds + GRACE_MARGIN_SECONDS
    layout = replace(host.layout(settings.data_dir, settings.storage_url), cached=object_cache.limits(settings))
    leadership = Leadership(layout.node)
    tasks = Tasks(
        layout,
        grace,
        postgres_watchdog(settings),
        host_tasks(layout, grace),
        (*lake_tasks(layout, grace, settings.iceberg_seconds), *leader_tasks(layout)),
        leads=leadership.holds,
    )
    run(tasks, wait)
    with suppress(StorageUnavailable):
        leadership.release()


if __name__ == "__main__":
    main()
