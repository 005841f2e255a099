"""Live tails of a running service: `GET|POST /api/v1/tail` (api.md section 8), on both HTTP stacks."""

import time
from typing import Any

import pytest
import requests

from tests.running import ADMIN, Service, wait_until
from tests.tails import Tail, ask, follow

pytestmark = pytest.mark.each_stack


def numbers(rows: list[Any]) -> list[int]:
    return [row["n"] for row in rows]


def test_rows_come_as_they_are_acknowledged_and_only_those_that_match(service: Service) -> None:
    service.ingest("tail_new", [{"n": 0, "level": "error"}])
    with follow(service, "SELECT n, upper(level) AS l FROM tail_new WHERE level = 'error'") as tail:
        service.ingest("tail_new", [{"n": 1, "level": "error"}, {"n": 2, "level": "info"}])
        service.ingest("tail_new", [{"n": 3, "level": "error"}])

        assert tail.wait_for(2) == [{"n": 1, "l": "ERROR"}, {"n": 3, "l": "ERROR"}]


def test_head_of_the_answer_is_fit_for_proxies_and_caches(service: Service) -> None:
    service.ingest("tail_head", [{"n": 0}])
    with follow(service, "SELECT n FROM tail_head", stream="x") as tail:
        headers = tail.response.headers

        assert headers["Content-Type"] == "text/event-stream"
        assert headers["Cache-Control"] == "no-store"
        assert headers["X-Accel-Buffering"] == "no"
        assert headers["X-Weir-Ignored"] == "stream"


def test_parameters_of_a_url_do_as_well(service: Service) -> None:
    """What EventSource and curl can send."""
    service.ingest("tail_get", [{"n": 0}])
    answer = requests.get(
        f"{service.url}/api/v1/tail",
        params={"query": "SELECT n FROM tail_get", "from": "1m"},
        auth=ADMIN,
        stream=True,
        timeout=60,
    )
    with Tail(answer) as tail:
        assert numbers(tail.wait_for(1)) == [0]


def test_lines_of_json_are_rows_alone(service: Service) -> None:
    service.ingest("tail_lines", [{"n": 0}])
    with follow(service, "SELECT n FROM tail_lines", accept="application/x-ndjson") as tail:
        service.ingest("tail_lines", [{"n": 1}, {"n": 2}])

        tail.wait_for(2)
        assert tail.response.headers["Content-Type"] == "application/x-ndjson"
        assert [(each.name, each.data) for each in tail.events] == [("message", {"n": 1}), ("message", {"n": 2})]


def test_head_of_a_tail_has_no_body_and_holds_no_place(service: Service) -> None:
    service.ingest("tail_head_only", [{"n": 0}])

    for _ in range(70):
        answer = requests.head(
            f"{service.url}/api/v1/tail", params={"query": "SELECT n FROM tail_head_only"}, auth=ADMIN, timeout=60
        )
        assert answer.status_code == 200


@pytest.mark.parametrize("clause", ["5m", "1 hour", "90s"])
def test_a_duration_begins_with_what_arrived_before(service: Service, clause: str) -> None:
    dataset = f"tail_from_{clause[:2].strip()}"
    service.ingest(dataset, [{"n": 1}])
    service.ingest(dataset, [{"n": 2}])

    with follow(service, f"SELECT n FROM {dataset}", **{"from": clause}) as tail:
        service.ingest(dataset, [{"n": 3}])

        assert sorted(numbers(tail.wait_for(3))) == [1, 2, 3]


def test_a_duration_leaves_out_what_is_older(service: Service) -> None:
    service.ingest("tail_since", [{"n": 1}])
    time.sleep(2.5)
    service.ingest("tail_since", [{"n": 2}])

    with follow(service, "SELECT n FROM tail_since", **{"from": "2s"}) as tail:
        assert numbers(tail.wait_for(1)) == [2]


def test_new_columns_are_shown_as_they_appear(service: Service) -> None:
    service.ingest("tail_columns", [{"n": 0}])
    with follow(service, "SELECT * FROM tail_columns") as tail:
        service.ingest("tail_columns", [{"n": 1, "fresh": "a"}])
        service.ingest("tail_columns", [{"n": 2, "fresh": "b", "other": True}])

        assert [(row["n"], row.get("fresh"), row.get("other")) for row in tail.wait_for(2)] == [
            (1, "a", None),
            (2, "b", True),
        ]


