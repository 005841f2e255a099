"""Alerts over HTTP: docs/alerts.md, api.md section 3. Their evaluation: tests/alerting."""

import time

import pytest

from tests.blueprints.authored import READER, WRITER, Client, alert, entry, webhook
from tests.running import Service


@pytest.fixture(scope="module", autouse=True)
def datasets(service: Service) -> None:
    for name in ("alert_a", "alert_b"):
        service.call("PUT", f"/api/v1/logstream/{name}").raise_for_status()


@pytest.fixture(scope="module")
def ann(service: Service) -> Client:
    return Client(service, "alert-ann", entry(WRITER, "alert_a"), entry(READER, "alert_b"))


@pytest.fixture(scope="module")
def root(service: Service) -> Client:
    return Client(service, "alert-root", entry("admin"))


def make(client: Client, title: str, dataset: str = "alert_a", **members: object) -> dict:
    made = client("POST", "alerts", json=alert(title, dataset, **members))
    assert made.status_code == 200, made.text
    return made.json()


def test_alert_is_given_back_with_what_the_service_adds(ann: Client):
    target = ann("POST", "targets", json=webhook("alert hook")).json()["id"]

    made = make(ann, "shape", targets=[target], tags=["web"], runbook="https://wiki/1", anomalyConfig={"x": 1})

    assert ann("GET", f"alerts/{made['id']}").json() == made
    assert {name: made.pop(name) is not None for name in ("id", "created", "modified", "nextRunAt")} == {
        "id": True,
        "created": True,
        "modified": True,
        "nextRunAt": True,
    }
    assert made == alert("shape", "alert_a", targets=[target], tags=["web"], runbook="https://wiki/1") | {
        "version": "v2",
        "author": "alert-ann",
        "state": "not-triggered",
        "notificationState": "notify",
        "queryType": "code",
        "datasets": ["alert_a"],
        "disabledReason": None,
        "lastValue": None,
        "lastError": None,
        "lastEvaluatedAt": None,
        "lastTriggeredAt": None,
        "lastNotifiedAt": None,
        "tenantId": "default",
    }


def window(**members: object) -> dict:
    return {"evalConfig": {"rollingWindow": {"evalStart": "5m", "evalEnd": "now", "evalFrequency": 1, **members}}}


BAD_BODIES = {
    "no title": ({"title": ""}, "title"),
    "no query": ({"query": None}, "query"),
    "bad SQL": ({"query": "SELECT count( FROM alert_a"}, "query"),
    "no SELECT": ({"query": "DELETE FROM alert_a"}, "query"),
    "a plan": ({"query": "EXPLAIN SELECT 1 FROM alert_a"}, "query"),
    "no dataset": ({"query": "SELECT 1"}, "query"),
    "anomaly": ({"alertType": "anomaly"}, "alertType"),
    "promql without its dataset": ({"queryType": "promql"}, "datasets"),
    "bad PromQL": ({"queryType": "promql", "datasets": ["alert_a"], "query": "sum("}, "query"),
    "unknown operator": ({"thresholdConfig": {"operator": "~", "value": 1}}, "thresholdConfig.operator"),
    "threshold no number": ({"thresholdConfig": {"operator": ">", "value": "x"}}, "thresholdConfig.value"),
    "no threshold": ({"thresholdConfig": None}, "thresholdConfig"),
    "frequency zero": (window(evalFrequency=0), "evalConfig.rollingWindow.evalFrequency"),
    "frequency half a minute": (window(evalFrequency=0.5), "evalConfig.rollingWindow.evalFrequency"),
    "end not now": (window(evalEnd="now-1h"), "evalConfig.rollingWindow.evalEnd"),
    "start no duration": (window(evalStart="2026-01-01T00:00:00Z"), "evalConfig.rollingWindow.evalStart"),
    "start too short": (window(evalStart="1s"), "evalConfig.rollingWindow.evalStart"),
    "start too long": (window(evalStart="32d"), "evalConfig.rollingWindow.evalStart"),
    "interval zero": ({"notificationConfig": {"interval": 0}}, "notificationConfig.interval"),
    "unknown severity": ({"severity": "apocalyptic"}, "severity"),
    "unknown target": ({"targets": ["01ARZ3NDEKTSV4RRFFQ69G5FAV"]}, "targets"),
    "targets no list": ({"targets": "all"}, "targets"),
    "too many own members": ({f"x{number:02}": number for number in range(11)}, "x10"),
}


