"""Datasets over HTTP: created as declared, described exactly, retained, deleted (api.md section 3)."""

import time
import uuid
from typing import Any

import pytest
import requests

from tests.running import Service


@pytest.fixture
def name() -> str:
    return f"set-{uuid.uuid4().hex[:12]}"


def put(service: Service, name: str, **headers: str) -> Any:
    return service.call(
        "PUT", f"/api/v1/logstream/{name}", headers={k.replace("_", "-"): v for k, v in headers.items()}
    )


def types_of(service: Service, name: str) -> dict[str, Any]:
    answer = service.call("GET", f"/api/v1/logstream/{name}/schema")
    return {field["name"]: field["data_type"] for field in answer.json()["fields"]}


def test_created_dataset_is_listed_and_a_second_one_of_its_name_is_refused(service: Service, name: str):
    assert put(service, name).status_code == 200

    again = put(service, name)

    assert {"name": name} in service.call("GET", "/api/v1/logstream").json()
    assert (again.status_code, again.json()["code"]) == (409, "dataset_exists")


def test_path_endpoint_wants_an_existing_dataset_and_the_header_endpoint_makes_one(service: Service, name: str):
    """Spec 2.4 and 4.2 rules 1 and 2."""
    missing = service.call("POST", f"/api/v1/logstream/{name}", json=[{"a": 1}])
    made = service.ingest(name, [{"a": 1}])
    found = service.call("POST", f"/api/v1/logstream/{name}", json={"a": 2})

    assert (missing.status_code, missing.json()["code"]) == (404, "dataset_not_found")
    assert (made.status_code, found.json()) == (200, {"dataset": name, "events": 1})
    assert service.query(f'SELECT a FROM "{name}" ORDER BY a') == [{"a": 1}, {"a": 2}]


def test_refused_events_do_not_create_a_dataset(service: Service, name: str):
    refused = service.ingest(name, [{"a": 1}, 7])

    assert (refused.status_code, refused.json()["index"]) == (400, 1)
    assert {"name": name} not in service.call("GET", "/api/v1/logstream").json()


def test_schema_names_types_as_arrow_does_in_the_order_of_select_star(service: Service, name: str):
    service.ingest(name, [{"i": 1, "f": 1.5, "b": True, "s": "x", "l": [1, 2], "o": [{"x": 1}], "n": {"deep": 1}}])

    types = types_of(service, name)

    (row,) = service.query(f'SELECT * FROM "{name}"')
    assert list(types) == list(row)
    assert types["p_timestamp"] == {"Timestamp": ["Microsecond", "UTC"]}
    scalars = {"i": "Int64", "f": "Float64", "b": "Boolean", "s": "Utf8", "o": "Utf8", "n_deep": "Int64"}
    assert scalars.items() <= types.items()
    assert types["l"]["List"]["data_type"] == "Int64"


def test_what_was_sent_comes_back_value_by_value(service: Service, name: str):
    sent = {
        "i": 2**53 + 1,
        "f": 0.1,
        "b": False,
        "s": "nul \0 é 😀",
        "l": ["a", None],
        "o": [{"x": [1, {}]}, 2],
        "z": "",
    }
    assert service.ingest(name, sent).status_code == 200

    (row,) = service.query(f'SELECT * FROM "{name}"')

    assert {key: row[key] for key in sent} == sent


def test_detected_schema_is_the_one_that_the_sample_gets(service: Service, name: str):
    sample = [{"a": {"b": 1}, "t": "2024-01-01T00:00:00Z"}, {"a": {"b": 2.5}}]
    detected = service.call("POST", "/api/v1/logstream/schema/detect", json=sample).json()
    service.ingest(name, sample)

    assert {f["name"] for f in detected["fields"]} == {"a_b", "t"}
    assert {"a_b": "Float64", "t": "Utf8"}.items() <= types_of(service, name).items()


def test_static_schema_takes_what_it_declares_and_nothing_else(service: Service, name: str):
    body = {"fields": [{"name": "at", "data_type": "datetime"}, {"name": "n", "data_type": "int"}]}
    headers = {"X-P-Static-Schema-Flag": "true"}
    service.call("PUT", f"/api/v1/logstream/{name}", headers=headers, json=body).raise_for_status()

    right = service.ingest(name, {"at": "2024-01-02T03:04:05.000000006Z", "n": 1})
    wrong = [service.ingest(name, event) for event in ({"n": 1, "x": 1}, {"n": "one"}, {"at": "yesterday"})]

    assert right.status_code == 200
    assert [answer.status_code for answer in wrong] == [400, 400, 400]
    assert service.query(f'SELECT at, n FROM "{name}"') == [{"at": "2024-01-02T03:04:05.000000006Z", "n": 1}]


