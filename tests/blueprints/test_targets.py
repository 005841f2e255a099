"""Targets over HTTP: docs/alerts.md, api.md section 3; what is secret stays so, and SSRF (attacks.md 26)."""

from collections.abc import Callable

import pytest

from tests.alerting.receiver import receiving
from tests.blueprints.authored import WRITER, Client, alert, entry, webhook
from tests.running import Service

SECRET_URL = "https://hooks.slack.com/services/T00/B00/s3cr3t-p4th"


@pytest.fixture(scope="module")
def ann(service: Service) -> Client:
    return Client(service, "target-ann", entry(WRITER, "target_a"))


@pytest.fixture(scope="module")
def root(service: Service) -> Client:
    return Client(service, "target-root", entry("admin"))


def test_target_is_masked_from_the_first_answer_on(ann: Client):
    body = webhook("masked", "https://hooks.example.com/s3cr3t?token=t0k3n", headers={"X-Auth": "h34der"})

    made = ann("POST", "targets", json=body)

    assert made.status_code == 200, made.text
    flat = {
        "id": made.json()["id"],
        "name": "masked",
        "type": "webhook",
        "endpoint": "https://********",
        "author": "target-ann",
        "headers": {"X-Auth": "********"},
        "skipTlsCheck": False,
    }
    assert made.json() == {**flat, "enabled": True, "target": flat}
    assert ann("GET", f"targets/{flat['id']}").json() == made.json()
    assert made.json() in ann("GET", "targets").json()


def test_no_answer_and_no_table_holds_a_secret(service: Service, ann: Client):
    body = {"name": "am", "type": "alertManager", "endpoint": "https://am.example.com/p4th", "skipTlsCheck": False}
    made = ann("POST", "targets", json=body | {"auth": {"username": "u", "password": "p4ssw0rd"}})
    hook = ann("POST", "targets", json={"name": "hook", "type": "slack", "endpoint": SECRET_URL})

    texts = [made.text, hook.text, ann("GET", "targets").text, service.log.read_text()]

    assert made.json()["auth"] == {"username": "u", "password": "********"}
    assert not [text for text in texts for secret in ("p4th", "p4ssw0rd", "s3cr3t") if secret in text]


BAD_BODIES = {
    "no name": ({"name": ""}, "name"),
    "unknown type": ({"type": "pager"}, "type"),
    "no URL": ({"endpoint": "hooks.example.com"}, "endpoint"),
    "other scheme": ({"endpoint": "file:///etc/passwd"}, "endpoint"),
    "masked form": ({"endpoint": "https://********"}, "endpoint"),
    "masked header": ({"headers": {"X-Auth": "********"}}, "headers.X-Auth.value"),
    "Host header": ({"headers": {"HOST": "internal"}}, "headers"),
    "line feed in a header": ({"headers": {"X-Auth": "a\r\nHost: b"}}, "headers.X-Auth.value"),
    "bad header name": ({"headers": {"X Auth": "a"}}, "headers.X Auth.key"),
    "plain HTTP to Slack": ({"type": "slack", "endpoint": "http://hooks.example.com/"}, "endpoint"),
    "headers to Slack": ({"type": "slack", "headers": {"X-A": "b"}}, "headers"),
    "unchecked TLS": ({"skipTlsCheck": True}, "skipTlsCheck"),
    "user with colon": ({"type": "alertManager", "auth": {"username": "a:b", "password": "c"}}, "auth.username"),
}


@pytest.mark.parametrize(("members", "field"), BAD_BODIES.values(), ids=BAD_BODIES)
def test_bad_body_is_refused_by_its_field(ann: Client, members: dict, field: str):
    answer = ann("POST", "targets", json=webhook("bad") | members)

    assert (answer.status_code, answer.json()["field"]) == (400, field), answer.text
    assert "bad" not in {each["name"] for each in ann("GET", "targets").json()}


@pytest.mark.parametrize(
    "url",
    [
        "http://127.0.0.1/",
        "http://[::1]:5432/",
        "http://169.254.169.254/latest/meta-data/",
        "http://10.0.0.1",
        "http://[::ffff:10.0.0.1]/",
        "http://[64:ff9b::a00:1]/",
        "http://2130706433/",
        "http://0x7f.1/",
        "http://0177.0.0.1/",
        "http://user@8.8.8.8/",
    ],
)
def test_private_address_is_refused_at_once(ann: Client, url: str):
    """attacks.md 26. Every notation: tests/alerting/test_addresses.py."""
    answer = ann("POST", "targets", json=webhook("inside", url))

    assert (answer.status_code, answer.json()["field"]) == (400, "endpoint"), answer.text


