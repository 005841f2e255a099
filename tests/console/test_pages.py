"""Every page by every privilege, as people see it (api.md section 11)."""

import re
from collections.abc import Callable

import pytest

from tests.console.conftest import PRIVILEGES, Visit, sync_api
from tests.running import Service

pytestmark = pytest.mark.service
expect = sync_api.expect

PAGES = ("Explore", "SQL", "Metrics", "Dashboards", "Alerts", "Datasets", "Access", "Operations", "API")
# Those that need no more than an identity.
OPEN_TO_ALL = ("Access", "API")


@pytest.fixture(scope="module", autouse=True)
def events(services: Callable[[str], Service]) -> None:
    services("fast").ingest("console-pages", [{"level": "error", "message": "it broke"}]).raise_for_status()


def test_sign_in_by_keyboard_and_sign_out(visit: Callable[..., Visit], people: dict[str, tuple[str, str]]):
    here = visit()
    page = here.sign_in(*people["reader"])

    expect(page.get_by_role("link", name="Explore")).to_have_attribute("aria-current", "page")
    page.get_by_role("button", name="Sign out").click()
    expect(page.get_by_role("button", name="Sign in")).to_be_visible()
    page.reload()
    expect(page.get_by_label("User name")).to_be_visible()


def test_wrong_password_is_said_in_words(visit: Callable[..., Visit], service: Service):
    page = visit().page
    page.goto(service.url)
    page.get_by_label("User name").fill("nobody")
    page.get_by_label("Password").fill("wrong")

    page.get_by_role("button", name="Sign in").click()

    expect(page.get_by_role("alert")).to_contain_text("Name or password is wrong")


@pytest.mark.parametrize("privilege", PRIVILEGES)
def test_every_page_by_privilege(visit: Callable[..., Visit], people: dict[str, tuple[str, str]], privilege: str):
    """What one may not see says which privilege it needs; nothing fails, nothing is fetched from elsewhere."""
    here = visit()
    page = here.sign_in(*people[privilege])

    for name in PAGES:
        page.get_by_role("navigation").get_by_role("link", name=name, exact=True).click()
        expect(page.get_by_role("heading", level=1)).to_be_visible()
        expect(page.get_by_role("link", name=name, exact=True)).to_have_attribute("aria-current", "page")
        refused = page.get_by_text("This needs the privilege reader")
        expect(refused).to_be_visible() if privilege == "ingestor" and name not in OPEN_TO_ALL else expect(
            refused
        ).to_have_count(0)
    assert here.faults == []
    assert {address for address in here.addresses if not address.startswith(here.service.url)} == set()


def test_only_administrators_get_the_forms_of_access(visit: Callable[..., Visit], people: dict[str, tuple[str, str]]):
    page = visit().sign_in(*people["writer"], path="/#/access")

    expect(page.get_by_role("heading", name="What you may do")).to_be_visible()
    expect(page.get_by_role("button", name="Create")).to_have_count(0)


def test_key_is_made_and_its_secret_works(visit: Callable[..., Visit], service: Service):
    service.call("PUT", "/api/v1/role/console-maker", json=[{"privilege": "reader"}]).raise_for_status()
    page = visit().sign_in(path="/#/access")

    page.get_by_label("Name", exact=True).fill("console-made")
    page.get_by_label("console-maker").check()
    page.get_by_role("button", name="Create").click()
    secret = page.get_by_role("dialog").locator("code").first.inner_text()

    assert re.fullmatch(r"[0-9a-f-]{36}", secret)
    assert service.call("GET", "/api/v1/session", headers={"X-API-Key": secret}).json()["name"] == "console-made"
    for sender in ("curl", "Fluent Bit", "OpenTelemetry", "Prometheus", "psql"):
        page.get_by_role("dialog").get_by_role("tab", name=sender).click()
        expect(page.get_by_role("dialog").locator("pre")).to_contain_text(secret)


def test_refusal_is_shown_as_the_server_says_it(visit: Callable[..., Visit], service: Service):
    service.call("POST", "/api/console/v1/apikeys", json={"keyName": "console-twice", "roles": []})
    page = visit().sign_in(path="/#/access")

    page.get_by_label("Name", exact=True).fill("console-twice")
    page.get_by_role("button", name="Create").click()

    expect(page.get_by_role("alert")).to_contain_text("key_name_taken")


def test_statement_runs_by_button_and_by_key(visit: Callable[..., Visit]):
    page = visit().sign_in(path="/#/sql")
    editor = page.get_by_role("textbox", name="SQL statement")

    editor.fill("SELECT 40 + 2 AS answer")
    page.get_by_role("button", name="Run").click()
    expect(page.get_by_role("gridcell", name="42")).to_be_visible()
    editor.fill("SELECT 40 + 3 AS answer")
    editor.press("Control+Enter")
    expect(page.get_by_role("gridcell", name="43")).to_be_visible()


def test_error_shows_its_position_and_marks_it(visit: Callable[..., Visit]):
    page = visit().sign_in(path="/#/sql")

    page.get_by_role("textbox", name="SQL statement").fill('SELECT nothing FROM "console-pages"')
    page.get_by_role("button", name="Run").click()

    expect(page.get_by_role("alert")).to_contain_text("Position 8: line 1, column 8")
    expect(page.locator(".cm-fault")).to_have_text("nothing")