@pytest.mark.parametrize(
    "body", [{}, {"fields": [{"name": "a"}]}, {"fields": [{"name": "a", "data_type": "blob"}]}], ids=str
)
def test_unusable_static_schema_is_refused_with_its_field(service: Service, name: str, body: object):
    answer = service.call("PUT", f"/api/v1/logstream/{name}", headers={"X-P-Static-Schema-Flag": "true"}, json=body)

    assert (answer.status_code, answer.json()["code"]) == (400, "invalid_request")
    assert answer.json()["field"].startswith("fields")


def test_range_filters_the_events_own_time_where_the_dataset_says_so(service: Service, name: str):
    """api.md section 5: on the field given by X-P-Time-Partition."""
    put(service, name, X_P_Time_Partition="at").raise_for_status()
    service.ingest(name, [{"at": f"2024-05-0{day}T00:00:00Z", "day": day} for day in (1, 2, 3)]).raise_for_status()

    rows = service.query(
        f'SELECT day FROM "{name}" ORDER BY day', startTime="2024-05-01T00:00:00Z", endTime="2024-05-03T00:00:00Z"
    )
    without = service.ingest(name, [{"day": 4}])

    assert rows == [{"day": 1}, {"day": 2}]
    assert (without.status_code, without.json()["index"]) == (400, 0)


def test_custom_partition_of_two_fields_is_refused(service: Service, name: str):
    answer = put(service, name, X_P_Custom_Partition="level,os")

    assert (answer.status_code, answer.json()["field"]) == (400, "X-P-Custom-Partition")


def test_statistics_are_exact_before_and_after_conversion(service: Service, name: str):
    events = [{"a": number} for number in range(7)]
    service.ingest(name, events).raise_for_status()

    def counted() -> dict[str, Any]:
        return service.call("GET", f"/api/v1/logstream/{name}/stats").json()

    fresh = counted()
    while counted()["storage"]["size"] == 0:
        time.sleep(0.2)
    converted = counted()

    assert fresh["ingestion"]["count"] == converted["ingestion"]["count"] == 7
    assert fresh["ingestion"]["size"] == converted["ingestion"]["size"] == len(requests_body(events))
    today = service.call("GET", f"/api/v1/logstream/{name}/stats", params={"date": converted["time"][:10]}).json()
    assert today == {"events": 7, "ingestion": len(requests_body(events)), "storage": converted["storage"]["size"]}


def requests_body(events: Any) -> bytes:
    """The JSON that `requests` makes of them."""
    return requests.Request("POST", "http://x", json=events).prepare().body  # type: ignore[return-value]


def test_info_tells_first_and_last_event(service: Service, name: str):
    service.ingest(name, [{"a": 1}])

    info = service.call("GET", f"/api/v1/logstream/{name}/info").json()

    (row,) = service.query(f'SELECT p_timestamp FROM "{name}"')
    assert info["firstEventAt"][:26] == info["latestEventAt"][:26] == row["p_timestamp"][:26]
    assert (info["streamType"], info["telemetryType"]) == ("UserDefined", "logs")


def test_a_dataset_that_goes_by_arrival_is_given_its_events_time(service: Service, name: str):
    """api.md section 4: event time is the time of ranges, also for what was sent before."""
    service.ingest(name, [{"at": "2025-05-05T10:00:00Z"}, {"at": "2025-05-05T12:00:00Z"}]).raise_for_status()
    path, in_may = (
        f"/api/v1/logstream/{name}/event-time",
        {"startTime": "2025-05-05", "endTime": "2025-05-05T11:00:00Z"},
    )
    assert service.query(f'SELECT "at" FROM "{name}"', **in_may) == []

    answer = service.call("PUT", path, json={"field": "at"})

    assert (answer.status_code, answer.json()["dataset"]) == (200, name)
    assert service.query(f'SELECT "at" FROM "{name}"', **in_may) == [{"at": "2025-05-05T10:00:00Z"}]
    assert service.call("GET", f"/api/v1/logstream/{name}/info").json()["timePartition"] == "at"
    assert service.ingest(name, {"at": 1746439200}, **{"X-P-Time-Partition": "at"}).status_code == 200
    assert service.query(f'SELECT count(*) AS n FROM "{name}"', **in_may) == [{"n": 2}]
    assert service.call("PUT", path, json={"field": "at"}).status_code == 400


