"""Several hosts on one PostgreSQL and one bucket: each a gunicorn of its own, with its own data directory and port."""

import itertools
import shutil
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

import psycopg
import pytest
import requests

from auth.peers import LONGEST_SECONDS
from models.host import LIVING_SECONDS
from tests.buckets import Server
from tests.conftest import NewDatabase, service_environment
from tests.running import ADMIN, Service, free_port
from tests.weirctl.test_commands import rows, weirctl

pytest.importorskip("moto")


@pytest.fixture(scope="module")
def bucket() -> Iterator[Server]:
    made = Server()
    made.start()
    yield made
    made.stop()


class Deployment:
    """Hosts of one database and one prefix of the bucket."""

    def __init__(self, database_url: str, bucket: Server, root: Path) -> None:
        self.database_url = database_url
        self.root = root
        self.hosts: list[Service] = []
        self.environment = {
            **service_environment(database_url),
            **bucket.environment,
            "WEIR_STORAGE_URL": f"s3://bucket/{root.name}",
            "WEIR_SECRET_KEY": "one key for all the hosts",
            "WEIR_FLUSH_SECONDS": "60",
        }

    def host(self, name: str, **environment: str) -> Service:
        """A host that is not started yet."""
        port = free_port()
        data_dir = self.root / name
        data_dir.mkdir()
        told = {"WEIR_ADVERTISE_URL": f"http://127.0.0.1:{port}"}
        self.hosts.append(Service(data_dir, self.environment | told | environment, workers=2, port=port))
        return self.hosts[-1]

    def kill(self) -> None:
        """End what a failed test has left running."""
        for each in self.hosts:
            if each.process is not None and each.process.poll() is None:
                each.kill()

    def sql(self, statement: str) -> list[Any]:
        with psycopg.connect(self.database_url, autocommit=True) as connection:
            found = connection.execute(statement)
            return found.fetchall() if found.description else []

    def weirctl(self, *arguments: str) -> Any:
        return weirctl(None, *arguments, **self.environment, WEIR_DATA_DIR=str(self.root / "operator"))


@pytest.fixture(scope="module")
def deploy(
    new_database: NewDatabase, bucket: Server, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Callable[[], Deployment]]:
    made: list[Deployment] = []

    def make() -> Deployment:
        url = databases.enter_context(new_database())
        made.append(Deployment(url, bucket, tmp_path_factory.mktemp("hosts")))
        return made[-1]

    with ExitStack() as databases:
        yield make
        for each in made:
            each.kill()


@pytest.fixture(scope="module")
def pair(deploy: Callable[[], Deployment]) -> Iterator[tuple[Deployment, Service, Service]]:
    """Two hosts that live as long as the module's tests: whoever harms one makes its own."""
    deployment = deploy()
    here, there = deployment.host("here").start(), deployment.host("there").start()
    yield deployment, here, there
    here.stop()
    there.stop()


def count(service: Service, dataset: str) -> int:
    return int(service.query(f"SELECT count(*) AS n FROM {dataset}")[0]["n"])


def node(service: Service) -> str:
    return (service.data_dir / "node").read_text().strip()


def wait_until(condition: Callable[[], bool], seconds: float = 60) -> None:
    """Returns when the condition holds; the limit only turns a hang into a failure."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_event_that_one_host_acknowledged_is_in_the_next_answer_of_the_other(
    pair: tuple[Deployment, Service, Service],
) -> None:
    """Spec 1.1; nothing is converted meanwhile, so each answer needs the other host's segments."""
    _, here, there = pair
    for number in range(1, 21):
        sender, reader = (here, there) if number % 2 else (there, here)
        sender.ingest("visible", [{"n": number}]).raise_for_status()
        assert count(reader, "visible") == number


def test_statistics_count_what_any_host_has_not_converted(pair: tuple[Deployment, Service, Service]) -> None:
    _, here, there = pair
    here.ingest("counted", [{"n": 1}, {"n": 2}]).raise_for_status()
    there.ingest("counted", [{"n": 3}]).raise_for_status()

    for service in (here, there):
        stats = service.call("GET", "/api/v1/logstream/counted/stats").json()
        assert stats["ingestion"]["count"] == 3


