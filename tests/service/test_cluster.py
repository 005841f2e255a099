"""Statements on a cluster through the same API (api.md section 10): the same answers, or a refusal by name."""

import socket
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import NewDatabase, service_environment
from tests.running import Service, free_port, wait_until
from tests.spark_server import spark_server

STATEMENTS = (
    "SELECT level, count(*), sum(n), avg(n), max(ms), min(at), count(DISTINCT level) FROM app GROUP BY 1 ORDER BY 1",
    "SELECT date_trunc('hour', p_timestamp) AS h, count(*) FROM app WHERE message LIKE '%9%' GROUP BY 1 ORDER BY 1",
    "SELECT n, level, ms FROM app WHERE n > 10 ORDER BY ms DESC NULLS LAST, n LIMIT 7",
    "SELECT a.level, b.n FROM app a JOIN app b ON a.n = b.n AND a.level = 'rare' ORDER BY b.n",
    'SELECT sum("odd.`name") AS s FROM app',
    "SELECT count(*) FROM app WHERE level IS NULL OR NOT ok",
)


# Hours of work for Spark, which nothing but the end of the query ends.
ENDLESS = "SELECT count(*) AS n FROM app a, app b, app c WHERE a.message || b.message || c.message LIKE '%x%'"


@pytest.fixture(scope="module")
def spark_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("spark")


@pytest.fixture(scope="module")
def cluster(spark_folder: Path) -> Iterator[str]:
    with spark_server(spark_folder) as url:
        yield url


@pytest.fixture
def spark_said(cluster: str, spark_folder: Path) -> Callable[[], str]:
    """What Spark has logged since the test began."""
    log = spark_folder / "spark.log"
    before = log.stat().st_size
    return lambda: log.read_bytes()[before:].decode(errors="replace")


