"""The alerting process: one per host evaluates alerts and delivers notices; run as `python -m alerting.process`.

It may be killed at any moment and started again, and several hosts may run one each: whatever is due is claimed in the
database under a claim, and its outcome is kept in one transaction or not at all.
"""

import logging
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Final, TypeVar

from ulid import ULID

from alerting import schedule
from alerting.addresses import Policy
from alerting.connections import TOTAL_SECONDS
from alerting.dispatch import Dispatcher
from alerting.evaluation import Evaluator
from alerting.evaluation_groups import group_alerts
from alerting.windows import Windows
from auth.peers import PeerKey
from auth.secrets import Secrets, master_key
from config import Settings
from embedded_postgres import server
from errors import Overloaded, TargetNotFound
from models import alert, alert_event, delivery, target
from models.alert import Alert
from models.base import bind
from models.delivery import Delivery
from processes.background import start
from processes.child import Wait
from query.service import QueryService
from storage.cluster import host
from storage.files import object_cache

logger = logging.getLogger(__name__)

T = TypeVar("T")

IDLE_SECONDS: Final = 0.25
# While there is much to do, a round claims what its threads do in about this time.
BUSY_SECONDS: Final = 0.1
CLAIMED_AHEAD: Final = 4
# Alerts of one dataset are evaluated together, and most of them need no query.
EVALUATIONS_AHEAD: Final = 32
BACK_OFF_SECONDS: Final = 5.0
# More than run at once: those that wait do so in the line of the query processes, which is fair among authors.
EVALUATIONS: Final = 4
DELIVERIES: Final = 8
LONGEST_QUERY_SECONDS: Final = 60.0
LEASE_MARGIN: Final = timedelta(seconds=30)
SWEEP_EVERY: Final = timedelta(hours=1)
HISTORY_KEPT: Final = timedelta(days=90)
DELIVERIES_KEPT: Final = timedelta(days=30)


class WorkerPool:
    """Threads for one kind of work, which takes `ahead` times as much work as there are threads."""

    def __init__(self, name: str, size: int, ahead: int = CLAIMED_AHEAD) -> None:
        self._threads = ThreadPoolExecutor(size, thread_name_prefix=name)
        self._most = size * ahead
        self._taken = 0
        self._changed = threading.Condition()

    @property
    def room(self) -> int:
        """How much more it takes now."""
        return self._most - self._taken

    def put(self, work: Callable[[], None], size: int = 1) -> None:
        """Have it done by the next free thread; `size`: for how many it counts."""
        with self._changed:
            self._taken += size
        self._threads.submit(self._run, work, size)

    def drain(self) -> None:
        """Wait until all is done."""
        with self._changed:
            self._changed.wait_for(lambda: not self._taken)

    def close(self) -> None:
        """Wait for what is being done; begin nothing more."""
        self._threads.shutdown(wait=True, cancel_futures=True)

    def _run(self, work: Callable[[], None], size: int) -> None:
        try:
            work()
        except Exception:
            # One bad thing must not take a thread away from all others. Its claim ends, and it is tried again.
            logger.exception("alerting failed")
        finally:
            with self._changed:
                self._taken -= size
                self._changed.notify_all()


