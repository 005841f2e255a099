"""Dashboards by hand: tiles dragged and sized, panels of Grafana; and heat maps on the page of metrics."""

import json
import time
from collections.abc import Callable

import cramjam
import pytest

from ingest.proto.remote_write import WriteRequest
from tests.console.conftest import Page, Visit, sync_api
from tests.running import Service

pytestmark = pytest.mark.service
expect = sync_api.expect

METRICS = "console-boards-metrics"
BOUNDS = ("0.1", "1", "+Inf")
SECONDS = 300
STEP_SECONDS = 15


@pytest.fixture(scope="module", autouse=True)
def histogram(services: Callable[[str], Service]) -> None:
    """Five minutes of one histogram's buckets, as Prometheus sends them."""
    request, now_ms = WriteRequest(), time.time_ns() // 1_000_000
    for rank, bound in enumerate(BOUNDS, 1):
        series = request.timeseries.add()
        for label, text in {"__name__": "wait_seconds_bucket", "job": "shop", "le": bound}.items():
            series.labels.add(name=label, value=text)
        for ago in range(SECONDS, -1, -STEP_SECONDS):
            series.samples.add(value=float(rank * (SECONDS - ago)), timestamp=now_ms - 1000 * ago)
    headers = {"X-P-Stream": METRICS, "X-P-Log-Source": "otel-metrics", "Content-Encoding": "snappy"}
    headers |= {"Content-Type": "application/x-protobuf"}
    body = bytes(cramjam.snappy.compress_raw(request.SerializeToString()))
    services("fast").call("POST", "/v1/prometheus/write", data=body, headers=headers).raise_for_status()


def make_board(service: Service, title: str) -> str:
    tiles = [
        {"title": name, "query": f"SELECT {number} AS n", "chart": "number", "layout": {"x": x, "y": 0, "w": 4, "h": 4}}
        for number, (name, x) in enumerate([("Left", 0), ("Right", 4)])
    ]
    made = service.call("POST", "/api/v1/dashboards", json={"title": title, "tiles": tiles})
    made.raise_for_status()
    return str(made.json()["dashboardId"])


def drag(page: Page, x: float, y: float, by: tuple[float, float]) -> None:
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x + by[0] / 2, y + by[1] / 2, steps=4)
    page.mouse.move(x + by[0], y + by[1], steps=4)
    page.mouse.up()


def layouts(service: Service, board: str) -> dict[str, dict[str, int]]:
    tiles = service.call("GET", f"/api/v1/dashboards/{board}").json()["tiles"]
    return {each["title"]: each["layout"] for each in tiles}


def test_leaving_the_edit_keeps_the_places(visit: Callable[..., Visit], service: Service):
    board = make_board(service, "Console undo")
    before = layouts(service, board)
    page = visit().sign_in(path=f"/#/dashboards/{board}?edit=1")
    page.get_by_role("region", name="Left").wait_for()

    box = page.get_by_role("region", name="Left").locator("header").bounding_box()
    drag(page, box["x"] + 20, box["y"] + 10, (300, 0))
    page.get_by_role("button", name="Leave as it was").click()
    expect(page.get_by_role("button", name="Edit", exact=True)).to_be_visible()

    assert page.get_by_role("region", name="Left").bounding_box()["x"] == box["x"] - 1
    assert layouts(service, board) == before


def test_dragged_tile_stays_where_it_was_dropped(visit: Callable[..., Visit], service: Service):
    """Moved by its header, sized by its corner; the other tile gives way, and everybody sees it so afterwards."""
    board = make_board(service, "Console dragged")
    page = visit().sign_in(path=f"/#/dashboards/{board}?edit=1")
    left = page.get_by_role("region", name="Left")
    left.wait_for()
    cell = page.locator(".board").bounding_box()["width"] / 12

    box = left.locator("header").bounding_box()
    drag(page, box["x"] + 20, box["y"] + 10, (2 * cell, 0))
    box = left.bounding_box()
    drag(page, box["x"] + box["width"] - 6, box["y"] + box["height"] - 6, (2 * cell, 60))
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_role("button", name="Edit", exact=True)).to_be_visible()

    assert layouts(service, board) == {
        "Left": {"x": 2, "y": 0, "w": 6, "h": 5},
        "Right": {"x": 4, "y": 5, "w": 4, "h": 4},
    }
    page.reload()
    places = {name: page.get_by_role("region", name=name).bounding_box() for name in ("Left", "Right")}
    assert places["Left"]["y"] + places["Left"]["height"] < places["Right"]["y"]