def test_event_time_needs_a_column_and_a_dataset(service: Service, name: str):
    put(service, name)
    path = f"/api/v1/logstream/{name}/event-time"

    assert service.call("PUT", path, json={"field": "at"}).status_code == 404
    assert service.call("PUT", path, json={}).status_code == 400
    assert service.call("PUT", f"/api/v1/logstream/{name}-2/event-time", json={"field": "at"}).status_code == 404


def test_retention_comes_back_as_sent_and_an_empty_one_ends_it(service: Service, name: str):
    put(service, name)
    path = f"/api/v1/logstream/{name}/retention"
    sent = [{"description": "three weeks", "action": "delete", "duration": "21d"}]

    assert service.call("GET", path).json() == []
    assert service.call("PUT", path, json=sent).status_code == 200
    assert service.call("GET", path).json() == sent
    assert service.call("PUT", path, json=[]).status_code == 200
    assert service.call("GET", path).json() == []


def test_text_index_comes_back_as_sent_and_null_leaves_the_choice(service: Service, name: str):
    put(service, name)
    path = f"/api/v1/logstream/{name}/text-index"

    assert service.call("GET", path).json() == {"columns": None}
    for wanted in (["trace_id", "message"], [], None):
        assert service.call("PUT", path, json={"columns": wanted}).status_code == 200
        assert service.call("GET", path).json() == {"columns": wanted}


@pytest.mark.parametrize(
    "sent", [{}, [], {"columns": "a"}, {"columns": [1]}, {"columns": [""]}, {"columns": [None]}], ids=str
)
def test_unusable_text_index_is_refused(service: Service, name: str, sent: object):
    put(service, name)

    answer = service.call("PUT", f"/api/v1/logstream/{name}/text-index", json=sent)

    assert (answer.status_code, answer.json()["code"]) == (400, "invalid_request")


def test_deduplication_is_off_until_it_is_set_and_comes_back_as_sent(service: Service, name: str):
    put(service, name)
    path = f"/api/v1/logstream/{name}/deduplication"
    answers = [service.call("GET", path).json()]

    for wanted in ({"enabled": True}, {"enabled": True, "windowSeconds": 60}, {"enabled": False}):
        assert service.call("PUT", path, json=wanted).status_code == 200
        answers.append(service.call("GET", path).json())

    assert [(each["enabled"], each["windowSeconds"]) for each in answers] == [
        (False, 600),
        (True, 600),
        (True, 60),
        (False, 600),
    ]


@pytest.mark.parametrize(
    "sent",
    [
        {},
        [],
        {"enabled": "yes"},
        {"enabled": None},
        {"windowSeconds": 60},
        {"enabled": True, "windowSeconds": 0},
        {"enabled": True, "windowSeconds": 86_401},
        {"enabled": True, "windowSeconds": 1.5},
        {"enabled": True, "more": 1},
    ],
    ids=str,
)
def test_unusable_deduplication_is_refused(service: Service, name: str, sent: object):
    put(service, name)

    answer = service.call("PUT", f"/api/v1/logstream/{name}/deduplication", json=sent)

    assert (answer.status_code, answer.json()["code"]) == (400, "invalid_request")


UNUSABLE_RETENTIONS = (
    {},
    [1],
    [{"action": "delete"}],
    [{"action": "keep", "duration": "1d"}],
    [{"action": "delete", "duration": "1h"}],
    [{"action": "delete", "duration": "0d"}],
    [{"action": "delete", "duration": "99999d"}],
)


@pytest.mark.parametrize("sent", UNUSABLE_RETENTIONS, ids=str)
def test_unusable_retention_is_refused(service: Service, name: str, sent: object):
    put(service, name)

    answer = service.call("PUT", f"/api/v1/logstream/{name}/retention", json=sent)

    assert (answer.status_code, answer.json()["code"]) == (400, "invalid_request")


