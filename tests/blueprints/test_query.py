"""Queries over HTTP: spec 4.3, api.md section 5, reference of what clients send."""

import base64
import csv
import io
import json
import socket
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

import cramjam
import polars as pl
import pyarrow as pa
import pytest
import requests

from tests.conftest import NewDatabase, service_environment
from tests.running import ADMIN, Service

COUNT = "SELECT count(*) AS count FROM web"
# A thousand rounds, each over six million rows: minutes on any machine, and in little memory.
ENDLESS = (
    "WITH RECURSIVE r (n) AS (SELECT 1 UNION ALL SELECT r.n + 1 FROM r WHERE NOT EXISTS"
    " (SELECT 1 FROM web a, web b, web c, web d WHERE a.n + b.n + c.n + d.n = -r.n)) SELECT count(*) AS count FROM r"
)


@pytest.fixture(scope="session")
def web(service: Service) -> Service:
    """The shared service, with fifty events in the dataset `web`. Once, also if other modules are run in between."""
    events = [{"n": n, "level": "error" if n % 5 == 0 else "info", "path": f"/{n}"} for n in range(50)]
    service.ingest("web", events).raise_for_status()
    service.ingest("hidden", {"secret": 1}).raise_for_status()
    return service


@pytest.fixture(scope="module")
def tight(new_database: NewDatabase, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """A service of one worker with small limits and the stricter range mode, and fifty events in `web`."""
    limits = {
        # Long enough for the queries that are to succeed, on any machine.
        "WEIR_QUERY_TIMEOUT_SECONDS": "5",
        "WEIR_QUERY_CONCURRENCY": "1",
        "WEIR_QUERY_QUEUE": "1",
        "WEIR_QUERY_TIME_RANGE": "required",
    }
    with new_database() as url:
        environment = service_environment(url) | limits
        running = Service(tmp_path_factory.mktemp("tight"), environment, workers=1).start()
        running.ingest("web", [{"n": n} for n in range(50)]).raise_for_status()
        yield running
        running.stop()


@pytest.fixture(scope="module")
def reader(web: Service) -> dict[str, str]:
    """The headers of a key that may read `web` and nothing else."""
    return {"X-API-Key": web.make_key("web-reader", {"privilege": "reader", "resource": {"dataset": "web"}})}


def post(
    service: Service, body: Any = None, *, headers: dict[str, str] | None = None, url: str = "", **members: Any
) -> requests.Response:
    sent = {"query": COUNT, **members} if body is None else body
    return service.call("POST", f"/api/v1/query{url}", json=sent, headers=headers or {})


def test_a_query_over_a_range_without_a_stream_name(web: Service) -> None:
    """Spec 4.3, the variant that takes the dataset from the SQL."""
    answer = post(web, startTime="1h", endTime="now")

    assert (answer.status_code, answer.content) == (200, b'[{"count":50}]')
    assert answer.headers["Content-Type"] == "application/json"


def test_explain_tells_the_plan_and_reads_nothing(web: Service) -> None:
    answer = post(web, query="EXPLAIN SELECT level, count(*) FROM web WHERE n > 40 AND path ~ '^/4' GROUP BY level")
    lines = [row["QUERY PLAN"] for row in answer.json()]

    assert answer.status_code == 200
    assert lines[0].startswith("Dataset web: ")
    assert lines[0].split(", chosen by")[0].endswith(" bytes")
    assert any(line.startswith("Step 1: compiled: predicate") for line in lines)
    assert any(line.startswith("Step 2: SQLContext: SELECT ") for line in lines)
    assert lines[-1] == "Answer: level text, count int8"


def test_explain_of_an_impossible_statement_is_its_error(web: Service) -> None:
    answer = post(web, query="EXPLAIN SELECT nothing FROM web")

    assert (answer.status_code, answer.json()["sqlstate"]) == (400, "42703")


def test_a_query_with_a_stream_name_and_no_range(web: Service) -> None:
    """Spec 4.3, the variant that names the dataset."""
    assert post(web, streamName="web").json() == [{"count": 50}]


def test_answers_carry_what_they_cost(web: Service) -> None:
    answer = post(web, query="SELECT sum(n) AS n FROM web", headers={"X-Request-Id": "from-the-client"})

    assert answer.headers["X-Request-Id"] == "from-the-client"
    assert float(answer.headers["X-Weir-Elapsed-Ms"]) > 0
    assert int(answer.headers["X-Weir-Files-Scanned"]) >= 1
    assert int(answer.headers["X-Weir-Bytes-Scanned"]) > 0
    assert int(answer.headers["Content-Length"]) == len(answer.content)


def test_the_range_is_half_open_to_the_microsecond(web: Service) -> None:
    web.ingest("edge", {"a": 1}).raise_for_status()
    written = web.query("SELECT p_timestamp FROM edge")[0]["p_timestamp"]
    moment = datetime.fromisoformat(written)

    def counted(start: datetime, end: datetime) -> int:
        sides = {"startTime": start.isoformat(), "endTime": end.isoformat()}
        return int(web.query("SELECT count(*) AS count FROM edge", **sides)[0]["count"])

    tick = timedelta(microseconds=1)
    assert written.endswith("Z")
    assert [counted(moment, moment + tick), counted(moment - tick, moment), counted(moment, moment)] == [1, 0, 0]


def test_an_event_is_visible_to_the_next_query(web: Service) -> None:
    """api.md section 4; over many connections, so that any worker answers."""
    for number in range(1, 11):
        web.ingest("fresh", {"n": number}).raise_for_status()
        assert web.query("SELECT count(*) AS count FROM fresh", startTime="1h", endTime="now") == [{"count": number}]


@pytest.mark.parametrize(
    ("sides", "count"),
    [
        ({"startTime": "10m", "endTime": "now"}, 50),
        ({"startTime": "1h 30m", "endTime": "now"}, 50),
        ({"startTime": "now-1h", "endTime": "now"}, 50),
        ({"startTime": "2 days"}, 50),
        ({"endTime": "now-1h"}, 0),
        ({"startTime": "2020-01-01T00:00:00.000Z", "endTime": "2020-02-01T00:00:00.000Z"}, 0),
        ({"startTime": 0, "endTime": 4102444800000}, 50),
        ({"startTime": "0", "endTime": "4102444800000"}, 50),
        ({"startTime": "2020-01-01T00:00:00.123456789+05:30", "endTime": "2099-01-01 00:00:00"}, 50),
        ({"startTime": None, "endTime": None}, 50),
    ],
    ids=str,
)
def test_the_forms_of_clients_select_what_they_say(web: Service, sides: dict[str, Any], count: int) -> None:
    assert web.query(COUNT, **sides) == [{"count": count}]


@pytest.mark.parametrize(
    ("members", "code", "field"),
    [
        ({"startTime": "yesterday"}, "invalid_time_range", "startTime"),
        ({"endTime": "2026-02-30"}, "invalid_time_range", "endTime"),
        ({"startTime": "now", "endTime": "1h"}, "invalid_time_range", "startTime"),
        ({"startTime": ["1h"]}, "invalid_request", "startTime"),
        ({"startTime": True}, "invalid_request", "startTime"),
        ({"query": 7}, "invalid_request", "query"),
        ({"query": None}, "invalid_request", "query"),
        ({"parameters": [{}]}, "invalid_request", "parameters.0"),
        ({"streamName": "edge"}, "invalid_request", "streamName"),
        ({"timeZone": "Mars/Olympus"}, "invalid_request", "timeZone"),
        ({"timeZone": "CET"}, "invalid_request", "timeZone"),
        ({"timeZone": 2}, "invalid_request", "timeZone"),
    ],
    ids=str,
)
def test_bad_members_are_named(web: Service, members: dict[str, Any], code: str, field: str) -> None:
    web.ingest("edge", {"a": 1}).raise_for_status()

    answer = post(web, **members)

    assert answer.status_code == 400
    assert answer.json()["code"] == code
    assert answer.json()["field"] == field


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b'"SELECT 1"', b"\xff"], ids=repr)
def test_a_body_that_is_no_query_is_refused(web: Service, body: bytes) -> None:
    answer = web.call("POST", "/api/v1/query", data=body, headers={"Content-Type": "application/json"})

    assert answer.status_code == 400
    assert set(answer.json()) >= {"code", "message", "requestId"}


