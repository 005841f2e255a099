"""Revocation and uniqueness against a real service of several workers: spec 2.1, 3 and api.md section 2."""

import base64
import http.client
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

import pytest

from tests.running import ADMIN, Service, wait_until

WORKERS = 3
CONNECTIONS = 12
# Requests before and after each revocation, several for each worker.
ENOUGH = 6
pytestmark = pytest.mark.service

PATH = "/api/v1/logstream"
KEYS = "/api/console/v1/apikeys"
# What comes of hammering with a password that is no longer right.
TOO_MANY_ATTEMPTS = 429
READER = {"privilege": "reader"}
INGESTOR = {"privilege": "ingestor"}


@pytest.fixture(scope="module")
def running(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """On the embedded PostgreSQL, as most installations are."""
    environment = {"WEIR_ADMIN_USERNAME": ADMIN[0], "WEIR_ADMIN_PASSWORD": ADMIN[1]}
    service = Service(tmp_path_factory.mktemp("revocation"), environment, WORKERS).start()
    yield service
    service.stop()


@dataclass
class Credential:
    """One that will be revoked. `revoked_at` is when the revocation was answered, by this process's clock."""

    headers: dict[str, str]
    revoke: Callable[[], None]
    refusal: int
    revoked_at: float = float("inf")
    # How many requests with it were served before, and refused after.
    served: int = 0
    refused: int = 0


@dataclass
class Hammer:
    """Many connections, spread over the workers, that use the credentials in `target` all the time."""

    service: Service
    target: list[Credential]
    stop: threading.Event = field(default_factory=threading.Event)
    outcomes: Counter[str] = field(default_factory=Counter)

    def __enter__(self) -> "Hammer":
        self.pool = ThreadPoolExecutor(CONNECTIONS)
        self.running = [self.pool.submit(self._run) for _ in range(CONNECTIONS)]
        return self

    def __exit__(self, *_: object) -> None:
        self.stop.set()
        self.pool.shutdown()
        for each in self.running:
            each.result()

    def _run(self) -> None:
        connection = http.client.HTTPConnection("127.0.0.1", self.service.port, timeout=60)
        while not self.stop.is_set():
            for credential in self.target:
                begun_at = time.monotonic()
                connection.request("GET", PATH, headers=credential.headers)
                answer = connection.getresponse()
                answer.read()
                self._judge(credential, begun_at, answer.status)
        connection.close()

    def _judge(self, credential: Credential, begun_at: float, status: int) -> None:
        """A request sent after the answer to the revocation must fail; one answered before it must not."""
        refusals = (credential.refusal, TOO_MANY_ATTEMPTS)
        if begun_at > credential.revoked_at:
            credential.refused += status in refusals
            self.outcomes["refused" if status in refusals else f"stale {status}"] += 1
        elif credential.revoked_at == float("inf"):
            # The revocation may be under way, and then either answer is right.
            credential.served += status == 200
            self.outcomes["served" if status in (200, *refusals) else f"wrong {status}"] += 1


def key(service: Service, name: str, refusal: int, revoke: Callable[[dict[str, str]], None]) -> Credential:
    service.call("PUT", f"/api/v1/role/{name}", json=[READER]).raise_for_status()
    made = service.call("POST", KEYS, json={"keyName": name, "roles": [name]}).json()
    return Credential({"X-API-Key": made["apiKey"]}, lambda: revoke(made), refusal)


def deleted_key(service: Service, name: str) -> Credential:
    return key(service, name, 401, lambda made: succeed(service, "DELETE", f"{KEYS}/{made['keyId']}"))


def key_of_changed_role(service: Service, name: str) -> Credential:
    return key(service, name, 403, lambda _: succeed(service, "PUT", f"/api/v1/role/{name}", [INGESTOR]))


def user(service: Service, name: str, refusal: int, revoke: Callable[[], None]) -> Credential:
    service.call("PUT", f"/api/v1/role/{name}", json=[READER]).raise_for_status()
    password = service.call("POST", f"/api/v1/user/{name}", json=[name]).json()
    basic = base64.b64encode(f"{name}:{password}".encode()).decode()
    return Credential({"Authorization": f"Basic {basic}"}, revoke, refusal)


def deleted_user(service: Service, name: str) -> Credential:
    return user(service, name, 401, lambda: succeed(service, "DELETE", f"/api/v1/user/{name}"))


def user_of_taken_role(service: Service, name: str) -> Credential:
    return user(service, name, 403, lambda: succeed(service, "PUT", f"/api/v1/user/{name}/role", []))


def user_of_new_password(service: Service, name: str) -> Credential:
    path = f"/api/v1/user/{name}/generate-new-password"
    return user(service, name, 401, lambda: succeed(service, "POST", path))


def succeed(service: Service, method: str, path: str, body: object = None) -> None:
    service.call(method, path, json=body).raise_for_status()


MAKERS = [deleted_key, key_of_changed_role, deleted_user, user_of_taken_role, user_of_new_password]


def test_revoked_credentials_are_never_served_again_by_any_worker(running: Service):
    """Spec 3 and 7, api.md section 2: effective on the next request in every worker."""
    credentials = [make(running, f"{make.__name__}-{n}") for n in range(3) for make in MAKERS]

    with Hammer(running, credentials) as hammer:
        for n, credential in enumerate(credentials):
            hammer.target = credentials[n : n + 2]
            wait_until(lambda: credential.served >= ENOUGH)  # noqa: B023
            credential.revoke()
            credential.revoked_at = time.monotonic()
            wait_until(lambda: credential.refused >= ENOUGH)  # noqa: B023
        before = hammer.outcomes["refused"]
        hammer.target = credentials
        wait_until(lambda: hammer.outcomes["refused"] > before + 2 * len(credentials))

    assert set(hammer.outcomes) == {"served", "refused"}, dict(hammer.outcomes)


def test_twenty_concurrent_creates_of_one_name_give_one_key(running: Service):
    """Spec 2.1: keyName is unique within the tenant, by constraint and not by a look before."""
    running.call("PUT", "/api/v1/role/concurrent", json=[READER]).raise_for_status()
    start = threading.Barrier(20)

    def create(_: int) -> int:
        start.wait()
        return running.call("POST", KEYS, json={"keyName": "same", "roles": ["concurrent"]}).status_code

    with ThreadPoolExecutor(20) as pool:
        statuses = Counter(pool.map(create, range(20)))

    assert statuses == {200: 1, 409: 19}
    names = [each["keyName"] for each in running.call("GET", KEYS).json()]
    assert names.count("same") == 1


def test_two_administrators_who_remove_each_other_leave_one(running: Service):
    """The check and the deletion are one transaction, serial with the other's."""
    for round_number in range(3):
        succeed(running, "PUT", "/api/v1/role/chief", [{"privilege": "admin"}])
        names = [f"chief-{round_number}-{n}" for n in range(8)]
        for name in names:
            succeed(running, "POST", f"/api/v1/user/{name}", ["chief"])

        with ThreadPoolExecutor(8) as pool:
            paths = [f"/api/v1/user/{name}" for name in names]
            statuses = Counter(answer.status_code for answer in pool.map(lambda p: running.call("DELETE", p), paths))

        assert statuses == {200: 8}
        assert running.call("GET", "/api/v1/users").status_code == 200


def test_no_secret_reaches_the_log(running: Service):
    """Attack 13: secrets, passwords and hashes of everything that the tests above did."""
    made = running.call("POST", KEYS, json={"keyName": "logged", "roles": []}).json()
    password = running.call("POST", "/api/v1/user/logged").json()
    for headers in ({"X-API-Key": made["apiKey"]}, {"X-API-Key": made["apiKey"] + "x"}):
        running.call("GET", "/api/v1/users", headers=headers)
    running.call("GET", "/api/v1/users", auth=("logged", password))
    running.call("POST", KEYS, json={"keyName": made["apiKey"]})
    running.call("POST", KEYS, json={"keyName": "logged", "roles": []})
    succeed(running, "DELETE", f"{KEYS}/{made['keyId']}")
    running.call("GET", f"{KEYS}/{made['keyId']}")

    log = running.log.read_text()

    assert made["apiKey"] not in log
    assert password not in log
    assert ADMIN[1] not in log
    assert "$argon2" not in log
