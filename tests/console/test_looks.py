"""What pictures of the pages have shown once: texts that were cut, wrapped or out of line, and buttons out of sight."""

import re
from collections.abc import Callable

import pytest

from tests.console.conftest import Page, Visit, sync_api
from tests.running import Service

pytestmark = pytest.mark.service
expect = sync_api.expect

DATASET = "console-looks"
PHONE = {"width": 390, "height": 844}
DESK = {"width": 1280, "height": 800}
WIDE = {"width": 1920, "height": 1080}
LONG = "payment refused by the bank of the customer: " + "no answer within 5000 ms, " * 4
UNBROKEN = "collector_of_the_production_cluster_in_frankfurt_01"
# Where an element's text ends, whatever its padding.
TEXT_END = (
    "each => { const r = document.createRange(); r.selectNodeContents(each); return r.getBoundingClientRect().right }"
)


@pytest.fixture(scope="module", autouse=True)
def looks(services: Callable[[str], Service]) -> dict[str, str]:
    """A dataset, a user, a target, an alert, and a dashboard with a tile that is higher than phones draw it."""
    service = services("fast")
    events = [{"level": level, "message": LONG, "took": took} for took in (7, 12_345) for level in ("info", "error")]
    service.ingest(DATASET, events).raise_for_status()
    service.call("PUT", "/api/v1/role/console-looks", json=[{"privilege": "reader"}]).raise_for_status()
    service.call("POST", "/api/v1/user/console-looks", json=["console-looks"]).raise_for_status()
    key = {"keyName": "fluent-bit-web-1", "roles": ["console-looks"], "expiresAt": "2099-12-31T23:59:59Z"}
    service.call("POST", "/api/console/v1/apikeys", json=key).raise_for_status()
    service.call("PUT", f"/api/v1/role/{UNBROKEN}", json=[{"privilege": "reader"}]).raise_for_status()
    service.call("POST", f"/api/v1/user/{UNBROKEN}", json=[UNBROKEN]).raise_for_status()
    unbroken = {"keyName": UNBROKEN, "roles": [UNBROKEN]}
    service.call("POST", "/api/console/v1/apikeys", json=unbroken).raise_for_status()
    target = {"name": "console looks", "type": "webhook", "endpoint": "https://hooks.example.com/weir"}
    service.call("POST", "/api/v1/targets", json=target).raise_for_status()
    over_time = f'SELECT p_timestamp AS at, level, took FROM "{DATASET}"'
    tile = {"title": "Took", "chart": "line", "query": over_time, "layout": {"x": 0, "y": 0, "w": 6, "h": 6}}
    board = service.call("POST", "/api/v1/dashboards", json={"title": "Console looks", "tiles": [tile]})
    board.raise_for_status()
    return {"board": board.json()["dashboardId"]}


def bottom(page: Page, selector: str) -> float:
    box = page.locator(selector).bounding_box()
    assert box is not None
    return box["y"] + box["height"]


@pytest.mark.parametrize("size", [PHONE, DESK], ids=["phone", "desk"])
def test_legend_of_a_tile_is_in_sight(visit: Callable[..., Visit], looks: dict[str, str], size: dict[str, int]):
    page = visit(viewport=size).sign_in(path=f"/#/dashboards/{looks['board']}?from=1h")
    page.locator(".tile .u-legend").wait_for()

    assert bottom(page, ".tile .u-legend") <= bottom(page, ".tile")


@pytest.mark.parametrize("size", [DESK, WIDE], ids=["desk", "wide"])
def test_first_and_latest_event_are_one_line_each(visit: Callable[..., Visit], size: dict[str, int]):
    page = visit(viewport=size).sign_in(path=f"/#/datasets/{DATASET}")
    facts = page.locator(".fact", has_text=re.compile("(First|Latest) event")).locator("b")
    facts.first.wait_for()

    lines = facts.evaluate_all(
        "all => all.map(each => { const r = document.createRange(); r.selectNodeContents(each);"
        " return [r.getClientRects().length, each.scrollWidth <= each.clientWidth] })"
    )

    assert lines == [[1, True]] * 2