def test_the_sql_of_an_error_is_the_clients_fault(web: Service) -> None:
    answer = post(web, query="SELEC count(*) FROM web")

    assert (answer.status_code, answer.json()["code"]) == (400, "invalid_sql")
    assert isinstance(answer.json()["message"], str)


def test_parameters_are_values_and_never_text(web: Service) -> None:
    sql = "SELECT count(*) AS count FROM web WHERE level = $1 AND n < $2"

    assert web.query(sql, parameters=["error", 10]) == [{"count": 2}]
    assert web.query(sql, parameters=["' OR 1 = 1 --", 10]) == [{"count": 0}]
    assert post(web, query=sql, parameters=["error"]).status_code == 400


@pytest.mark.parametrize(
    ("zone", "day", "text"),
    [
        (None, "2026-06-30", "2026-06-30 22:30:00+00"),
        ("Europe/Berlin", "2026-07-01", "2026-07-01 00:30:00+02"),
        ("asia/kolkata", "2026-07-01", "2026-07-01 04:00:00+05:30"),
        ("-03:00", "2026-06-30", "2026-06-30 19:30:00-03"),
        ("UTC", "2026-06-30", "2026-06-30 22:30:00+00"),
    ],
)
def test_a_statement_is_in_the_time_zone_of_the_request(web: Service, zone: str | None, day: str, text: str) -> None:
    """As after PostgreSQL's SET timezone; instants in the answer stay in UTC. Equal statements differ by their zone."""
    sql = "SELECT x, x::date::text AS day, x::text AS text FROM (VALUES (TIMESTAMPTZ '2026-06-30 22:30Z')) AS t (x)"

    assert web.query(sql, timeZone=zone) == [{"x": "2026-06-30T22:30:00Z", "day": day, "text": text}]


