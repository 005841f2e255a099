"""A whole alerting in the test's own process: real database, real storage, real query processes, any time of day."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from alerting import schedule
from alerting.evaluation_groups import group_alerts
from alerting.process import Scheduler, WorkerPool, build
from auth.secrets import Secrets, master_key
from config import Settings
from models import alert, delivery, role, target, user
from models.alert import Alert, Status
from models.authored import Author, Origin, fresh
from models.user import NewUser
from query.service import QueryService
from tests.alerting import samples
from tests.alerting.receiver import Receiver, receiving
from tests.alerting.samples import ANN, NOON
from tests.storage.workbench import Bench

WRITER = [{"privilege": "writer", "resource": {"dataset": "app"}}]


@dataclass
class World:
    """`now` is what the rounds take for the time."""

    bench: Bench
    settings: Settings
    queries: QueryService
    receiver: Receiver
    now: datetime = NOON
    rounds: Scheduler = field(init=False)

    def __post_init__(self) -> None:
        self.rounds = self.new_rounds()

    def new_rounds(self) -> Scheduler:
        built = build(self.settings, self.queries)
        return Scheduler(
            replace(built.evaluator, clock=lambda: self.now),
            built.dispatcher,
            WorkerPool("evaluate", 4),
            WorkerPool("deliver", 4),
            built.evaluation_lease,
            lambda: self.now,
            built.host,
        )

    def make_target(self, path: str = "/") -> str:
        origin = fresh("default", ANN, self.now)
        secrets = Secrets(master_key(None, self.settings.data_dir))
        sealed = samples.sealing.seal(secrets, origin.id, samples.HttpDestination(endpoint=self.receiver.url + path))
        target.create(origin, target.Content(f"hook {origin.id}", "webhook", sealed))
        return origin.id

    def make_alert(self, author: Author = ANN, **members: object) -> Origin:
        origin = fresh("default", author, self.now)
        content = samples.content(**{"title": f"alert {origin.id}", **members})
        alert.create(origin, content, schedule.following(origin.id, content.frequency_seconds, self.now))
        return origin

    def run(self, after: timedelta = timedelta()) -> None:
        """Let so much time pass, then do all that is due by then, deliveries included."""
        self.now += after
        while self.rounds.round():
            self.settle()
        self.settle()

    def evaluate(self, claimed: Iterable[Alert], lease: str) -> None:
        """Evaluate what was claimed under the lease, as a round does."""
        for group in group_alerts(claimed, lease, self.now):
            self.rounds.evaluator.evaluate(group)
        self.rounds.evaluator.writer.flush()

    def settle(self) -> None:
        for crew in (self.rounds.evaluators, self.rounds.deliverers):
            crew.drain()

    def read(self, origin: Origin) -> Alert:
        return alert.get("default", origin.id)

    def status(self, origin: Origin) -> Status:
        return self.read(origin).status

    def log(self, origin: Origin) -> list[delivery.Delivery]:
        return delivery.log(origin.id, 100)


@pytest.fixture(scope="module")
def queries(tmp_path_factory: pytest.TempPathFactory) -> Iterator[QueryService]:
    service = QueryService(Settings(data_dir=tmp_path_factory.mktemp("queries"), query_concurrency=2))
    service.start()
    yield service
    service.close()


@pytest.fixture
def world(database: None, tmp_path: Path, queries: QueryService) -> Iterator[World]:
    """A dataset `app` and its writer `ann`, at noon of some day."""
    role.put("default", "writer", WRITER)
    user.create("default", NewUser("ann", "hash", NOON), ["writer"])
    settings = Settings(data_dir=tmp_path, alert_allowed_hosts=("127.0.0.1",))
    with receiving() as receiver:
        made = World(Bench(tmp_path), settings, queries, receiver)
        yield made
        for crew in (made.rounds.evaluators, made.rounds.deliverers):
            crew.close()
        made.bench.storage.close()