def test_full_screen_keeps_the_theme_and_a_margin(visit: Callable[..., Visit], service: Service):
    page = visit(color_scheme="dark").sign_in(path=f"/#/dashboards/{make_board(service, 'Full screen')}")
    ground = page.evaluate("getComputedStyle(document.documentElement).backgroundColor")

    page.get_by_role("button", name="Full screen").click()

    page.wait_for_function("document.fullscreenElement !== null")
    style = "getComputedStyle(document.fullscreenElement)"
    assert page.evaluate(f"{style}.backgroundColor") == ground
    assert page.evaluate(f"{style}.paddingLeft") == "16px"
    expect(page.get_by_role("region", name="Right")).to_be_visible()


def test_panels_of_grafana_become_tiles(visit: Callable[..., Visit], service: Service):
    """SQL and PromQL come along, with their places; what is neither is named with the reason."""
    place = {"x": 0, "y": 0, "w": 12, "h": 8}
    panels = [
        {"id": 1, "title": "One", "type": "stat", "gridPos": place, "targets": [{"rawSql": "SELECT 41 + 1 AS answer"}]},
        {
            "id": 2,
            "title": "Waits",
            "type": "timeseries",
            "gridPos": {**place, "x": 12},
            "targets": [{"expr": "sum(rate(wait_seconds_bucket[$__rate_interval]))"}],
        },
        {"id": 3, "title": "Words", "type": "text", "gridPos": {**place, "y": 8}},
    ]
    page = visit().sign_in(path="/#/dashboards")
    page.get_by_role("button", name="Import from Grafana").click()
    dialog = page.get_by_role("dialog")

    dialog.get_by_label("Or its JSON").fill("{")
    expect(dialog.get_by_role("alert")).to_contain_text("This is no JSON")
    dialog.get_by_label("Or its JSON").fill(json.dumps({"title": "Console Grafana", "panels": panels}))
    expect(dialog).to_contain_text("Words: a text without SQL or PromQL")
    dialog.get_by_label("Dataset of its PromQL").select_option(METRICS)
    dialog.get_by_role("button", name="Import").click()

    expect(page.get_by_role("heading", name="Console Grafana")).to_be_visible()
    expect(page.get_by_role("region", name="One")).to_contain_text("42")
    waits = page.get_by_role("region", name="Waits")
    expect(waits.locator("canvas").first).to_be_visible()
    left, right = (page.get_by_role("region", name=name).bounding_box() for name in ("One", "Waits"))
    assert left["y"] == right["y"]
    assert left["x"] < right["x"]


def test_buckets_of_a_histogram_are_a_heat_map(visit: Callable[..., Visit]):
    page = visit().sign_in(path=f"/#/metrics?dataset={METRICS}&from=15m&chart=heatmap")

    page.get_by_role("textbox", name="PromQL").or_(page.get_by_role("combobox", name="PromQL")).fill(
        "sum by (le) (rate(wait_seconds_bucket[1m]))"
    )
    page.get_by_role("button", name="Ask").click()

    expect(page.get_by_text("3 rows from 0.1 to +Inf")).to_be_visible()
    # It is drawn when its width is known.
    page.wait_for_function(
        """() => {
          const canvas = document.querySelector("canvas[aria-label='Heat map']");
          const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
          return data.some((value, at) => at % 4 === 3 && value > 0);
        }"""
    )


def test_heat_map_without_buckets_says_what_to_ask(visit: Callable[..., Visit]):
    page = visit().sign_in(path=f"/#/metrics?dataset={METRICS}&from=15m&chart=heatmap&q=sum(wait_seconds_bucket)")

    expect(page.get_by_role("alert")).to_contain_text("sum by (le)")