def test_days_of_a_time_zone(web: Service) -> None:
    days = "SELECT date_trunc('day', p_timestamp) AS day, count(*) AS count FROM web GROUP BY 1"

    found = web.query(days, timeZone="Asia/Kolkata")

    assert sum(row["count"] for row in found) == 50
    assert all(row["day"].endswith("T18:30:00Z") for row in found)


def test_member_in_another_spelling_counts(web: Service) -> None:
    """api.md section 1: names are matched without regard to case and `_`."""
    answered = post(web, **{"Query": COUNT, "start_time": "2000-01-01", "END_TIME": "2000-01-02"})

    assert (answered.status_code, answered.json()) == (200, [{"count": 0}])
    assert "X-Weir-Ignored" not in answered.headers
    assert answered.headers["X-Weir-Outside-Range"] == "web"


def test_unknown_members_are_named_in_a_header(web: Service) -> None:
    """api.md section 1: a mistyped member must never change a number in silence."""
    answered = post(web, **{"query": COUNT, "startTme": "1h", "bad\r\nname": 1})

    assert (answered.status_code, answered.json()) == (200, [{"count": 50}])
    assert "X-Weir-Outside-Range" not in answered.headers
    assert answered.headers["X-Weir-Ignored"] == "bad??name, startTme"


def test_members_we_do_not_know_are_ignored(web: Service) -> None:
    assert web.query(COUNT, filterTags=["x"], somethingNew={"a": 1}) == [{"count": 50}]


def test_without_from_a_stream_name_changes_nothing(web: Service) -> None:
    assert web.query("SELECT 1 AS one", streamName="web") == [{"one": 1}]


def test_the_strict_mode_wants_a_range_or_a_stream_name(tight: Service) -> None:
    """Spec 4.3: both sides are required in the variant that omits streamName."""
    missing = post(tight, endTime="now")

    assert (missing.status_code, missing.json()["field"]) == (400, "startTime")
    assert post(tight, startTime="1h", endTime="now").json() == [{"count": 50}]
    assert post(tight, streamName="web").json() == [{"count": 50}]


ROWS = "SELECT n, level FROM web WHERE n < 2 ORDER BY n"


def test_the_fields_form(web: Service) -> None:
    records = [{"n": 0, "level": "error"}, {"n": 1, "level": "info"}]

    assert post(web, query=ROWS, url="?fields=true").json() == {"fields": ["n", "level"], "records": records}
    assert post(web, query=ROWS, fields=True).json() == {"fields": ["n", "level"], "records": records}
    assert post(web, query=ROWS, url="?fields=false").json() == records


@pytest.mark.parametrize(
    ("url", "members"), [("", {"sendNull": False}), ("", {"send_null": False}), ("?sendNull=false", {})]
)
def test_nulls_are_dropped_on_request(web: Service, url: str, members: dict[str, Any]) -> None:
    query = "SELECT a, b FROM (VALUES (1, NULL), (NULL, 2)) AS v (a, b)"

    assert post(web, query=query, url=url, **members).json() == [{"a": 1}, {"b": 2}]
    assert post(web, query=query, send_null=True).json() == [{"a": 1, "b": None}, {"a": None, "b": 2}]