def test_deleted_key_is_refused_by_every_host_from_the_next_request_on(
    pair: tuple[Deployment, Service, Service],
) -> None:
    """Spec 3 and 7."""
    _, here, there = pair
    for number in range(10):
        secret = here.make_key(f"mortal-{number}", {"privilege": "reader"})
        headers = {"X-API-Key": secret}
        for _ in range(4):
            assert there.call("GET", "/api/v1/logstream", headers=headers).status_code == 200
        (key,) = [
            each["keyId"]
            for each in here.call("GET", "/api/v1/apikeys").json()
            if each["keyName"] == f"mortal-{number}"
        ]

        here.call("DELETE", f"/api/v1/apikeys/{key}").raise_for_status()

        for _ in range(4):
            assert there.call("GET", "/api/v1/logstream", headers=headers).status_code == 401


def test_dataset_deleted_on_one_host_takes_no_more_events_on_the_other(
    pair: tuple[Deployment, Service, Service],
) -> None:
    """An event for a dataset of the deleted one's id would be acknowledged and never be seen."""
    _, here, there = pair
    for number in range(5):
        for _ in range(4):
            there.ingest("mortal", [{"n": number}]).raise_for_status()
        here.call("DELETE", "/api/v1/logstream/mortal").raise_for_status()

        there.ingest("mortal", [{"n": number}]).raise_for_status()

        assert count(here, "mortal") == count(there, "mortal") == 1
        here.call("DELETE", "/api/v1/logstream/mortal").raise_for_status()


def test_no_user_gets_at_the_segments(pair: tuple[Deployment, Service, Service]) -> None:
    _, here, _ = pair
    path = f"/api/v1/internal/hosts/{node(here)}/segments"
    forged = {"X-Weir-Time": f"{time.time():.3f}", "X-Weir-Signature": "0" * 64}

    for headers in ({}, forged):
        answer = requests.post(here.url + path, json={"known": {}}, headers=headers, auth=ADMIN, timeout=30)
        assert (answer.status_code, answer.json()["code"]) == (401, "unauthenticated")
    assert LONGEST_SECONDS <= 60


def test_every_event_is_in_every_answer_once_while_all_hosts_ingest_and_convert(
    deploy: Callable[[], Deployment],
) -> None:
    """Each answer of any host has at least what was acknowledged before it was asked, and nothing twice."""
    deployment = deploy()
    hosts = [deployment.host(name, WEIR_FLUSH_SECONDS="0.3").start() for name in ("a", "b", "c")]
    acknowledged: set[int] = set()
    numbers = itertools.count()
    failures: list[str] = []
    over = threading.Event()

    def send(service: Service) -> None:
        while not over.is_set():
            sent = [next(numbers) for _ in range(3)]
            answer = service.ingest("app", [{"n": each} for each in sent])
            if answer.status_code == 200:
                acknowledged.update(sent)
            else:
                failures.append(answer.text)

    senders = [threading.Thread(target=send, args=(service,)) for service in hosts]
    for each in senders:
        each.start()
    try:
        wait_until(lambda: bool(acknowledged))
        # Until conversion had a part in it on each host.
        deadline = time.monotonic() + 60
        for turn in itertools.count():
            before = set(acknowledged)
            found = [row["n"] for row in hosts[turn % 3].query("SELECT n FROM app")]
            assert len(found) == len(set(found))
            assert before <= set(found)
            if turn >= 12 and deployment.sql("SELECT count(DISTINCT node) FROM segment") == [(3,)]:
                break
            assert time.monotonic() < deadline
    finally:
        over.set()
        for each in senders:
            each.join()
    assert failures == []
    for service in hosts:
        assert {row["n"] for row in service.query("SELECT n FROM app")} == acknowledged
        service.stop()
    assert deployment.sql("SELECT count(*) FROM host WHERE left_at IS NULL") == [(0,)]