def test_columns_that_appear_again_and_again_bring_no_row_twice(service: Service) -> None:
    """Each makes the tail begin again, behind the last row that was delivered: in the middle of a batch."""
    service.ingest("tail_again", [{"n": 0}])
    with follow(service, "SELECT * FROM tail_again", **{"from": "1m"}) as tail:
        tail.wait_for(1)
        for number in range(1, 30):
            service.ingest("tail_again", [{"n": number, f"c{number}": number}]).raise_for_status()

        assert numbers(tail.wait_for(30)) == list(range(30))


def test_a_column_that_widens_keeps_its_values(service: Service) -> None:
    service.ingest("tail_wider", [{"n": 1}])
    with follow(service, "SELECT n FROM tail_wider WHERE n > 1") as tail:
        service.ingest("tail_wider", [{"n": 2}])
        service.ingest("tail_wider", [{"n": 2.5}])

        assert numbers(tail.wait_for(2)) == [2, 2.5]


def test_events_of_other_datasets_and_schemas_keep_the_order_of_one_sender(service: Service) -> None:
    service.ingest("tail_order", [{"n": -1}])
    with follow(service, "SELECT n FROM tail_order") as tail, requests.Session() as session:
        # One connection is served by one worker, and so by one segment.
        for number in range(60):
            event = {"n": number} | ({"odd": True} if number % 2 else {"even": "x"})
            target = "tail_order" if number % 5 else "tail_other"
            session.post(
                f"{service.url}/api/v1/ingest", json=event, headers={"X-P-Stream": target}, auth=ADMIN, timeout=60
            ).raise_for_status()

        assert numbers(tail.wait_for(48)) == [number for number in range(60) if number % 5]


def test_a_row_of_900_kilobytes_arrives_whole(service: Service) -> None:
    service.ingest("tail_large", [{"n": 0, "text": ""}])
    with follow(service, "SELECT n, text FROM tail_large") as tail:
        text = 'é\r\n"\\ ' * 130_000
        service.ingest("tail_large", [{"n": 1, "text": text}, {"n": 2, "text": "small"}]).raise_for_status()

        assert [row["text"] for row in tail.wait_for(2)] == [text, "small"]


REFUSED = {
    "limit": ("SELECT n FROM tail_refused LIMIT 3", "LIMIT"),
    "offset": ("SELECT n FROM tail_refused OFFSET 3", "OFFSET"),
    "order": ("SELECT n FROM tail_refused ORDER BY n", "ORDER BY"),
    "distinct": ("SELECT DISTINCT n FROM tail_refused", "DISTINCT"),
    "distinct on": ("SELECT DISTINCT ON (n) n FROM tail_refused", "DISTINCT"),
    "count": ("SELECT count(*) FROM tail_refused", "aggregate"),
    "group": ("SELECT n FROM tail_refused GROUP BY n", "GROUP BY"),
    "window": ("SELECT row_number() OVER () FROM tail_refused", "window"),
    "join": ("SELECT a.n FROM tail_refused a JOIN tail_refused b ON a.n = b.n", "join"),
    "subquery": ("SELECT n FROM tail_refused WHERE n IN (SELECT n FROM tail_refused)", "subquery"),
    "union": ("SELECT n FROM tail_refused UNION ALL SELECT n FROM tail_refused", "UNION"),
    "explain": ("EXPLAIN SELECT n FROM tail_refused", "EXPLAIN"),
    "series": ("SELECT generate_series(1, 2) FROM tail_refused", "several rows"),
    "no dataset": ("SELECT 1", "FROM"),
    "catalog": ("SELECT * FROM information_schema.tables", "information_schema"),
    "two statements": ("SELECT n FROM tail_refused; SELECT 1", "one"),
    "syntax": ("SELEC n FROM tail_refused", "syntax|one"),
    "unknown column": ("SELECT nothing FROM tail_refused", "nothing"),
    "long": ("SELECT n FROM tail_refused WHERE n <> 1" + " AND n <> 1" * 2000, "characters"),
}


@pytest.mark.parametrize("case", sorted(REFUSED))
def test_other_statements_are_refused_by_name(service: Service, case: str) -> None:
    service.ingest("tail_refused", [{"n": 0}])
    sql, named = REFUSED[case]

    answer = ask(service, sql)

    assert answer.status_code == 400
    assert answer.json()["code"] in ("unsupported_sql", "invalid_sql")
    assert any(word in answer.json()["message"] for word in named.split("|"))