def test_home_lists_the_visible_datasets_and_whether_they_got_events(service: Service, name: str):
    """What `pb dataset list` reads."""
    put(service, name, X_P_Telemetry_Type="traces").raise_for_status()
    service.ingest(f"{name}-2", {"a": 1}).raise_for_status()
    key = service.make_key(name, {"privilege": "reader", "resource": {"dataset": f"{name}-2"}})

    every = service.call("GET", "/api/prism/v1/home").json()["datasets"]
    visible = service.call("GET", "/api/prism/v1/home", headers={"X-API-Key": key}).json()["datasets"]

    empty = {"title": name, "datasetType": "traces", "datasetFormat": "otel-traces", "ingestion": False}
    filled = {"title": f"{name}-2", "datasetType": "logs", "datasetFormat": "json", "ingestion": True}
    assert [each for each in every if each["title"].startswith(name)] == [empty, filled]
    assert visible == [filled]


def test_deleted_dataset_is_gone_and_its_name_begins_anew(service: Service, name: str):
    service.ingest(name, [{"old": 1}]).raise_for_status()

    assert service.call("DELETE", f"/api/v1/logstream/{name}").status_code == 200
    gone = service.call("POST", "/api/v1/query", json={"query": f'SELECT * FROM "{name}"'})
    service.ingest(name, [{"new": 2}]).raise_for_status()

    assert (gone.status_code, gone.json()["code"]) == (404, "dataset_not_found")
    (row,) = service.query(f'SELECT * FROM "{name}"')
    assert row["new"] == 2
    assert "old" not in row


def test_deleting_what_is_not_there_is_a_404(service: Service, name: str):
    assert service.call("DELETE", f"/api/v1/logstream/{name}").status_code == 404


def test_a_narrowed_reader_learns_nothing_of_other_rows_from_metadata(service: Service, name: str):
    """api.md section 2: no schema, statistic or count shows a row, value or field of other rows."""
    service.ingest(name, [{"env": "prod", "a": 1}, {"env": "test", "hidden": 2}]).raise_for_status()
    resource = {"dataset": name, "tag": "env=prod"}
    headers = {"X-API-Key": service.make_key(name, {"privilege": "reader", "resource": resource})}

    schema = service.call("GET", f"/api/v1/logstream/{name}/schema", headers=headers).json()
    others = [service.call("GET", f"/api/v1/logstream/{name}/{part}", headers=headers) for part in ("stats", "info")]

    assert {"a", "env"} <= {field["name"] for field in schema["fields"]}
    assert "hidden" not in {field["name"] for field in schema["fields"]}
    assert [answer.status_code for answer in others] == [403, 403]


def test_an_administrator_drops_a_column_and_the_audit_says_so(service: Service, name: str):
    service.ingest(name, [{"^.*$": 1, "kept": 1}])
    listed = service.call("GET", f"/api/v1/logstream/{name}/columns").json()
    (spoiling,) = [each for each in listed if each["name"] == "^.*$"]
    path = f"/api/v1/logstream/{name}/columns/{spoiling['id']}"

    dropped = service.call("DELETE", path)
    again = service.call("DELETE", path)
    service.ingest(name, [{"^.*$": "text", "kept": 2}])

    assert (spoiling["type"], spoiling["addedBy"]) == ("int64", "native:admin")
    assert (dropped.status_code, again.status_code, again.json()["code"]) == (200, 404, "column_not_found")
    found = service.query(f'SELECT "^.*$" AS v, kept FROM "{name}" ORDER BY kept')
    assert found == [{"v": None, "kept": 1}, {"v": "text", "kept": 2}]
    audit = service.query(f"SELECT actor_name, target, status FROM p_audit WHERE path = '{path}' ORDER BY status")
    target = f"{name}, {spoiling['id']}: ^.*$"
    assert audit[0] == {"actor_name": "admin", "target": target, "status": 200}


def test_a_column_of_the_time_is_not_dropped(service: Service, name: str):
    put(service, name)
    listed = service.call("GET", f"/api/v1/logstream/{name}/columns").json()
    (time_column,) = [each for each in listed if each["name"] == "p_timestamp"]

    answer = service.call("DELETE", f"/api/v1/logstream/{name}/columns/{time_column['id']}")

    assert (answer.status_code, answer.json()["code"]) == (400, "invalid_request")