def test_host_is_missed_by_name_while_it_is_dead_and_not_after_it_was_dropped_or_has_left(
    deploy: Callable[[], Deployment],
) -> None:
    """A host dies, returns, dies and is dropped, returns, and is stopped in order; it is the leader's turn to die."""
    deployment = deploy()
    alive, dead = by_leadership(deployment, deployment.host("a").start(), deployment.host("b").start())
    alive.ingest("app", [{"n": 1}]).raise_for_status()
    dead.ingest("app", [{"n": 2}, {"n": 3}]).raise_for_status()
    assert count(alive, "app") == 3

    dead.kill()
    assert_refused(alive, dead, "POST", "/api/v1/query", json={"query": "SELECT count(*) AS n FROM app"})
    assert_refused(alive, dead, "GET", "/api/v1/logstream/app/stats")
    assert_refused(alive, dead, "GET", "/api/v1/readiness")
    # What does not need the dead host goes on, its work as leader too.
    assert alive.call("GET", "/api/v1/readiness?for=ingestion").status_code == 200
    alive.ingest("app", [{"n": 4}]).raise_for_status()
    wait_until(lambda: leader(deployment) == node(alive))

    dead.start()
    assert numbers(alive) == numbers(dead) == [1, 2, 3, 4]

    dead.ingest("app", [{"n": 5}, {"n": 6}]).raise_for_status()
    dead.kill()
    deployment.sql(f"UPDATE host SET seen_at = now() + interval '1 hour' WHERE name = '{node(dead)}'")
    early = deployment.weirctl("host", "drop", node(dead), "--yes")
    assert (early.returncode, "stop it first" in early.stderr) == (1, True)
    deployment.sql(f"UPDATE host SET seen_at = now() - interval '{LIVING_SECONDS + 1} s' WHERE name = '{node(dead)}'")
    assert states(deployment)[node(dead)] == "missing"
    assert deployment.weirctl("host", "drop", node(dead), "--yes").returncode == 0
    assert states(deployment)[node(dead)] == "dropped"
    # Those of its first life were perhaps converted in its second.
    assert set(numbers(alive)) & {1, 4, 5, 6} == {1, 4}

    dead.start()
    assert numbers(alive) == numbers(dead) == [1, 2, 3, 4, 5, 6]

    dead.ingest("app", [{"n": 7}]).raise_for_status()
    dead.stop()
    assert states(deployment)[node(dead)] == "left"
    assert numbers(alive) == [1, 2, 3, 4, 5, 6, 7]
    alive.stop()
    # Nobody waits for the lease of a leader that stopped in order.
    assert deployment.sql("SELECT host FROM leader") == []


def test_operator_may_choose_answers_that_name_the_host_they_lack(deploy: Callable[[], Deployment]) -> None:
    """SQL says it in a header, PromQL in its warnings; what cannot say it is refused as ever."""
    deployment = deploy()
    alive, dead = (deployment.host(name, WEIR_LOST_HOSTS="answer").start() for name in "ab")
    alive.ingest("app", [{"n": 1}]).raise_for_status()
    dead.ingest("app", [{"n": 2}]).raise_for_status()
    asked = {"json": {"query": "SELECT n FROM app ORDER BY n"}}
    whole = alive.call("POST", "/api/v1/query", **asked)
    assert (whole.json(), whole.headers.get("X-Weir-Gap")) == ([{"n": 1}, {"n": 2}], None)

    dead.kill()
    partial = alive.call("POST", "/api/v1/query", **asked)
    metric = alive.call("GET", "/prometheus/app/api/v1/query?query=up").json()

    assert (partial.status_code, partial.json()) == (200, [{"n": 1}])
    assert partial.headers["X-Weir-Gap"].startswith(f"{node(dead)};seen=")
    assert [node(dead) in each for each in metric["warnings"]] == [True]
    assert_refused(alive, dead, "GET", "/api/v1/logstream/app/stats")
    dead.start()
    again = alive.call("POST", "/api/v1/query", **asked)
    assert (again.json(), again.headers.get("X-Weir-Gap")) == ([{"n": 1}, {"n": 2}], None)
    alive.stop()
    dead.stop()


def numbers(service: Service) -> list[int]:
    return [int(row["n"]) for row in service.query("SELECT n FROM app ORDER BY n")]


def assert_refused(asked: Service, missing: Service, method: str, path: str, **arguments: Any) -> None:
    answer = asked.call(method, path, **arguments)
    assert (answer.status_code, answer.json()["code"]) == (503, "host_missing"), answer.text
    # Readiness is open to strangers, who are not told which host it is.
    assert answer.json().get("host") == (None if path == "/api/v1/readiness" else node(missing))
    assert (missing.url in answer.json()["message"]) == (path != "/api/v1/readiness")
    assert "Retry-After" in answer.headers


def by_leadership(deployment: Deployment, *hosts: Service) -> tuple[Service, Service]:
    """The host that does not lead, and the one that does."""
    wait_until(lambda: leader(deployment) is not None)
    follower, leads = sorted(hosts, key=lambda each: node(each) == leader(deployment))
    return follower, leads


def leader(deployment: Deployment) -> str | None:
    found = deployment.sql("SELECT host FROM leader WHERE leased_until > clock_timestamp()")
    return str(found[0][0]) if found else None