@pytest.mark.parametrize(("members", "field"), BAD_BODIES.values(), ids=BAD_BODIES)
def test_bad_body_is_refused_by_its_field_and_nothing_is_saved(ann: Client, members: dict, field: str):
    before = ann("GET", "alerts").json()

    answer = ann("POST", "alerts", json=alert("bad", "alert_a") | members)

    assert (answer.status_code, answer.json()["field"]) == (400, field), answer.text
    assert ann("GET", "alerts").json() == before


def test_query_reads_exactly_one_dataset(root: Client):
    """reference section 1.8."""
    both = root("POST", "alerts", json=alert("two", "alert_a") | {"query": "SELECT 1 FROM alert_a, alert_b"})
    ghost = root("POST", "alerts", json=alert("none", "alert_ghost"))

    assert (both.status_code, both.json()["field"]) == (400, "query")
    assert (ghost.status_code, ghost.json()["code"]) == (404, "dataset_not_found")


def test_reader_of_a_dataset_cannot_author_over_it(ann: Client):
    answer = ann("POST", "alerts", json=alert("b", "alert_b"))
    hidden = ann(
        "POST", "alerts", json=alert("b", "alert_a") | {"query": "SELECT (SELECT 1 FROM alert_b) FROM alert_a"}
    )

    assert (answer.status_code, answer.json()["dataset"]) == (403, "alert_b")
    assert hidden.status_code == 403


def test_alert_on_an_unreadable_dataset_is_not_listed(service: Service, root: Client):
    made = make(root, "secret", "alert_b", tags=["secret-tag"])
    reader = Client(service, "alert-reader", entry(READER, "alert_a"))

    assert {tuple(each["datasets"]) for each in reader("GET", "alerts").json()} <= {("alert_a",)}
    assert reader("GET", f"alerts/{made['id']}").json()["code"] == "alert_not_found"
    assert reader("GET", f"alerts/{made['id']}/history").status_code == 404
    assert reader("GET", f"alerts/{made['id']}/deliveries").status_code == 404
    assert "secret-tag" not in reader("GET", "alerts/list_tags").json()


def test_only_its_author_and_administrators_change_an_alert(service: Service, ann: Client, root: Client):
    path = f"alerts/{make(ann, 'owned')['id']}"
    bob = Client(service, "alert-bob", entry(WRITER, "alert_a"))

    for method, sub in (("PUT", ""), ("DELETE", ""), ("PATCH", "/disable"), ("PATCH", "/update_notification_state")):
        assert bob(method, path + sub, json=alert("stolen", "alert_a")).status_code == 403
    assert root("PUT", path, json=alert("corrected", "alert_a")).json()["title"] == "corrected"
    assert ann("DELETE", path).status_code == 200
    assert ann("GET", path).status_code == 404


def test_title_is_unique(ann: Client, root: Client):
    make(ann, "one of a kind")

    again = root("POST", "alerts", json=alert("one of a kind", "alert_b"))

    assert (again.status_code, again.json()["code"]) == (409, "title_taken")


def test_second_of_two_editors_is_told(ann: Client):
    made = ann("POST", "alerts", json=alert("edited", "alert_a"))
    path, etag = f"alerts/{made.json()['id']}", {"If-Match": made.headers["ETag"]}

    assert ann("PUT", path, json=alert("edited 1", "alert_a"), headers=etag).status_code == 200
    assert ann("PUT", path, json=alert("edited 2", "alert_a"), headers=etag).status_code == 412


