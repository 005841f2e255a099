"""What somebody on call does at night: zoom, look around, follow a trace, single out a pattern, stop a query."""

import re
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import cramjam
import pytest

from ingest.proto.remote_write import WriteRequest
from tests.console.conftest import Page, Visit, sync_api
from tests.console.test_boards import drag
from tests.running import Service

pytestmark = pytest.mark.service
expect = sync_api.expect

LOGS, SPANS, METRICS = "console-night", "console-night-spans", "console-night-metrics"
TRACE = "4bf92f3577b34da6a3ce929d0e0e4736"
MINUTES = 60


@pytest.fixture(scope="module", autouse=True)
def events(services: Callable[[str], Service]) -> None:
    """An event a minute for an hour, whose times are its own; a trace of three spans; a gauge."""
    service, now = services("fast"), datetime.now(UTC)
    logs = [
        {
            "at": (now - timedelta(minutes=number)).isoformat(),
            "level": "error" if number % 10 == 0 else "info",
            "message": f"job {number} failed" if number % 10 == 0 else f"job {number} done in {number * 7} ms",
            "trace_id": TRACE,
        }
        for number in range(MINUTES)
    ]
    service.ingest(LOGS, logs, **{"X-P-Time-Partition": "at"}).raise_for_status()
    spans = [
        {
            "start_time": (now - timedelta(minutes=1)).isoformat(),
            "trace_id": TRACE,
            "span_id": str(number),
            "parent_span_id": str(number - 1) if number else None,
            "service": "shop",
            "name": f"step {number}",
            "duration_ms": 30 - 10 * number,
            "status": "ok",
        }
        for number in range(3)
    ]
    kind = {"X-P-Time-Partition": "start_time", "X-P-Telemetry-Type": "traces"}
    service.ingest(SPANS, spans, **kind).raise_for_status()
    send_gauge(service)


def send_gauge(service: Service) -> None:
    request = WriteRequest()
    series = request.timeseries.add()
    for label, text in {"__name__": "night_jobs", "host": "a"}.items():
        series.labels.add(name=label, value=text)
    series.samples.add(value=5.0, timestamp=time.time_ns() // 1_000_000)
    headers = {"X-P-Stream": METRICS, "X-P-Log-Source": "otel-metrics", "Content-Encoding": "snappy"}
    headers |= {"Content-Type": "application/x-protobuf"}
    body = bytes(cramjam.snappy.compress_raw(request.SerializeToString()))
    service.call("POST", "/v1/prometheus/write", data=body, headers=headers).raise_for_status()


def explore(visit: Callable[..., Visit]) -> Page:
    page = visit().sign_in(path=f"/#/explore?dataset={LOGS}&from=2h")
    expect(page.get_by_text("60 rows", exact=True)).to_be_visible()
    return page


def test_dragging_on_the_bars_zooms(visit: Callable[..., Visit]):
    """The range is fixed then, stands in the address, and leads back."""
    page = explore(visit)
    plot = page.locator(".histogram .u-over")
    plot.wait_for()
    box = plot.bounding_box()

    drag(page, box["x"] + box["width"] * 0.75, box["y"] + 40, (box["width"] * 0.125, 0))

    expect(page).to_have_url(re.compile(r"from=\d{13}&to=\d{13}"))
    expect(page.get_by_text(re.compile(r"^1[3-7] rows$"))).to_be_visible()
    page.go_back()
    expect(page.get_by_text("60 rows", exact=True)).to_be_visible()


def test_event_shows_what_happened_around_it(visit: Callable[..., Visit]):
    """Whatever the filters are."""
    page = visit().sign_in(path=f"/#/explore?dataset={LOGS}&from=2h&where=level%20%3D%20'error'")
    page.get_by_role("gridcell", name="job 20 failed").click()

    page.get_by_role("button", name="Around it").click()

    around = page.get_by_role("dialog")
    expect(around.get_by_role("gridcell", name="job 21 done in 147 ms")).to_be_visible()
    expect(around.get_by_role("gridcell", name="job 19 done in 133 ms")).to_be_visible()
    expect(around.locator('.grid-row[aria-selected="true"]')).to_contain_text("job 20 failed")


def test_trace_is_a_waterfall(visit: Callable[..., Visit]):
    page = explore(visit)
    page.get_by_role("gridcell", name="job 10 failed").click()

    page.get_by_role("button", name="Trace", exact=True).click()

    expect(page.get_by_text(f"3 spans in {SPANS}")).to_be_visible()
    names = page.locator(".span .who")
    expect(names).to_have_text(["shop · step 0", "shop · step 1", "shop · step 2"])
    indents = names.evaluate_all("all => all.map((each) => parseFloat(each.style.paddingLeft))")
    assert indents == sorted(set(indents))
    widths = page.locator(".span .lane i").evaluate_all("all => all.map((each) => each.offsetWidth)")
    assert widths[0] > widths[1] > widths[2]


def test_pattern_is_singled_out_and_left_out(visit: Callable[..., Visit]):
    page = visit().sign_in(path=f"/#/explore?dataset={LOGS}&from=2h&view=patterns")

    row = page.get_by_role("row", name=re.compile("job <n> failed"))
    expect(row).to_contain_text("6")
    row.get_by_role("button", name="Not these").click()

    expect(page.get_by_text("54 rows", exact=True)).to_be_visible()
    expect(page.get_by_role("gridcell", name=re.compile("failed"))).to_have_count(0)


def test_variable_of_a_dashboard_narrows_its_tiles(visit: Callable[..., Visit], service: Service):
    count = f"SELECT count(*) AS n FROM \"{LOGS}\" WHERE '$level' = '*' OR level = '$level'"
    body = {
        "title": "Console night",
        "tiles": [{"title": "Jobs", "chart": "number", "query": count}],
        "variables": [{"name": "level", "query": f'SELECT DISTINCT level FROM "{LOGS}" ORDER BY 1', "value": "*"}],
    }
    board = service.call("POST", "/api/v1/dashboards", json=body).json()["dashboardId"]
    page = visit().sign_in(path=f"/#/dashboards/{board}?from=2h")
    tile = page.get_by_role("region", name="Jobs")
    expect(tile).to_contain_text("60")

    page.get_by_label("level").select_option("error")

    expect(tile.locator(".big")).to_have_text(re.compile("^6"))
    expect(page).to_have_url(re.compile("var-level=error"))


def test_alert_in_promql_is_tried_and_keeps_its_language(visit: Callable[..., Visit], service: Service):
    page = visit().sign_in(path=f"/#/metrics?dataset={METRICS}&from=15m&q=sum(last_over_time(night_jobs[1h]))")
    page.get_by_role("button", name="To an alert").click()
    expect(page.get_by_role("combobox", name="Dataset")).to_have_value(METRICS)

    page.get_by_label("Title").fill("Console night jobs")
    page.get_by_label("Threshold").fill("3")
    page.get_by_role("button", name="Try").click()
    expect(page.get_by_role("heading", name="Now it would trigger")).to_be_visible()
    page.get_by_role("button", name="Save").click()
    page.get_by_role("button", name="Edit", exact=True).click()
    page.get_by_label("Threshold").fill("4")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_role("heading", name="Console night jobs")).to_be_visible()
    expect(page.get_by_text("> 4", exact=True)).to_be_visible()

    alert = service.call("GET", f"/api/v1/alerts/{page.url.rsplit('/', 1)[1]}").json()
    assert (alert["queryType"], alert["datasets"]) == ("promql", [METRICS])