@pytest.mark.parametrize(
    "sql",
    [
        "WITH a AS (SELECT n FROM tail_refused WHERE n >= 0) SELECT n FROM a",
        "SELECT s.n FROM (SELECT n FROM tail_refused) s WHERE s.n > -1",
        "SELECT n FROM tail_refused WHERE now() > p_timestamp - interval '1 day'",
        "WITH a AS (SELECT * FROM tail_refused), b AS (SELECT n AS m FROM a) SELECT m AS n FROM b WHERE m > 1",
        "SELECT CASE WHEN n = 0 THEN 0 ELSE n END AS n FROM Tail_Refused",
    ],
)
def test_ways_of_writing_a_filter_and_a_projection_are_taken(service: Service, sql: str) -> None:
    service.ingest("tail_refused", [{"n": 0}])
    with follow(service, sql) as tail:
        service.ingest("tail_refused", [{"n": 7}])

        assert numbers(tail.wait_for(1)) == [7]


@pytest.mark.parametrize(
    ("members", "status", "code"),
    [
        ({"query": None}, 400, "invalid_request"),
        ({"from": "yesterday"}, 400, "invalid_time_range"),
        ({"from": "-5m"}, 400, "invalid_time_range"),
        ({"from": 5}, 400, "invalid_request"),
        ({"rowsPerSecond": 0}, 400, "invalid_request"),
    ],
)
def test_members_that_cannot_be_read_are_named(
    service: Service, members: dict[str, Any], status: int, code: str
) -> None:
    service.ingest("tail_refused", [{"n": 0}])
    body = {"query": "SELECT n FROM tail_refused", **members}

    answer = service.call("POST", "/api/v1/tail", json=body)

    assert (answer.status_code, answer.json()["code"]) == (status, code)


@pytest.mark.parametrize("position", ["nonsense", "AAAA", "é", "A" * 5000])
def test_a_position_that_is_not_ours_is_refused(service: Service, position: str) -> None:
    service.ingest("tail_refused", [{"n": 0}])

    answer = ask(service, "SELECT n FROM tail_refused", position.encode())

    assert (answer.status_code, answer.json()["code"]) == (400, "invalid_position")


def test_a_position_with_another_character_is_refused(service: Service) -> None:
    service.ingest("tail_forged", [{"n": 0}])
    with follow(service, "SELECT n FROM tail_forged", **{"from": "1m"}) as tail:
        tail.wait_for(1)
    forged = tail.last_id[:-1] + ("A" if tail.last_id[-1] != "A" else "B")

    assert ask(service, "SELECT n FROM tail_forged", forged).status_code == 400


def test_every_row_has_a_position_from_which_any_worker_goes_on(service: Service) -> None:
    """Each row once, wherever the client was interrupted, also in the middle of a request's rows."""
    service.ingest("tail_resume", [{"n": -1}])
    with follow(service, "SELECT n FROM tail_resume WHERE n % 2 = 0") as tail:
        service.ingest("tail_resume", [{"n": number} for number in range(20)])
        service.ingest("tail_resume", [{"n": number} for number in range(20, 40)])
        tail.wait_for(20)
    service.ingest("tail_resume", [{"n": number} for number in range(40, 50)])

    for index, event in enumerate(tail.events):
        with follow(service, "SELECT n FROM tail_resume WHERE n % 2 = 0", event.id) as again:
            left = 24 - index
            assert sorted(numbers(again.wait_for(left))) == sorted(
                [*numbers(tail.rows[index + 1 :]), 40, 42, 44, 46, 48]
            )


def test_an_error_of_a_row_ends_the_stream_with_its_reason(service: Service) -> None:
    service.ingest("tail_error", [{"n": 1}])
    with follow(service, "SELECT 10 / n AS q FROM tail_error") as tail:
        service.ingest("tail_error", [{"n": 5}])
        tail.wait_for(1)
        service.ingest("tail_error", [{"n": 0}])

        assert tail.ended.wait(20)
        assert tail.rows == [{"q": 2}]
        assert tail.named("end")[0]["code"] == "invalid_sql"
        assert tail.named("end")[0]["sqlstate"] == "22012"


def test_a_comment_comes_when_there_are_no_rows(service: Service) -> None:
    service.ingest("tail_quiet", [{"n": 0}])
    with follow(service, "SELECT n FROM tail_quiet") as tail:
        wait_until(lambda: tail.comments >= 1, 10)
        before = tail.comments

        wait_until(lambda: tail.comments > before, 10)
        assert tail.events == []