def test_ndjson(web: Service) -> None:
    answer = post(web, query=ROWS, headers={"Accept": "application/x-ndjson"})

    assert answer.headers["Content-Type"] == "application/x-ndjson"
    assert answer.text == '{"n":0,"level":"error"}\n{"n":1,"level":"info"}\n'


def test_csv(web: Service) -> None:
    answer = post(web, query=ROWS, headers={"Accept": "text/csv"})

    assert answer.headers["Content-Type"] == "text/csv; charset=utf-8; header=present"
    assert list(csv.reader(io.StringIO(answer.text))) == [["n", "level"], ["0", "error"], ["1", "info"]]


def test_csv_without_formulas(web: Service) -> None:
    web.ingest("evil", {"cell": "=HYPERLINK(1)"}).raise_for_status()

    answer = post(web, query="SELECT cell FROM evil", escapeFormulas=True, headers={"Accept": "text/csv"})

    assert answer.text == "cell\n'=HYPERLINK(1)\n"


def test_arrow(web: Service) -> None:
    answer = post(web, query=ROWS, headers={"Accept": "application/vnd.apache.arrow.stream"})

    table = pa.ipc.open_stream(answer.content).read_all()
    assert table.to_pylist() == [{"n": 0, "level": "error"}, {"n": 1, "level": "info"}]


def test_nan_as_numeric_in_each_format(web: Service) -> None:
    """Null in JSON (api.md section 5), its name in CSV; a column of decimals has no NaN."""
    sql = "SELECT x::numeric AS x FROM (VALUES ('NaN'::float8), ('-inf'), (1.25)) AS t (x)"
    csv, arrow = ({"Accept": media} for media in ("text/csv", "application/vnd.apache.arrow.stream"))

    assert post(web, query=sql).json() == [{"x": None}, {"x": None}, {"x": 1.25}]
    assert post(web, query=sql, headers=csv).text.splitlines()[1:3] == ["NaN", "-Infinity"]
    refused = post(web, query=sql, headers=arrow)
    assert refused.status_code == 400
    assert refused.json()["code"] == "unsupported_sql"
    finite = post(web, query=f"{sql} WHERE x = 1.25", headers=arrow)
    assert pa.ipc.open_stream(finite.content).read_all().column("x").to_pylist() == [Decimal("1.25")]


def test_parquet(web: Service) -> None:
    answer = post(web, query=ROWS, headers={"Accept": "application/vnd.apache.parquet", "Accept-Encoding": "gzip"})

    assert pl.read_parquet(io.BytesIO(answer.content)).rows() == [(0, "error"), (1, "info")]
    assert "Content-Encoding" not in answer.headers


@pytest.mark.parametrize("accept", ["*/*", "application/json;q=0.9,text/plain", "text/html,*/*;q=0.8", "image/png", ""])
def test_json_is_what_everybody_else_gets(web: Service, accept: str) -> None:
    assert post(web, headers={"Accept": accept}).json() == [{"count": 50}]


@pytest.mark.parametrize(
    ("accepted", "coding"),
    [
        ("gzip", "gzip"),
        ("gzip, deflate", "gzip"),
        ("zstd", "zstd"),
        ("gzip, deflate, br, zstd", "zstd"),
        ("gzip;q=1, zstd;q=0.1", "gzip"),
        ("gzip;q=0", None),
        ("identity", None),
    ],
)
def test_results_are_compressed_as_the_client_likes(web: Service, accepted: str, coding: str | None) -> None:
    sent, headers = {"query": "SELECT n, path FROM web"}, {"Accept-Encoding": accepted}
    with web.call("POST", "/api/v1/query", json=sent, headers=headers, stream=True) as answer:
        raw = answer.raw.read(decode_content=False)

    decoders: dict[str | None, Callable[[bytes], Any]] = {
        "gzip": cramjam.gzip.decompress,
        "zstd": cramjam.zstd.decompress,
        None: bytes,
    }
    assert answer.headers.get("Content-Encoding") == coding
    assert len(json.loads(bytes(decoders[coding](raw)))) == 50
    assert "Accept-Encoding" in answer.headers["Vary"]


def test_tiny_results_are_not_compressed(web: Service) -> None:
    answer = post(web, headers={"Accept-Encoding": "gzip, zstd"})

    assert "Content-Encoding" not in answer.headers


