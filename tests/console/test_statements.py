"""The SQL page: statements beside each other, parameters, completion, plan, charts, and where a statement goes next."""

import re
from collections.abc import Callable

import pytest

from tests.console.conftest import Page, Visit, sync_api
from tests.running import Service

pytestmark = pytest.mark.service
expect = sync_api.expect

DATASET = "console_statements"


@pytest.fixture(scope="module", autouse=True)
def events(services: Callable[[str], Service]) -> None:
    """Four events, also if other modules' tests come between those of this one and it is set up again."""
    rows = [{"level": level, "number": number} for number, level in enumerate(["info", "warn", "error", "error"])]
    service = services("fast")
    service.call("DELETE", f"/api/v1/logstream/{DATASET}")
    service.ingest(DATASET, rows).raise_for_status()


def editor(page: Page):
    return page.get_by_role("textbox", name="SQL statement")


def test_statements_stand_beside_each_other(visit: Callable[..., Visit]):
    """Each has its own address and keeps its result; closing one shows its neighbour; reloading loses none."""
    page = visit().sign_in(path="/#/sql?q=SELECT%20'one'%20AS%20word")
    expect(page.get_by_role("gridcell", name="one")).to_be_visible()

    page.get_by_role("button", name="New statement").click()
    expect(page.get_by_role("gridcell", name="one")).to_have_count(0)
    editor(page).fill("SELECT 'two' AS word")
    page.get_by_role("button", name="Run").click()
    expect(page.get_by_role("gridcell", name="two")).to_be_visible()
    assert "two" in page.url
    page.get_by_role("tab", name="SELECT 'one' AS word").click()
    expect(page.get_by_role("gridcell", name="one")).to_be_visible()
    expect(page).to_have_url(re.compile("one"))
    page.reload()
    expect(page.get_by_role("tab", name="SELECT 'two' AS word")).to_be_visible()
    expect(page.get_by_role("gridcell", name="one")).to_be_visible()
    page.get_by_role("button", name="Close", exact=True).click()

    expect(page.get_by_role("gridcell", name="two")).to_be_visible()
    expect(page.get_by_role("tab", name="SELECT 'one' AS word")).to_have_count(0)


def test_parameters_are_values_and_stand_in_the_address(visit: Callable[..., Visit]):
    """What is entered reaches the statement as a value: never as SQL."""
    page = visit().sign_in(path="/#/sql")
    editor(page).fill(f"SELECT count(*) AS n, $2 AS word FROM {DATASET} WHERE level = $1")
    expect(page.get_by_label("Parameter $2")).to_be_visible()

    page.get_by_label("Parameter $1").fill("error")
    page.get_by_label("Parameter $2").fill("it's' OR 1=1 --")
    page.get_by_label("Parameter $2").press("Enter")

    expect(page.get_by_role("gridcell", name="2", exact=True)).to_be_visible()
    expect(page.get_by_role("gridcell", name="it's' OR 1=1 --")).to_be_visible()
    there = visit()
    other = there.sign_in(path=page.url.removeprefix(there.service.url))
    expect(other.get_by_role("gridcell", name="it's' OR 1=1 --")).to_be_visible()


def test_what_is_typed_fast_is_not_taken_back(visit: Callable[..., Visit]):
    """The page learns of each key later than the editor does."""
    page = visit().sign_in(path="/#/sql")
    text = f"SELECT count(*) AS typed_fast FROM {DATASET} WHERE number > 0 AND number < 3 -- without a break"

    editor(page).press_sequentially(text)

    expect(editor(page)).to_have_text(text)


def test_functions_are_completed_with_their_types(visit: Callable[..., Visit]):
    page = visit().sign_in(path="/#/sql")

    editor(page).press_sequentially("SELECT date_bi")

    offered = page.locator(".cm-tooltip-autocomplete li", has_text="date_bin")
    expect(offered.first).to_contain_text("interval")
    expect(offered.first).to_contain_text("→ timestamp")


def test_columns_are_completed_with_their_types(visit: Callable[..., Visit]):
    page = visit().sign_in(path="/#/sql")
    # The names are there once the list beside the statement is.
    expect(page.get_by_role("button", name=f"Insert {DATASET}")).to_be_visible()
    editor(page).fill(f"SELECT  FROM {DATASET}")
    for _ in range(len(f" FROM {DATASET}")):
        editor(page).press("ArrowLeft")

    editor(page).press_sequentially("num")

    expect(page.locator(".cm-tooltip-autocomplete li", has_text="number").first).to_contain_text(f"bigint · {DATASET}")


def test_plan_is_shown(visit: Callable[..., Visit]):
    page = visit().sign_in(path="/#/sql")
    editor(page).fill(f"SELECT level, count(*) FROM {DATASET} WHERE number > $1 GROUP BY level")
    page.get_by_label("Parameter $1").fill("1")

    page.get_by_role("button", name="Explain").click()

    expect(page.locator("pre.code")).to_contain_text("Answer:")


def test_result_is_drawn_and_goes_to_a_dashboard(visit: Callable[..., Visit]):
    """A tile has no parameters: they are filled in."""
    page = visit().sign_in(path="/#/sql")
    editor(page).fill(f"SELECT level, count(*) AS n FROM {DATASET} WHERE number >= $1 GROUP BY level ORDER BY n DESC")
    page.get_by_label("Parameter $1").fill("2")
    page.get_by_role("button", name="Run").click()
    page.get_by_label("Shown as").select_option("bar")
    expect(page.locator(".bars")).to_contain_text("error")

    page.get_by_role("button", name="To a dashboard").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Title of the tile").fill("By level")
    dialog.get_by_label("Its title").fill("Console statements")
    dialog.get_by_role("button", name="Add").click()

    expect(page.get_by_role("heading", name="Console statements")).to_be_visible()
    tile = page.get_by_role("region", name="By level")
    expect(tile.locator(".bars")).to_contain_text("error")
    expect(tile.locator(".bars")).not_to_contain_text("info")


def test_statement_goes_to_an_alert(visit: Callable[..., Visit]):
    page = visit().sign_in(path="/#/sql")
    editor(page).fill(f"SELECT count(*) AS n FROM {DATASET} WHERE level = $1")
    page.get_by_label("Parameter $1").fill("error")
    page.get_by_role("button", name="Run").click()
    expect(page.get_by_role("gridcell", name="2", exact=True)).to_be_visible()

    page.get_by_role("button", name="To an alert").click()

    expect(page.get_by_label("Statement over one dataset")).to_have_value(
        f"SELECT count(*) AS n FROM {DATASET} WHERE level = 'error'"
    )


def test_cancelled_statement_says_so(visit: Callable[..., Visit]):
    page = visit().sign_in(path="/#/sql")
    editor(page).fill(
        "SELECT count(*) AS n FROM generate_series(1, 100000) a, generate_series(1, 100000) b WHERE a.a * b.b = 7"
    )
    page.get_by_role("button", name="Run").click()

    page.get_by_role("button", name="Cancel").click()

    expect(page.get_by_text("The statement stopped before its result was there.")).to_be_visible()
    expect(page.get_by_text("Ask something")).to_have_count(0)
