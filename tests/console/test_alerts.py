"""Alerts by hand: silence, targets and their test, PromQL."""

import re
from collections.abc import Callable

import pytest

from tests.alerting.receiver import receiving
from tests.console.conftest import Visit, sync_api
from tests.running import Service

pytestmark = pytest.mark.service
expect = sync_api.expect

DATASET = "console-alerts"


@pytest.fixture(scope="module", autouse=True)
def events(services: Callable[[str], Service]) -> None:
    services("fast").ingest(DATASET, [{"level": "error"}] * 3).raise_for_status()


def make_alert(service: Service, title: str) -> str:
    body = {
        "title": title,
        "query": f'SELECT count(*) AS n FROM "{DATASET}"',
        "thresholdConfig": {"operator": ">", "value": 1_000},
        "evalConfig": {"rollingWindow": {"evalStart": "5m", "evalEnd": "now", "evalFrequency": 1}},
        "notificationConfig": {"interval": 60},
        "targets": [],
    }
    made = service.call("POST", "/api/v1/alerts", json=body)
    made.raise_for_status()
    return str(made.json()["id"])


def notification_state(service: Service, alert: str) -> object:
    return service.call("GET", f"/api/v1/alerts/{alert}").json()["notificationState"]


def test_alert_is_silenced_and_speaks_again(visit: Callable[..., Visit], service: Service):
    alert = make_alert(service, "Console silence")
    page = visit().sign_in(path=f"/#/alerts/{alert}")

    page.get_by_role("button", name=re.compile("^Silence")).click()
    page.get_by_role("button", name="One hour").click()
    expect(page.get_by_text("silenced until")).to_be_visible()
    assert "mute" in notification_state(service, alert)
    page.get_by_role("link", name="Alerts", exact=True).click()
    expect(page.get_by_role("row", name=re.compile("Console silence"))).to_contain_text("silenced")
    page.get_by_role("link", name="Console silence").click()
    page.get_by_role("button", name="End the silence").click()
    expect(page.get_by_role("button", name=re.compile("^Silence"))).to_be_visible()

    assert notification_state(service, alert) == "notify"


def test_values_of_an_alert_are_drawn_beside_its_threshold(visit: Callable[..., Visit], service: Service):
    page = visit().sign_in(path=f"/#/alerts/{make_alert(service, 'Console drawn')}")

    expect(page.get_by_role("img", name="Values and the threshold > 1000").locator("canvas")).to_be_visible()


def test_target_is_made_and_tested(visit: Callable[..., Visit], start_service: Callable[..., Service]):
    """The test is a request that really arrives; what the receiver answers is shown."""
    service = start_service(workers=1, WEIR_ALERT_ALLOWED_HOSTS="127.0.0.1")
    here = visit()
    here.service = service
    page = here.sign_in(path="/#/alerts/targets")
    with receiving() as receiver:
        page.get_by_role("button", name="New target").click()
        dialog = page.get_by_role("dialog")
        dialog.get_by_label("Title").fill("Console hook")
        dialog.get_by_label(re.compile("^Address")).fill(f"{receiver.url}/hook")
        dialog.get_by_role("button", name="Save").click()
        row = page.get_by_role("row", name=re.compile("Console hook"))
        row.get_by_role("button", name="Test").click()
        expect(row.get_by_role("status")).to_have_text("delivered (200)")
        assert [each.path for each in receiver.wait_for(1)] == ["/hook"]

        receiver.answers = [(500, {})]
        row.get_by_role("button", name="Test").click()
        expect(row.get_by_role("status")).to_contain_text("not delivered")


def test_address_that_is_not_allowed_is_refused_in_words(visit: Callable[..., Visit]):
    """The shared service lets no notice go to this machine."""
    page = visit().sign_in(path="/#/alerts/targets")
    page.get_by_role("button", name="New target").click()
    dialog = page.get_by_role("dialog")

    dialog.get_by_label("Title").fill("Console inward")
    dialog.get_by_label(re.compile("^Address")).fill("http://127.0.0.1:9/hook")
    dialog.get_by_role("button", name="Save").click()

    expect(dialog.get_by_role("alert")).to_be_visible()