def test_deleted_key_ends_the_stream(service: Service) -> None:
    service.ingest("tail_revoked", [{"n": 0}])
    key = service.make_key("tail-revoked", {"privilege": "reader", "resource": {"dataset": "tail_revoked"}})
    key_id = next(
        each["keyId"]
        for each in service.call("GET", "/api/console/v1/apikeys").json()
        if each["keyName"] == "tail-revoked"
    )
    with follow(service, "SELECT n FROM tail_revoked", key=key) as tail:
        service.ingest("tail_revoked", [{"n": 1}])
        tail.wait_for(1)
        service.call("DELETE", f"/api/console/v1/apikeys/{key_id}").raise_for_status()
        service.ingest("tail_revoked", [{"n": 2}])

        assert tail.ended.wait(10)
        assert numbers(tail.rows) == [1]
        assert tail.named("end")[0]["code"] == "unauthenticated"


def test_a_role_that_loses_the_dataset_ends_the_stream(service: Service) -> None:
    service.ingest("tail_lost", [{"n": 0}])
    key = service.make_key("tail-lost", {"privilege": "reader", "resource": {"dataset": "tail_lost"}})
    with follow(service, "SELECT n FROM tail_lost", key=key) as tail:
        service.call(
            "PUT", "/api/v1/role/tail-lost", json=[{"privilege": "reader", "resource": {"dataset": "other"}}]
        ).raise_for_status()
        service.ingest("tail_lost", [{"n": 2}])

        assert tail.ended.wait(10)
        assert tail.rows == []
        assert tail.named("end")[0]["code"] == "forbidden"


def test_a_role_that_becomes_narrower_shows_less_from_then_on(service: Service) -> None:
    service.ingest("tail_narrower", [{"n": 0, "env": "prod"}])
    entry = {"privilege": "reader", "resource": {"dataset": "tail_narrower"}}
    key = service.make_key("tail-narrower", entry)
    with follow(service, "SELECT n FROM tail_narrower", key=key) as tail:
        service.ingest("tail_narrower", [{"n": 1, "env": "dev"}])
        tail.wait_for(1)
        entry["resource"]["tag"] = "env=prod"
        service.call("PUT", "/api/v1/role/tail-narrower", json=[entry]).raise_for_status()
        service.ingest("tail_narrower", [{"n": 2, "env": "dev"}, {"n": 3, "env": "prod"}])

        assert numbers(tail.wait_for(2)) == [1, 3]


def test_deleted_dataset_ends_the_stream_also_if_it_is_there_again(service: Service) -> None:
    service.ingest("tail_deleted", [{"n": 0}])
    with follow(service, "SELECT n FROM tail_deleted") as tail:
        service.call("DELETE", "/api/v1/logstream/tail_deleted").raise_for_status()
        service.ingest("tail_deleted", [{"n": 1}])

        assert tail.ended.wait(10)
        assert tail.rows == []
        assert tail.named("end")[0]["code"] == "dataset_not_found"


def test_a_dataset_that_is_not_there_and_one_that_is_not_the_callers(service: Service) -> None:
    service.ingest("tail_foreign", [{"n": 0}])
    key = service.make_key("tail-other", {"privilege": "reader", "resource": {"dataset": "something"}})

    assert ask(service, "SELECT n FROM tail_nowhere").status_code == 404
    assert ask(service, "SELECT n FROM tail_foreign", key=key).status_code == 403
    assert ask(service, "SELECT n FROM tail_nowhere", key=key).status_code == 403


def test_opening_a_tail_is_audited(service: Service) -> None:
    service.ingest("tail_audited", [{"n": 0}])
    with follow(service, "SELECT n FROM tail_audited"):
        rows = service.query("SELECT action, status FROM p_audit WHERE target = 'tail_audited'")

    assert {"action": "tail.follow", "status": 200} in rows


def test_rows_beyond_what_the_client_wants_are_counted(service: Service) -> None:
    service.ingest("tail_rate", [{"n": 0}])
    with follow(service, "SELECT n FROM tail_rate", rowsPerSecond=10) as tail:
        service.ingest("tail_rate", [{"n": number} for number in range(100)]).raise_for_status()
        tail.wait_for(10)

        assert numbers(tail.rows) == list(range(10))
        assert tail.named("skipped")[0]["rows"] == 90