def states(deployment: Deployment) -> dict[str, str]:
    return {each["name"]: each["state"] for each in rows(deployment.weirctl("host", "list"))}


def test_host_without_an_address_does_not_start_beside_others(
    pair: tuple[Deployment, Service, Service],
) -> None:
    """It would not see what they have, nor they what it has."""
    deployment, here, _ = pair
    alone = deployment.host("alone", WEIR_ADVERTISE_URL="")

    with pytest.raises(RuntimeError, match="WEIR_ADVERTISE_URL"):
        alone.start()

    assert len(states(deployment)) == 2
    assert here.call("GET", "/api/v1/readiness").status_code == 200


@pytest.fixture
def trio(deploy: Callable[[], Deployment]) -> tuple[Deployment, list[Service]]:
    """Three hosts that have copies kept of what they take."""
    deployment = deploy()
    hosts = [deployment.host(name, WEIR_SECOND_COPY="true").start() for name in ("first", "second", "third")]
    return deployment, hosts


def holder_of(owner: str, hosts: list[Service]) -> Service:
    """The host with a copy of a segment of the owner's."""
    return next(each for each in hosts if list(each.data_dir.glob(f"staging/copies/{owner}/*.wal")))


def send_until_it_fails(service: Service, sender: int) -> list[int]:
    """The numbers that were acknowledged."""
    acknowledged = []
    with suppress(requests.RequestException):
        for number in itertools.count(sender, 100):
            service.ingest("kept", [{"n": number}]).raise_for_status()
            acknowledged.append(number)
    return acknowledged


def test_a_lost_disk_loses_nothing_that_was_acknowledged(trio: tuple[Deployment, list[Service]]) -> None:
    """Killed at full load. Whoever keeps the copies converts them, and only then may the lost host be dropped."""
    deployment, (lost, *others) = trio
    lost.ingest("kept", [{"n": -1}]).raise_for_status()
    name = node(lost)
    assert holder_of(name, others)

    with ThreadPoolExecutor(4) as pool:
        sending = [pool.submit(send_until_it_fails, lost, sender) for sender in range(4)]
        time.sleep(3)
        lost.kill()
        shutil.rmtree(lost.data_dir)
        acknowledged = {number for each in sending for number in each.result()}
    wait_until(lambda: deployment.weirctl("host", "drop", name, "--yes").returncode == 0, LIVING_SECONDS + 90)

    assert len(acknowledged) > 20
    for each in others:
        found = [row["n"] for row in each.query("SELECT n FROM kept")]
        assert len(found) == len(set(found))
        assert acknowledged <= set(found)
    wait_until(lambda: not deployment.sql(f"SELECT 1 FROM segment_copy WHERE owner = '{name}'"))
    assert not [path for each in others for path in each.data_dir.glob(f"staging/copies/{name}/*")]


def test_who_keeps_copies_may_die_and_without_anybody_nothing_is_taken(trio: tuple[Deployment, list[Service]]) -> None:
    """The segment ends where its copy ends, and what was under way goes to another host; each event is there once."""
    _, (taking, *others) = trio
    taking.ingest("moved", [{"n": 0}]).raise_for_status()
    holder = holder_of(node(taking), others)
    (left,) = [each for each in others if each is not holder]

    holder.kill()
    for number in range(1, 20):
        # A 503 has stored nothing, here or there.
        wait_until(lambda event={"n": number}: taking.ingest("moved", [event]).ok)
    assert list(left.data_dir.glob(f"staging/copies/{node(taking)}/*.wal"))
    left.kill()
    refused = taking.ingest("moved", [{"n": 20}])
    # Neither is ready without the other.
    with ThreadPoolExecutor() as pool:
        list(pool.map(Service.start, (left, holder)))
    wait_until(lambda: taking.ingest("moved", [{"n": 21}]).ok)

    assert (refused.status_code, refused.json()["code"]) == (503, "storage_unavailable")
    found = [row["n"] for row in taking.query("SELECT n FROM moved ORDER BY n")]
    assert found == [*range(20), 21]


def test_nobody_but_a_host_appends_to_a_copy(pair: tuple[Deployment, Service, Service]) -> None:
    _, here, _ = pair
    path = f"/api/v1/internal/hosts/{node(here)}/copies/x/y/0"

    assert here.call("POST", path, data=b"x").status_code == 401
    assert not list(here.data_dir.glob("staging/copies/*"))
