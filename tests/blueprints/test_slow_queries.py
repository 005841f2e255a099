"""GET /api/v1/queries/slow: what took long and has ended, on all workers of the host, to who may see it."""

import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from tests.conftest import NewDatabase, service_environment
from tests.running import Service

pytestmark = pytest.mark.service

COUNT = "SELECT count(*) AS count FROM web"
# Minutes on any machine.
ENDLESS = "SELECT count(*) AS count FROM generate_series(1, 100000) a, generate_series(1, 100000) b WHERE a.a * b.b = 7"
PATIENCE_SECONDS = 60


@pytest.fixture(scope="module")
def web(new_database: NewDatabase, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """A service of two workers for which every query is slow, with fifty events in `web`."""
    with new_database() as url:
        environment = service_environment(url) | {"WEIR_SLOW_QUERY_SECONDS": "0.000001"}
        running = Service(tmp_path_factory.mktemp("slow"), environment, workers=2).start()
        running.ingest("web", [{"n": n, "team": "a" if n else "b"} for n in range(50)]).raise_for_status()
        yield running
        running.stop()


def slow(service: Service, marked: str, headers: dict[str, str] | None = None) -> list[dict[str, Any]]:
    found = service.call("GET", "/api/v1/queries/slow", headers=headers or {})
    assert found.status_code == 200, found.text
    return [each for each in found.json() if marked in each["query"]]


def wait_for(found: Callable[[], list[dict[str, Any]]]) -> dict[str, Any]:
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not (listed := found()):
        assert time.monotonic() < deadline
        time.sleep(0.05)
    return listed[0]


def ask(service: Service, sql: str, key: str) -> None:
    answer = service.call("POST", "/api/v1/query", json={"query": sql}, headers={"X-API-Key": key})
    answer.raise_for_status()


def test_ended_query_is_told_with_its_work_by_every_worker(web: Service) -> None:
    web.query(f"{COUNT} -- told")

    told = [slow(web, "told") for _ in range(8)]

    (entry,) = told[0]
    assert told == [[entry]] * 8
    assert (entry["query"], entry["identity"], entry["status"]) == (f"{COUNT} -- told", "native:admin", "done")
    assert (entry["datasets"], entry["rows"]) == (["web"], 1)
    assert entry["filesScanned"] >= 1
    assert entry["bytesScanned"] > 0
    assert entry["durationMs"] >= entry["waitedMs"] >= 0
    assert entry["startedAt"] < entry["endedAt"]


def test_only_its_owner_and_administrators_see_it(web: Service) -> None:
    owner = web.make_key("slow-owner", {"privilege": "reader"})
    other = web.make_key("slow-other", {"privilege": "reader"})
    ask(web, f"{COUNT} -- owned", owner)

    seen = [len(slow(web, "owned", {"X-API-Key": key})) for key in (owner, other)]

    assert [*seen, len(slow(web, "owned"))] == [1, 0, 1]


def test_narrowed_reader_learns_no_sizes(web: Service) -> None:
    """They would tell of rows that are not the reader's."""
    entry = {"privilege": "reader", "resource": {"dataset": "web", "tag": "team=b"}}
    narrowed = web.make_key("slow-narrowed", entry)
    ask(web, f"{COUNT} -- narrowed", narrowed)

    (told,) = slow(web, "narrowed", {"X-API-Key": narrowed})

    assert (told["filesScanned"], told["bytesScanned"], told["rows"]) == (None, None, 1)


def test_refused_query_has_its_error_and_no_dataset(web: Service) -> None:
    narrow = web.make_key("slow-elsewhere", {"privilege": "reader", "resource": {"dataset": "elsewhere"}})
    headers = {"X-API-Key": narrow}
    web.call("POST", "/api/v1/query", json={"query": f"{COUNT} -- refused"}, headers=headers)

    (told,) = slow(web, "refused", headers)

    assert (told["status"], told["datasets"], told["rows"]) == ("forbidden", [], None)


def test_cancelled_query_says_so(web: Service) -> None:
    with ThreadPoolExecutor() as threads:
        asking = threads.submit(web.call, "POST", "/api/v1/query", json={"query": f"{ENDLESS} -- cancelled"})
        running = wait_for(
            lambda: [each for each in web.call("GET", "/api/v1/queries").json() if "b.b" in each["query"]]
        )
        web.call("DELETE", f"/api/v1/queries/{running['id']}").raise_for_status()
        asking.result()

    (told,) = slow(web, "-- cancelled")

    assert (told["id"], told["status"]) == (running["id"], "query_cancelled")


def test_result_that_was_not_read_to_its_end_is_cancelled(web: Service) -> None:
    sql = "SELECT a.a AS left_alone, b.b FROM generate_series(1, 3000) a, generate_series(1, 3000) b"
    answer = web.call("POST", "/api/v1/query", json={"query": sql}, stream=True)
    next(answer.iter_content(1))
    answer.close()

    assert wait_for(lambda: slow(web, "left_alone"))["status"] == "query_cancelled"


def test_expression_is_told_with_its_dataset(web: Service) -> None:
    kind = {"X-P-Telemetry-Type": "metrics"}
    web.ingest("slow-metrics", [{"metric_name": "up", "value": 1}], **kind).raise_for_status()
    web.call("GET", "/prometheus/slow-metrics/api/v1/query?query=up").raise_for_status()

    (told,) = slow(web, "up")

    assert (told["datasets"], told["status"]) == (["slow-metrics"], "done")


def test_tenant_does_not_see_what_a_former_one_of_its_name_asked(start_service: Callable[..., Service]) -> None:
    service = start_service(WEIR_MULTI_TENANT="true", WEIR_SLOW_QUERY_SECONDS="0.000001")
    root, seen = {"X-P-Tenant": "default"}, []
    for _ in range(2):
        made = service.call("PUT", "/api/v1/tenants/shop", json={"admin": "shopkeeper"}, headers=root).json()
        credentials = made["admin"]["username"], made["admin"]["password"]
        tenant = {"auth": credentials, "headers": {"X-P-Tenant": "shop"}}
        seen.append(len(service.call("GET", "/api/v1/queries/slow", **tenant).json()))
        service.call("POST", "/api/v1/query", json={"query": "SELECT 1 AS one"}, **tenant).raise_for_status()
        seen.append(len(service.call("GET", "/api/v1/queries/slow", **tenant).json()))
        service.call("DELETE", "/api/v1/tenants/shop?purge=true", headers=root).raise_for_status()

    assert seen == [0, 1, 0, 1]