def test_a_missing_dataset_is_404_to_who_could_read_it(web: Service) -> None:
    answer = post(web, query="SELECT 1 FROM nowhere")

    assert (answer.status_code, answer.json()["code"]) == (404, "dataset_not_found")


def test_a_hidden_dataset_and_a_missing_one_are_refused_alike(web: Service, reader: dict[str, str]) -> None:
    """attacks.md 1; api.md section 5: 403 whether or not the dataset exists."""

    answers = [
        post(web, query=f"SELECT count(*) FROM {name}", headers=reader | {"X-Request-Id": "same"})
        for name in ("hidden", "absent")
    ]

    assert [answer.status_code for answer in answers] == [403, 403]
    assert answers[0].text.replace("hidden", "absent") == answers[1].text


@pytest.mark.parametrize(
    "sql",
    [
        "WITH w AS (SELECT * FROM hidden) SELECT count(*) FROM w",
        "SELECT (SELECT count(*) FROM hidden) FROM web",
        "SELECT n FROM web WHERE n IN (SELECT secret FROM hidden)",
        "SELECT n FROM web WHERE EXISTS (SELECT 1 FROM hidden)",
        "SELECT n FROM web UNION ALL SELECT secret FROM hidden",
        "SELECT n FROM web JOIN hidden ON n = secret",
        "SELECT n FROM web ORDER BY (SELECT max(secret) FROM hidden)",
        "SELECT level FROM web GROUP BY level HAVING count(*) > (SELECT min(secret) FROM hidden)",
        "SELECT web.n FROM hidden AS web",
        "WITH web AS (SELECT secret AS n FROM hidden) SELECT n FROM web",
    ],
)
def test_every_dataset_in_the_tree_is_authorized(web: Service, reader: dict[str, str], sql: str) -> None:
    """attacks.md 1 and 2."""

    answer = post(web, query=sql, headers=reader)

    assert (answer.status_code, answer.json()["dataset"]) == (403, "hidden")


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT * FROM read_parquet('/etc/passwd')",
        "SELECT * FROM read_csv('/etc/passwd')",
        "SELECT pg_read_file('/etc/passwd')",
        "SELECT * FROM dblink('host=evil', 'SELECT 1')",
        "SELECT * FROM '/etc/passwd'",
        "SELECT 1; SELECT 2",
        "SELECT 1; DROP TABLE web",
        "EXPLAIN ANALYZE DELETE FROM web",
        "SELECT * INTO copy FROM web",
        "CREATE TABLE copy AS SELECT * FROM web",
        "WITH gone AS (DELETE FROM web RETURNING *) SELECT * FROM gone",
        "COPY web TO PROGRAM 'id'",
        "ATTACH 'x.db' AS x",
        "SET ROLE admin",
        "DO $$ BEGIN END $$",
        "SELECT * FROM web FOR UPDATE",
        "SELECT * FROM information_schema.schemata",
        "SELECT * FROM pg_catalog.pg_class",
        "SELECT * FROM pg_class",
        "SELECT * FROM public.hidden",
        'SELECT * FROM "hidden"',
        "SELECT * FROM HIDDEN",
        "SELECT * FROM hіdden",
        "SELECT * FROM web AS w, LATERAL (SELECT * FROM hidden) AS h",
        "SELECT * FROM (VALUES (1)) AS v (a) JOIN hidden ON true",
        "EXPLAIN SELECT * FROM hidden",
    ],
)
def test_what_is_no_query_of_permitted_datasets_is_refused(web: Service, reader: dict[str, str], sql: str) -> None:
    """attacks.md 1 to 4 and 8."""
    answer = post(web, query=sql, headers=reader)

    assert answer.status_code in (400, 403), answer.text
    assert "root:" not in answer.text


def test_a_stream_name_does_not_authorize_another_dataset(web: Service, reader: dict[str, str]) -> None:
    """attacks.md 7."""

    assert post(web, query="SELECT secret FROM hidden", streamName="web", headers=reader).status_code == 403
    assert post(web, streamName="hidden", headers=reader).status_code == 403
    assert post(web, query="SELECT 1", streamName="hidden", headers=reader).status_code == 403


def test_an_ingestion_key_cannot_query(web: Service) -> None:
    """Spec 5.8."""
    key = web.make_key("web-ingestor", {"privilege": "ingestor"})

    assert post(web, headers={"X-API-Key": key}).status_code == 403
    assert post(web, query="SELECT 1", headers={"X-API-Key": key}).status_code == 403