def test_history_is_kept_on_the_server(visit: Callable[..., Visit], people: dict[str, tuple[str, str]]):
    page = visit().sign_in(*people["reader"], path="/#/sql")
    page.get_by_role("textbox", name="SQL statement").fill("SELECT 'remembered' AS word")
    page.get_by_role("button", name="Run").click()
    expect(page.get_by_role("gridcell", name="remembered")).to_be_visible()

    elsewhere = visit().sign_in(*people["reader"], path="/#/sql")
    elsewhere.get_by_role("tab", name="History").click()

    expect(elsewhere.get_by_role("button", name="SELECT 'remembered' AS word")).to_be_visible()


def test_empty_service_shows_how_to_send_the_first_event(
    visit: Callable[..., Visit], start_service: Callable[..., Service]
):
    """Live: the page sees the event arrive by itself."""
    fresh, here = start_service(workers=1), visit()
    here.service = fresh
    page = here.sign_in()
    expect(page.get_by_role("heading", name="Send the first event")).to_be_visible()

    page.get_by_role("button", name="Make the key").click()
    secret = page.locator(".panel code").first.inner_text()
    fresh.call(
        "POST", "/api/v1/ingest", json={"message": "hello"}, headers={"X-API-Key": secret, "X-P-Stream": "app"}
    ).raise_for_status()

    page.get_by_role("button", name="Look at it").click()
    expect(page.get_by_role("gridcell", name="hello")).to_be_visible()


def test_dashboard_is_made_and_drawn(visit: Callable[..., Visit]):
    page = visit().sign_in(path="/#/dashboards")
    page.get_by_role("button", name="New dashboard").click()
    page.get_by_label("Title").fill("Console board")
    page.get_by_role("dialog").get_by_role("button", name="Add").click()

    page.get_by_role("button", name="+ Tile").click()
    page.get_by_role("dialog").get_by_label("Title").fill("Broken things")
    page.get_by_role("dialog").get_by_label("Statement").fill('SELECT count(*) + 1000 AS n FROM "console-pages"')
    page.get_by_role("dialog").get_by_label("Chart").select_option("number")
    page.get_by_role("button", name="Keep").click()
    page.get_by_role("button", name="Save").click()

    expect(page.get_by_role("region", name="Broken things")).to_contain_text(re.compile(r"1,\d{3}"))
    expect(page.get_by_role("button", name="Edit")).to_be_visible()


def test_alert_is_tried_before_it_is_saved(visit: Callable[..., Visit]):
    page = visit().sign_in(path="/#/alerts/new")
    page.get_by_label("Title").fill("Console alert")
    page.get_by_label("Statement over one dataset").fill('SELECT count(*) AS n FROM "console-pages"')

    page.get_by_role("button", name="Try").click()
    expect(page.get_by_role("heading", name=re.compile("Now it would"))).to_be_visible()
    page.get_by_role("button", name="Save").click()

    expect(page.get_by_role("heading", name="Console alert")).to_be_visible()


def test_dataset_is_deleted_by_its_typed_name(visit: Callable[..., Visit], service: Service):
    service.ingest("console-gone", [{"a": 1}]).raise_for_status()
    page = visit().sign_in(path="/#/datasets/console-gone")
    page.get_by_role("button", name="Delete").click()
    dialog = page.get_by_role("dialog")

    expect(dialog.get_by_role("button", name="Delete")).to_be_disabled()
    dialog.get_by_label("Type console-gone to delete it").fill("console-gone")
    dialog.get_by_role("button", name="Delete").click()

    expect(page.get_by_role("heading", name="Datasets")).to_be_visible()
    assert service.call("GET", "/api/v1/logstream/console-gone/schema").status_code == 404


def test_dataset_page_shows_what_each_key_sends(visit: Callable[..., Visit], service: Service):
    key = service.make_key("console-shipper", {"privilege": "ingestor", "resource": {"dataset": "console-sent"}})
    service.ingest("console-sent", [{"a": 1}] * 50, **{"X-API-Key": key}).raise_for_status()
    service.ingest("console-sent", [{"a": 1}]).raise_for_status()

    page = visit().sign_in(path="/#/datasets/console-sent")
    row = page.get_by_role("row", name=re.compile("console-shipper API key"))

    # The page asks again by itself: workers add what they counted every few seconds.
    expect(row).to_contain_text("API key", timeout=30_000)
    expect(row.get_by_role("cell").nth(5)).to_have_text("50")
    expect(page.get_by_role("row", name=re.compile("admin user"))).to_be_visible()
    expect(page.get_by_role("img", name="Bytes per second by sender")).to_be_visible()


def test_senders_are_for_administrators(
    visit: Callable[..., Visit], service: Service, people: dict[str, tuple[str, str]]
):
    service.ingest("console-unsent", [{"a": 1}]).raise_for_status()

    page = visit().sign_in(*people["reader"], path="/#/datasets/console-unsent")

    expect(page.get_by_role("heading", name="Latest events")).to_be_visible()
    expect(page.get_by_role("heading", name="By key and user")).to_have_count(0)