@dataclass(frozen=True, slots=True)
class Scheduler:
    """What a round does: it claims as much as there is room for. `clock` tells the time.

    `host` begins the ids of its claims: there is one process of this kind for each host.
    """

    evaluator: Evaluator
    dispatcher: Dispatcher
    evaluators: WorkerPool
    deliverers: WorkerPool
    evaluation_lease: timedelta
    clock: Callable[[], datetime]
    host: str

    def take_over(self) -> None:
        """Give back what this host's process before has left claimed, so that nobody waits until its leases end.

        Raises StorageUnavailable.
        """
        alert.release_all(f"{self.host}/")
        delivery.release_all(f"{self.host}/")

    def round(self) -> bool:
        """Keep what came of the last ones and begin what is due; whether there may be more of it already.

        Raises StorageUnavailable.
        """
        self.evaluator.writer.flush()
        now = self.clock()
        claim_id = f"{self.host}/{ULID()}"
        alerts = self._claimed_alerts(claim_id, now)
        for group in group_alerts(alerts, claim_id, now):
            self.evaluators.put(partial(self.evaluator.evaluate, group), len(group.alerts))
        notices = self._claimed_deliveries(claim_id, now)
        for delivered in notices:
            self.deliverers.put(partial(self._deliver, delivered, claim_id))
        return bool(alerts or notices)

    def _claimed_alerts(self, claim_id: str, now: datetime) -> Sequence[Alert]:
        room = self.evaluators.room
        due_before = now - schedule.SETTLE
        return alert.claim(claim_id, now, due_before, now + self.evaluation_lease, room) if room else ()

    def _claimed_deliveries(self, claim_id: str, now: datetime) -> Sequence[Delivery]:
        room = self.deliverers.room
        leased_until = now + timedelta(seconds=TOTAL_SECONDS) + LEASE_MARGIN
        return delivery.claim(claim_id, now, leased_until, room) if room else ()

    def _deliver(self, claimed: Delivery, claim_id: str) -> None:
        try:
            deliveries = target.find(claimed.target_id)
        except TargetNotFound:
            return  # Deleted a moment ago, and its deliveries with it.
        attempt = self.dispatcher.attempt(claimed, deliveries, self.clock())
        delivery.note(claimed.id, claim_id, attempt)


def run(rounds: Scheduler, wait: Wait) -> None:
    """Rounds until `wait` says stop; old history goes meanwhile."""
    pause, swept_at, is_first = IDLE_SECONDS, datetime.min.replace(tzinfo=UTC), True
    while not wait(pause):
        try:
            if is_first:
                rounds.take_over()
                is_first = False
            pause = BUSY_SECONDS if rounds.round() else IDLE_SECONDS
            if rounds.clock() >= swept_at + SWEEP_EVERY:
                swept_at = rounds.clock()
                sweep(swept_at)
        except Overloaded as error:
            logger.warning("alerting: %s; trying again", error.message)
            pause = BACK_OFF_SECONDS
        except Exception:
            logger.exception("alerting failed; trying again")
            pause = BACK_OFF_SECONDS


def sweep(now: datetime) -> None:
    """Forget what is too old to be of use."""
    alert_event.forget(now - HISTORY_KEPT)
    delivery.forget(now - DELIVERIES_KEPT)


def clock() -> datetime:
    return datetime.now(UTC)


def build(settings: Settings, queries: QueryService) -> Scheduler:
    """The rounds of a process with these settings. The models are bound already."""
    longest = settings.query_timeout_seconds + settings.query_queue_seconds
    secrets = Secrets(master_key(settings.secret_key, settings.data_dir))
    key = PeerKey(secrets) if settings.advertise_url else None
    layout = replace(host.layout(settings.data_dir, settings.storage_url, key), cached=object_cache.limits(settings))
    return Scheduler(
        evaluator=Evaluator(Windows(layout), queries, clock),
        dispatcher=Dispatcher(Policy.of(settings.alert_allowed_hosts), secrets, settings.public_url),
        evaluators=WorkerPool("evaluate", EVALUATIONS, EVALUATIONS_AHEAD),
        deliverers=WorkerPool("deliver", DELIVERIES),
        evaluation_lease=timedelta(seconds=longest) + LEASE_MARGIN,
        clock=clock,
        host=layout.node,
    )


def bounded(settings: Settings) -> Settings:
    """The settings for the queries of alerts: one that takes minutes cannot be asked every minute."""
    return replace(settings, query_timeout_seconds=min(settings.query_timeout_seconds, LONGEST_QUERY_SECONDS))


def main() -> None:
    """Serve until SIGTERM or SIGINT. Settings come from the environment."""
    settings, wait = start(main.__doc__)
    settings = bounded(settings)
    bind(server.url(settings.database_url, settings.data_dir), max_connections=EVALUATIONS + DELIVERIES + 2)
    queries = QueryService(settings)
    rounds = build(settings, queries)
    run(rounds, wait)
    queries.close()
    for crew in (rounds.evaluators, rounds.deliverers):
        crew.close()
    rounds.evaluator.writer.flush()


if __name__ == "__main__":
    main()