def wait_until(condition: Callable[[], Any]) -> None:
    deadline = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def queries(service: Service, headers: dict[str, str] | None = None) -> list[dict[str, Any]]:
    found = service.call("GET", "/api/v1/queries", headers=headers or {}).json()
    return [each for each in found if each["query"] == ENDLESS]


def test_a_running_query_is_listed_and_cancelled_by_its_owner_or_an_administrator(web: Service) -> None:
    owner = {"X-API-Key": web.make_key("owner", {"privilege": "reader"})}
    other = {"X-API-Key": web.make_key("other", {"privilege": "reader"})}

    with ThreadPoolExecutor() as threads:
        for ender in (owner, None):
            running = threads.submit(post, web, query=ENDLESS, headers=owner)
            wait_until(lambda: queries(web, owner))
            (listed,) = queries(web)
            assert set(listed) == {"id", "identity", "query", "startedAt"}
            assert queries(web, other) == []
            assert web.call("DELETE", f"/api/v1/queries/{listed['id']}", headers=other).status_code == 404
            assert web.call("DELETE", f"/api/v1/queries/{listed['id']}", headers=ender or {}).status_code == 200
            assert (running.result().status_code, running.result().json()["code"]) == (422, "query_cancelled")
            assert queries(web) == []


@pytest.mark.parametrize("query_id", ["nothing", "..%2f..%2fx", "%00", "a" * 300])
def test_ending_no_query_is_404(web: Service, query_id: str) -> None:
    assert web.call("DELETE", f"/api/v1/queries/{query_id}").status_code in (400, 404)


def test_a_client_that_leaves_ends_its_query(web: Service) -> None:
    with socket.create_connection(("127.0.0.1", web.port)) as client:
        body = json.dumps({"query": ENDLESS}).encode()
        head = f"POST /api/v1/query HTTP/1.1\r\nHost: weir\r\nContent-Length: {len(body)}\r\n"
        credentials = base64.b64encode(":".join(ADMIN).encode()).decode()
        client.sendall(f"{head}Authorization: Basic {credentials}\r\n\r\n".encode() + body)
        wait_until(lambda: queries(web))

    wait_until(lambda: not queries(web))


def test_a_query_out_of_time_is_504_and_the_service_goes_on(tight: Service) -> None:
    answer = post(tight, query=ENDLESS, streamName="web")

    assert (answer.status_code, answer.json()["code"]) == (504, "query_timeout")
    assert post(tight, streamName="web").json() == [{"count": 50}]


def test_beyond_the_queue_queries_are_503_with_retry_after(tight: Service) -> None:
    with ThreadPoolExecutor() as threads:
        taken = [threads.submit(post, tight, query=ENDLESS, streamName="web") for _ in range(2)]
        wait_until(lambda: len(queries(tight)) == 2)
        refused = [post(tight, query=ENDLESS, streamName="web") for _ in range(2)]

    assert [answer.json()["code"] for answer in refused] == ["overloaded"] * 2
    assert all(int(answer.headers["Retry-After"]) > 0 for answer in refused)
    assert [each.result().json()["code"] for each in taken] == ["query_timeout"] * 2


def test_a_big_result_streams_and_joins_to_one_document(web: Service) -> None:
    query = "SELECT a.n AS a, b.n AS b, c.n AS c, a.path FROM web a CROSS JOIN web b CROSS JOIN web c"

    answer = post(web, query=query, headers={"Accept-Encoding": "identity"})

    assert answer.headers["Transfer-Encoding"] == "chunked"
    assert len(json.loads(answer.content)) == 125_000


def test_a_reader_that_stops_half_way_frees_the_slot(web: Service) -> None:
    query = (
        "SELECT a.n AS a, b.n AS b, c.n AS c, d.n AS d FROM web a CROSS JOIN web b CROSS JOIN web c CROSS JOIN web d"
    )

    for _ in range(4):
        with web.call("POST", "/api/v1/query", json={"query": query}, stream=True) as answer:
            next(answer.iter_content(1000))

    assert post(web).json() == [{"count": 50}]


def rows_of(service: Service, sql: str, headers: dict[str, str] | None = None) -> Any:
    answer = post(service, query=sql, headers=headers)
    assert answer.status_code == 200, answer.text
    return answer.json()