def test_alert_is_disabled_and_enabled(ann: Client):
    path = f"alerts/{make(ann, 'switched')['id']}"

    off = ann("PATCH", f"{path}/disable").json()
    changed = ann("PUT", path, json=alert("switched still off", "alert_a")).json()
    on = ann("PATCH", f"{path}/enable").json()

    assert (off["state"], off["disabledReason"], off["nextRunAt"]) == ("disabled", "disabled by alert-ann", None)
    assert (changed["state"], changed["nextRunAt"]) == ("disabled", None)
    assert (on["state"], on["disabledReason"], on["nextRunAt"] is None) == ("not-triggered", None, False)
    assert [each["kind"] for each in ann("GET", f"{path}/history").json()] == ["enabled", "disabled"]
    assert len(ann("GET", f"{path}/history?limit=1").json()) == 1


def test_notifications_are_muted_for_a_while_or_for_good(ann: Client):
    path = f"alerts/{make(ann, 'muted')['id']}"

    def mute(state: object) -> object:
        answer = ann("PATCH", f"{path}/update_notification_state", json={"state": state})
        return answer.json()["notificationState"] if answer.ok else answer.json()["field"]

    assert mute("indefinite") == {"mute": "indefinite"}
    assert mute("2999-01-02T03:04:05Z") == {"mute": "2999-01-02T03:04:05.000000Z"}
    assert list(mute("1h 30m")) == ["mute"]
    assert mute("notify") == "notify"
    assert mute("2020-01-02T03:04:05Z") == "state"
    assert mute("whenever") == "state"
    assert mute(7) == "state"


def test_list_has_the_members_and_the_order_that_clients_expect(ann: Client):
    """reference section 8.1: exactly these members, the severity capitalised."""
    for title, severity in (
        ("z low", "low"),
        ("b medium", "medium"),
        ("a medium", "medium"),
        ("x critical", "critical"),
    ):
        make(ann, title, severity=severity, tags=["ordered"], team="red" if severity == "low" else "blue")

    listed = ann("GET", "alerts?tags=ordered").json()

    assert [each["title"] for each in listed] == ["x critical", "a medium", "b medium", "z low"]
    assert {name: listed[1][name] for name in ("severity", "state", "notificationState", "datasets")} == {
        "severity": "Medium",
        "state": "not-triggered",
        "notificationState": "notify",
        "datasets": ["alert_a"],
    }
    assert set(listed[1]) - {"team"} == set(
        "title created alertType id severity state tags datasets notificationState".split()
    )
    assert [each["title"] for each in ann("GET", "alerts?tags=ordered&offset=1&limit=1").json()] == ["a medium"]
    assert [each["title"] for each in ann("GET", "alerts?tags=ordered&team=red").json()] == ["z low"]
    assert ann("GET", "alerts?limit=1001").json()["field"] == "limit"


def test_alert_is_evaluated_over_what_is_there_when_somebody_asks(service: Service, ann: Client):
    """By the service's own alerting process; at its usual turn it would be up to a day from now."""
    members = {"query": "SELECT count(*) FROM alert_a WHERE mark = 'asked'", **window(evalFrequency=1440)}
    service.ingest("alert_a", [{"mark": "asked"}])
    path = f"alerts/{make(ann, 'asked', **members)['id']}"

    asked = ann("PUT", f"{path}/evaluate_alert")
    for _ in range(600):
        if (shown := ann("GET", path).json())["lastEvaluatedAt"] is not None:
            break
        time.sleep(0.1)

    assert asked.status_code == 200
    assert (shown["state"], shown["lastValue"], shown["lastError"]) == ("not-triggered", 1.0, None)
    ann("PATCH", f"{path}/disable")
    assert ann("PUT", f"{path}/evaluate_alert").status_code == 409