def test_numbers_end_below_the_end_of_their_name(visit: Callable[..., Visit]):
    statement = f'SELECT took FROM "{DATASET}"'.replace(" ", "%20")
    page = visit().sign_in(path=f"/#/sql?q={statement}")
    name = page.get_by_role("columnheader", name="took").locator(".ellipsis")
    number = page.get_by_role("gridcell").first
    number.wait_for()

    assert abs(name.evaluate(TEXT_END) - number.evaluate(TEXT_END)) < 2


@pytest.mark.parametrize(
    "view", ["access", "access/users", "alerts/targets", f"explore?dataset={DATASET}&from=1h&view=patterns"]
)
def test_buttons_of_a_table_are_in_sight_on_a_phone(visit: Callable[..., Visit], view: str):
    page = visit(viewport=PHONE).sign_in(path=f"/#/{view}")
    page.locator(".list-table .actions-cell button").first.wait_for()

    ends = page.locator(".list-table .actions-cell button").evaluate_all(
        "all => all.map(each => each.getBoundingClientRect().right)"
    )

    assert max(ends) <= PHONE["width"]


def test_chosen_event_is_in_sight_on_a_phone(visit: Callable[..., Visit]):
    """The rows fill the screen, and what is below them would not be found."""
    page = visit(viewport=PHONE).sign_in(path=f"/#/explore?dataset={DATASET}&from=1h")
    page.get_by_role("gridcell").first.click()
    page.get_by_role("complementary", name="Event").wait_for()

    assert bottom(page, "aside.detail") <= PHONE["height"]


def test_wrapped_message_fits_a_phone(visit: Callable[..., Visit]):
    page = visit(viewport=PHONE).sign_in(path=f"/#/explore?dataset={DATASET}&from=1h&wrap=1")
    message = page.get_by_role("gridcell").filter(has_text="payment refused").first
    message.wait_for()

    assert message.evaluate(TEXT_END) <= PHONE["width"]


def test_refused_filter_can_be_removed(visit: Callable[..., Visit]):
    page = visit().sign_in(path=f"/#/explore?dataset={DATASET}&from=1h&where=nothing%20%3D%201")

    page.get_by_role("alert").get_by_role("button", name="Remove the filters").click()

    expect(page.get_by_role("gridcell").filter(has_text="payment refused").first).to_be_visible()


def test_window_is_titled_by_what_it_shows(visit: Callable[..., Visit], looks: dict[str, str]):
    """Of many tabs, one has to be found by its title."""
    page = visit().sign_in(path=f"/#/dashboards/{looks['board']}")
    expect(page).to_have_title("Console looks – Dashboards – Weir")

    page.get_by_role("link", name="Back to the list").click()

    expect(page).to_have_title("Dashboards – Weir")


def test_arrow_goes_into_the_rows_from_anywhere(visit: Callable[..., Visit]):
    page = visit().sign_in(path=f"/#/explore?dataset={DATASET}&from=1h")
    page.get_by_role("gridcell").first.wait_for()

    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")

    expect(page.get_by_role("row", selected=True)).to_have_attribute("aria-rowindex", "3")


def test_old_content_is_marked_while_the_server_is_away(visit: Callable[..., Visit]):
    page = visit().sign_in(path="/#/alerts")
    page.get_by_role("heading", level=1, name="Alerts").wait_for()
    notice = page.get_by_text("The server does not answer since")

    page.context.set_offline(True)
    expect(notice).to_be_visible()
    page.context.set_offline(False)

    expect(notice).to_have_count(0)


def test_link_to_another_dataset_of_metrics_is_not_answered_by_one(visit: Callable[..., Visit], service: Service):
    kind = {"X-P-Telemetry-Type": "metrics"}
    service.ingest("console-looks-metrics", [{"metric_name": "up", "value": 1}], **kind).raise_for_status()
    page = visit().sign_in(path="/#/metrics?dataset=console-looks-gone&q=up")

    page.get_by_role("button", name="Choose another one").click()

    expect(page.get_by_role("combobox", name="Dataset")).to_be_visible()