@pytest.fixture(scope="module")
def weir(cluster: str, new_database: NewDatabase, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """With rows in files, and later ones in segments."""
    with new_database() as url:
        environment = service_environment(url) | {"WEIR_SPARK_URL": cluster, "WEIR_FLUSH_SECONDS": "1"}
        service = Service(tmp_path_factory.mktemp("weir"), environment, workers=1).start()
        service.ingest("app", [event(number) for number in range(3000)]).raise_for_status()
        while not list(service.data_dir.glob("**/*.parquet")):
            time.sleep(0.1)
        service.ingest("app", [event(number) for number in range(3000, 3100)]).raise_for_status()
        yield service
        service.stop()


def event(number: int) -> dict[str, Any]:
    level = "rare" if number % 500 == 0 else None if number % 7 == 0 else "info"
    return {
        "n": number,
        "level": level,
        "ms": number / 7,
        "ok": number % 3 == 0,
        "at": f"2026-01-01T00:00:{number % 60:02}Z",
        "odd.`name": number,
        "tags": ["a"],
        "message": f"line {number}",
    }


def ask(service: Service, sql: str, engine: str, **arguments: Any) -> tuple[int, Any]:
    answer = service.call("POST", "/api/v1/query", json={"query": sql, "engine": engine}, **arguments)
    return answer.status_code, answer.json()


@pytest.mark.parametrize("sql", STATEMENTS)
def test_the_cluster_answers_as_this_host_does(weir: Service, sql: str) -> None:
    """Rows of files and unconverted ones, each once."""
    here, there = ask(weir, sql, "local"), ask(weir, sql, "spark")

    assert here == there
    assert (here[0], bool(here[1])) == (200, True)


def test_a_time_range_holds_there_too(weir: Service) -> None:
    (row,) = weir.query("SELECT max(p_timestamp) AS last, count(*) AS n FROM app")
    members = {"endTime": row["last"], "startTime": "2020-01-01"}
    sql = "SELECT count(*) AS n, count(DISTINCT p_timestamp) AS moments FROM app"

    here, there = (weir.query(sql, **members, engine=each) for each in ("local", "spark"))

    assert here == there
    assert here[0]["n"] < row["n"]


@pytest.mark.parametrize(
    ("sql", "named"),
    [
        ("SELECT upper(level) AS u, count(*) FROM app GROUP BY 1", "upper"),
        ("SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY ms) FROM app", "percentile_cont"),
        ("SELECT tags, count(*) FROM app GROUP BY 1", "text[]"),
        ("SELECT count(*) FROM app WHERE 10 / n > 1", "/"),
    ],
)
def test_what_it_cannot_do_exactly_is_refused_by_name(weir: Service, sql: str, named: str) -> None:
    status, body = ask(weir, sql, "spark")

    assert (status, body["code"]) == (400, "unsupported_on_cluster")
    assert named in body["message"]


def test_errors_of_rows_are_those_of_sql(weir: Service) -> None:
    status, body = ask(weir, "SELECT sum(n * 9223372036854775807) FROM app", "spark")

    assert (status, body["sqlstate"]) == (400, "22003")


def test_explain_says_which_engine_and_why(weir: Service) -> None:
    lines = [row["QUERY PLAN"] for row in weir.query("EXPLAIN SELECT level FROM app GROUP BY 1", engine="spark")]
    unasked = [row["QUERY PLAN"] for row in weir.query("EXPLAIN SELECT level FROM app GROUP BY 1")]

    assert lines[0] == "Engine: spark, which the request asks for"
    assert unasked[0].startswith("Engine: local, ")


def test_a_narrowed_reader_is_answered_here_without_hidden_rows(weir: Service) -> None:
    """Spark might compute their condition first, and its errors would tell of rows that are not theirs."""
    weir.ingest("tagged", [{"n": 1, "team": "a"}, {"n": 0, "team": "b"}]).raise_for_status()
    secret = weir.make_key("narrowed", {"privilege": "reader", "resource": {"dataset": "tagged", "tag": "team=a"}})
    headers = {"X-API-Key": secret}

    whole = ask(weir, "SELECT n FROM tagged ORDER BY n", "local")[1]
    found = ask(weir, "SELECT 1 / n AS q FROM tagged", "spark", headers=headers)
    plan = ask(weir, "EXPLAIN SELECT n FROM tagged", "spark", headers=headers)[1]

    assert whole == [{"n": 0}, {"n": 1}]
    assert found == (200, [{"q": 1}])
    assert plan[0]["QUERY PLAN"].startswith("Engine: local, ")


def test_large_questions_go_there_by_themselves(cluster: str, new_database: NewDatabase, tmp_path: Path) -> None:
    with new_database() as url:
        environment = service_environment(url) | {"WEIR_SPARK_URL": cluster, "WEIR_SPARK_BYTES": "0"}
        service = Service(tmp_path, environment, workers=1).start()
        service.ingest("app", [event(number) for number in range(10)]).raise_for_status()

        plan = service.query("EXPLAIN SELECT count(*) FROM app")

        assert plan[0]["QUERY PLAN"].startswith("Engine: spark, ")
        assert service.query("SELECT count(*) AS n FROM app") == [{"n": 10}]
        assert ask(service, "SELECT upper(level) FROM app WHERE n > 1 GROUP BY 1", "local")[0] == 200
        service.stop()


def test_a_dead_cluster_is_an_error_at_once_and_hurts_nobody_else(new_database: NewDatabase, tmp_path: Path) -> None:
    pytest.importorskip("pyspark.sql.connect.proto", reason="pyspark-client is not installed")
    with new_database() as url:
        environment = service_environment(url) | {"WEIR_SPARK_URL": f"sc://127.0.0.1:{free_port()}"}
        service = Service(tmp_path, environment, workers=1).start()
        service.ingest("app", [event(1)]).raise_for_status()

        status, body = ask(service, "SELECT count(*) AS n FROM app", "spark")

        assert (status, body["code"]) == (503, "cluster_unavailable")
        assert ask(service, "SELECT count(*) AS n FROM app", "local") == (200, [{"n": 1}])
        service.stop()


def require_free_cluster(service: Service) -> None:
    """The cluster has one place for a task: who is answered knows that nobody else is at work there."""
    assert ask(service, "SELECT count(*) > 0 AS is_free FROM app", "spark") == (200, [{"is_free": True}])


class SteadyWork:
    """Whether Spark has been at the same task for some seconds.

    Between two stages Spark may start the next one for a plan that was ended meanwhile, and nothing ends that.
    """

    SECONDS = 4.0

    def __init__(self, said: Callable[[], str]) -> None:
        self._said = said
        self._tasks = (0, 0)
        self._since = time.monotonic()

    def __call__(self) -> bool:
        said = self._said()
        tasks = said.count("TaskSetManager: Starting task"), said.count("TaskSetManager: Finished task")
        if tasks != self._tasks:
            self._tasks, self._since = tasks, time.monotonic()
        return tasks[0] > tasks[1] and time.monotonic() - self._since > self.SECONDS


@contextmanager
def asked(service: Service, said: Callable[[], str]) -> Iterator[Future[tuple[int, Any]]]:
    """The endless question, at whose longest task Spark works."""
    works = SteadyWork(said)
    with ThreadPoolExecutor(1) as pool:
        answer = pool.submit(ask, service, ENDLESS, "spark")
        wait_until(lambda: answer.done() or works(), 120)
        assert not answer.done(), answer.result()
        yield answer


def test_a_query_that_is_cancelled_ends_on_the_cluster_too(weir: Service, spark_said: Callable[[], str]) -> None:
    with asked(weir, spark_said) as answer:
        (running,) = weir.call("GET", "/api/v1/queries").json()
        weir.call("DELETE", f"/api/v1/queries/{running['id']}").raise_for_status()

        assert answer.result(60)[1]["code"] == "query_cancelled"
        require_free_cluster(weir)


def test_a_query_past_its_deadline_ends_on_the_cluster_too(
    cluster: str, new_database: NewDatabase, tmp_path: Path
) -> None:
    with new_database() as url:
        environment = service_environment(url) | {"WEIR_SPARK_URL": cluster, "WEIR_QUERY_TIMEOUT_SECONDS": "25"}
        service = Service(tmp_path, environment, workers=1).start()
        service.ingest("app", [event(number) for number in range(3000)]).raise_for_status()

        status, body = ask(service, ENDLESS, "spark")

        assert (status, body["code"]) == (504, "query_timeout")
        require_free_cluster(service)
        service.stop()


class Relay:
    """A way to the cluster that can be cut, as a server that dies cuts it."""

    def __init__(self, url: str) -> None:
        host, _, port = url.removeprefix("sc://").partition(":")
        self._target = (host, int(port))
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._open: list[socket.socket] = [self._listener]
        self.url = f"sc://127.0.0.1:{self._listener.getsockname()[1]}"
        threading.Thread(target=self._accept, daemon=True).start()

    def cut(self) -> None:
        for each in self._open:
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
            each.close()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                near, far = self._listener.accept()[0], socket.create_connection(self._target)
                self._open += [near, far]
                for source, target in ((near, far), (far, near)):
                    threading.Thread(target=_pass_on, args=(source, target), daemon=True).start()


def _pass_on(source: socket.socket, target: socket.socket) -> None:
    with suppress(OSError):
        while data := source.recv(65536):
            target.sendall(data)
        target.shutdown(socket.SHUT_WR)


def test_a_cluster_that_dies_in_the_middle_of_a_query_is_an_error_at_once(
    cluster: str, new_database: NewDatabase, tmp_path: Path, spark_said: Callable[[], str]
) -> None:
    """Nobody tries again for the 300 seconds that a query has."""
    relay = Relay(cluster)
    with new_database() as url:
        service = Service(tmp_path, service_environment(url) | {"WEIR_SPARK_URL": relay.url}, workers=1).start()
        service.ingest("app", [event(number) for number in range(3000)]).raise_for_status()

        with asked(service, spark_said) as answer:
            relay.cut()
            status, body = answer.result(120)

        assert (status, body["code"]) == (503, "cluster_unavailable")
        assert ask(service, "SELECT count(*) AS n FROM app", "local") == (200, [{"n": 3000}])
        service.stop()


def test_without_a_cluster_nobody_can_ask_for_it(service: Service) -> None:
    service.ingest("lonely", [{"n": 1}]).raise_for_status()

    status, body = ask(service, "SELECT n FROM lonely", "spark")

    assert (status, body["code"]) == (400, "unsupported_on_cluster")
    assert ask(service, "SELECT n FROM lonely", "cluster")[0] == 400
    assert ask(service, "SELECT n FROM lonely", "local") == (200, [{"n": 1}])