def test_query_is_killed_from_operations(visit: Callable[..., Visit]):
    """Who asked is told; who looks on sees it go."""
    mark = f"killed_{time.time_ns()}"
    asking = visit().sign_in(path="/#/sql")
    asking.get_by_role("textbox", name="SQL statement").fill(
        f"SELECT count(*) AS {mark} FROM generate_series(1, 100000) a, generate_series(1, 100000) b WHERE a.a * b.b = 7"
    )
    asking.get_by_role("button", name="Run").click()
    expect(asking.get_by_role("button", name="Cancel")).to_be_visible()
    page = visit().sign_in(path="/#/operations")

    # A query that took a while is among the slow ones afterwards.
    under_way = page.locator(".panel", has=page.get_by_role("heading", name="Queries under way"))
    row = under_way.get_by_role("row", name=re.compile(mark))
    row.get_by_role("button", name="Kill").click()

    expect(row).to_have_count(0)
    expect(asking.get_by_role("alert")).to_be_visible()
    expect(asking.get_by_role("button", name="Explain")).to_be_visible()


def test_operations_tell_of_slow_queries_that_have_ended(
    visit: Callable[..., Visit], start_service: Callable[..., Service]
):
    """Once they are gone from the list of those under way."""
    service = start_service(WEIR_SLOW_QUERY_SECONDS="0.000001")
    service.query("SELECT 'first' AS mark, count(*) AS n FROM generate_series(1, 1000)")
    service.call("POST", "/api/v1/query", json={"query": "SELECT second FROM nowhere"})
    here = visit()
    here.service = service
    page = here.sign_in(path="/#/operations")
    panel = page.locator(".panel", has=page.get_by_role("heading", name="Slow queries of the last day"))

    expect(panel.get_by_role("row", name=re.compile("'first'"))).to_contain_text("done")
    expect(panel.get_by_role("row", name=re.compile("second"))).to_contain_text("dataset not found")

    panel.get_by_role("combobox", name="Order").select_option("latest")

    expect(panel.get_by_role("row").nth(1)).to_contain_text("second")


def test_page_says_that_the_server_does_not_answer(visit: Callable[..., Visit]):
    page = visit().sign_in(path="/#/sql?q=SELECT%201%20AS%20one")
    expect(page.get_by_role("gridcell", name="1", exact=True)).to_be_visible()

    page.context.set_offline(True)
    page.get_by_role("button", name="Run").click()
    expect(page.get_by_role("alert")).to_contain_text("The server does not answer")
    page.context.set_offline(False)
    page.get_by_role("button", name="Run").click()

    expect(page.get_by_role("gridcell", name="1", exact=True)).to_be_visible()