def test_information_schema_lists_what_the_caller_may_read(web: Service, reader: dict[str, str]) -> None:
    """api.md section 5: the datasets and columns by SQL, to each caller their own."""
    tables = "SELECT table_name FROM information_schema.tables ORDER BY 1"
    columns = "SELECT DISTINCT table_name FROM information_schema.columns"

    assert {"web", "hidden"} <= {row["table_name"] for row in rows_of(web, tables)}
    assert rows_of(web, tables, reader) == [{"table_name": "web"}]
    assert rows_of(web, columns, reader) == [{"table_name": "web"}]


def test_information_schema_tells_types_as_postgresql_does(web: Service) -> None:
    sql = (
        "SELECT column_name, ordinal_position, data_type, is_nullable, udt_name FROM information_schema.columns"
        " WHERE table_name = 'web' AND column_name IN ('n', 'level', 'p_timestamp') ORDER BY column_name"
    )

    assert [(row["column_name"], row["data_type"], row["udt_name"]) for row in rows_of(web, sql)] == [
        ("level", "text", "text"),
        ("n", "bigint", "int8"),
        ("p_timestamp", "timestamp with time zone", "timestamptz"),
    ]


def test_narrowed_reader_finds_the_columns_of_its_rows_in_information_schema(web: Service) -> None:
    """A column that only other rows have would tell that they exist (docs/access.md)."""
    web.ingest("tagged", [{"env": "prod", "mine": 1}, {"env": "dev", "theirs": 2}]).raise_for_status()
    resource = {"dataset": "tagged", "tag": "env=prod"}
    narrowed = {"X-API-Key": web.make_key("tagged-prod", {"privilege": "reader", "resource": resource})}
    sql = (
        "SELECT column_name, ordinal_position FROM information_schema.columns"
        " WHERE table_name = 'tagged' AND column_name NOT LIKE 'p!_%' ESCAPE '!' ORDER BY 1"
    )

    assert [row["column_name"] for row in rows_of(web, sql)] == ["env", "mine", "theirs"]
    assert [row["column_name"] for row in rows_of(web, sql, narrowed)] == ["env", "mine"]
    # No gap in the positions tells of what is left out.
    positions = "SELECT ordinal_position AS at FROM information_schema.columns ORDER BY 1"
    assert [row["at"] for row in rows_of(web, positions, narrowed)] == list(range(1, 6))


def test_information_schema_is_as_new_as_the_question(web: Service) -> None:
    sql = "SELECT count(*) AS n FROM information_schema.columns WHERE table_name = 'newest'"

    before = rows_of(web, sql)
    web.ingest("newest", {"a": 1}).raise_for_status()

    assert before == [{"n": 0}]
    assert rows_of(web, sql)[0]["n"] > 1


def test_information_schema_joins_datasets_and_is_explained(web: Service) -> None:
    tables = "information_schema.tables AS t ON t.table_name = 'web'"
    sql = f"SELECT t.table_name, count(*) AS n FROM web JOIN {tables} GROUP BY 1"

    assert rows_of(web, sql) == [{"table_name": "web", "n": 50}]
    assert rows_of(web, f"EXPLAIN {sql}")[0]["QUERY PLAN"].startswith("Dataset web: ")


@pytest.mark.parametrize("name", ["information_schema.views", "pg_catalog.pg_class"])
def test_other_relations_of_the_catalog_are_unsupported(web: Service, name: str) -> None:
    answer = post(web, query=f"SELECT * FROM {name}")

    assert (answer.status_code, answer.json()["code"]) == (400, "unsupported_sql")
    assert "information_schema.columns" in answer.json()["hint"]


def test_a_mistyped_dataset_is_answered_with_the_nearest_readable_one(web: Service, reader: dict[str, str]) -> None:
    hint = 'Perhaps you meant the dataset "web".'

    assert post(web, query="SELECT * FROM wep").json()["hint"] == hint
    assert post(web, query="SELECT 1", streamName="wep").json()["hint"] == hint
    assert post(web, query="SELECT * FROM wep", headers=reader).json()["hint"] == hint


def test_no_hint_names_a_dataset_that_the_caller_may_not_read(web: Service, reader: dict[str, str]) -> None:
    assert "hidden" in post(web, query="SELECT * FROM hiden").json()["hint"]

    refused = [post(web, query=f"SELECT * FROM {name}", headers=reader).json() for name in ("hiden", "hidden")]

    assert not any("hint" in each for each in refused)