def test_error_of_a_private_address_names_the_setting_that_lets_it_through(ann: Client):
    assert (
        "WEIR_ALERT_ALLOWED_HOSTS"
        in ann("POST", "targets", json=webhook("inside", "http://10.0.0.1/")).json()["message"]
    )


def test_contract_has_a_schema_for_each_kind(service: Service):
    document = service.call("GET", "/api/v1/openapi.json").json()

    body = document["paths"]["/api/v1/targets"]["post"]["requestBody"]["content"]["application/json"]["schema"]
    kinds = [document["components"]["schemas"][each["$ref"].rpartition("/")[2]] for each in body["oneOf"]]
    assert [each["properties"]["type"]["enum"] for each in kinds] == [
        ["alertManager"],
        ["email"],
        ["pagerDuty"],
        ["slack"],
        ["webhook"],
    ]


def test_change_needs_the_secrets_anew(ann: Client):
    path = f"targets/{ann('POST', 'targets', json=webhook('renewed', headers={'X-Auth': 'a'})).json()['id']}"

    changed = ann("PUT", path, json=webhook("renewed", "https://elsewhere.example.com/")).json()

    assert "headers" not in changed


def test_only_its_author_and_administrators_change_a_target(service: Service, ann: Client, root: Client):
    path = f"targets/{ann('POST', 'targets', json=webhook('owned')).json()['id']}"
    bob = Client(service, "target-bob", entry(WRITER, "target_a"))

    assert bob("PUT", path, json=webhook("owned", "https://evil.example.com/")).status_code == 403
    assert bob("DELETE", path).status_code == 403
    assert root("DELETE", path).status_code == 200


def test_target_in_use_cannot_be_deleted(service: Service, ann: Client):
    service.call("PUT", "/api/v1/logstream/target_a").raise_for_status()
    target = ann("POST", "targets", json=webhook("used")).json()["id"]
    made = ann("POST", "alerts", json=alert("uses a target", "target_a", targets=[target])).json()

    refused = ann("DELETE", f"targets/{target}")

    assert (refused.status_code, refused.json()["code"]) == (409, "target_in_use")
    assert ann("DELETE", f"alerts/{made['id']}").status_code == 200
    assert ann("DELETE", f"targets/{target}").status_code == 200


def test_name_is_unique(ann: Client):
    assert ann("POST", "targets", json=webhook("unique")).status_code == 200
    assert ann("POST", "targets", json=webhook("unique")).json()["code"] == "title_taken"


def test_second_of_two_editors_is_told(ann: Client):
    made = ann("POST", "targets", json=webhook("edited"))
    path, etag = f"targets/{made.json()['id']}", {"If-Match": made.headers["ETag"]}

    assert ann("PUT", path, json=webhook("edited 1"), headers=etag).status_code == 200
    assert ann("PUT", path, json=webhook("edited 2"), headers=etag).status_code == 412


def test_change_of_a_target_is_audited(service: Service, ann: Client):
    made = ann("POST", "targets", json=webhook("audited")).json()
    ann("DELETE", f"targets/{made['id']}")

    rows = service.query("SELECT action, target, status FROM p_audit WHERE actor_name = 'target-ann'")

    assert {"action": "target.delete", "target": made["id"], "status": 200} in rows
    assert [row for row in rows if row["action"] == "target.create"]


def test_test_notice_arrives_once_and_its_answer_is_told(start_service: Callable[..., Service]):
    """The console's button: at once, outside of the queue, with no second attempt."""
    service = start_service(workers=1, WEIR_ALERT_ALLOWED_HOSTS="127.0.0.1")
    with receiving() as receiver:
        receiver.answers = [(200, {}), (500, {})]
        made = service.call("POST", "/api/v1/targets", json=webhook("tried", f"{receiver.url}/hook")).json()

        good = service.call("POST", f"/api/v1/targets/{made['id']}/test")
        bad = service.call("POST", f"/api/v1/targets/{made['id']}/test")

        assert (good.status_code, good.json()) == (200, {"status": 200, "error": None})
        assert (bad.status_code, bad.json()) == (200, {"status": 500, "error": "the receiver answered 500"})
        told = [each.json for each in receiver.received]
        assert [each["state"] for each in told] == ["test", "test"]
        assert told[0]["message"] == "[low] Test of this target: test, sent by admin; nothing is wrong"


def test_target_of_another_author_is_not_tried(service: Service, ann: Client, root: Client):
    made = root("POST", "targets", json=webhook("roots", "https://hooks.example.com/x")).json()

    assert ann("POST", f"targets/{made['id']}/test").status_code == 403
    assert ann("POST", "targets/none/test").status_code == 404
