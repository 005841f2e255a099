"""Pictures of every page, to be looked at: `python -m tests.console.pictures DIRECTORY`.

Those of the manual: `--manual`. Three widths, both themes. `--only explore` takes those whose name has these words.
"""

import argparse
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlencode

from playwright.sync_api import Browser, Page, sync_playwright

from tests.console import shop
from tests.running import ADMIN, ROOT, Service

SIZES = {390: 844, 1280: 800, 1920: 1080}
SCHEMES = ("light", "dark")
SETTLED_MS = 400
ENVIRONMENT = {"WEIR_ADMIN_USERNAME": ADMIN[0], "WEIR_ADMIN_PASSWORD": ADMIN[1], "WEIR_PG_BIND": ""}
# Of the manual and the README: name of the file, name of the view.
MANUAL = {"explore": "explore", "sql": "sql-parameter", "dashboard": "dashboard"}


ERRORS = (
    "SELECT service, count(*) AS errors\nFROM demo_logs\nWHERE level = 'error'\nGROUP BY service\nORDER BY errors DESC"
)
BY_HOST = (
    "SELECT host, count(*) AS requests, round(avg(duration_ms)) AS ms\nFROM demo_logs\nWHERE path = $1\n"
    "GROUP BY host\nORDER BY host"
)
MINUTES = (
    "SELECT date_trunc('minute', timestamp) AS minute, level, count(*) AS n FROM demo_logs GROUP BY 1, 2 ORDER BY 1"
)
BUCKETS = "sum by (le) (rate(http_server_duration_seconds_bucket[1m]))"


def explore(dataset: str = "demo_logs", **query: str) -> str:
    return f"/explore?{urlencode({'dataset': dataset, 'from': '1h', **query})}"


def statement(text: str, **query: str) -> str:
    return f"/sql?{urlencode({'q': text, 'from': '1h', **query})}"


def metrics(**query: str) -> str:
    return f"/metrics?{urlencode({'dataset': shop.METRICS, 'from': '30m', **query})}"


def views(made: dict[str, str]) -> dict[str, str]:
    """Name of each picture and the view behind `#`."""
    odd = "inventory-worker-eu-central-1"
    board, alert = f"/dashboards/{made['board']}?from=1h", f"/alerts/{made['alert']}"
    return {
        "explore": explore(),
        "explore-filters": explore(where="level = 'error' AND service = 'payment'"),
        "explore-patterns": explore(view="patterns"),
        "explore-trace": explore(trace=made["trace"]),
        "explore-live": explore(live="1"),
        "explore-wrap": explore(odd, wrap="1"),
        "explore-none": explore(where="level = 'fatal'"),
        "explore-error": explore(where="levle = 'error'"),
        "sql": statement(ERRORS),
        "sql-parameter": statement(BY_HOST, p1="/checkout"),
        "sql-chart": statement(MINUTES, chart="stacked-bar"),
        "sql-error": statement("SELECT levle\nFROM demo_logs"),
        "sql-empty": "/sql",
        "metrics": metrics(),
        "metrics-lines": metrics(q="shop_sessions"),
        "metrics-heat": metrics(q=BUCKETS, chart="heatmap"),
        "metrics-table": metrics(q="shop_sessions", chart="table"),
        "metrics-error": metrics(q="sum by job up"),
        "dashboards": "/dashboards",
        "dashboard": board,
        "dashboard-edit": f"{board}&edit=1",
        "alerts": "/alerts",
        "alert": alert,
        "alert-new": "/alerts/new",
        "alert-promql": "/alerts/new?" + urlencode({"q": "sum by (route) (shop_sessions)", "promql": shop.METRICS}),
        "alert-edit": f"{alert}/edit",
        "targets": "/alerts/targets",
        "datasets": "/datasets",
        "dataset": "/datasets/demo_logs",
        "dataset-conflict": f"/datasets/{odd}",
        "access-keys": "/access",
        "access-roles": "/access/roles",
        "access-users": "/access/users",
        "access-oidc": "/access/oidc",
        "access-audit": "/access/audit",
        "operations": "/operations",
        "api": "/api",
        "start": "/start",
        "nowhere": "/nowhere",
    }


@contextmanager
def shop_service() -> Iterator[Service]:
    with tempfile.TemporaryDirectory(prefix="weir-pictures-") as folder:
        service = Service(Path(folder), ENVIRONMENT).start()
        try:
            yield service
        finally:
            service.stop()


def signed_in(browser: Browser, service: Service, width: int, scheme: str, scale: float = 1) -> Page:
    context = browser.new_context(
        viewport={"width": width, "height": SIZES.get(width, 800)},
        color_scheme="dark" if scheme == "dark" else "light",
        device_scale_factor=scale,
    )
    page = context.new_page()
    page.goto(service.url)
    page.get_by_label("User name").fill(ADMIN[0])
    page.get_by_label("Password").fill(ADMIN[1])
    page.get_by_role("button", name="Sign in").click()
    page.get_by_role("navigation").wait_for()
    return page


def take(page: Page, view: str, path: Path, whole: bool) -> None:
    """One picture, once nothing is asked for any more."""
    page.evaluate("hash => { location.hash = hash }", view)
    quiet = 0
    for _ in range(150):
        page.wait_for_timeout(SETTLED_MS)
        # Twice: between the answer of one question and the next, nothing waits for a moment.
        quiet = quiet + 1 if page.locator(".wait.on").count() == 0 else 0
        if quiet == 2:
            break
    page.screenshot(path=path, full_page=whole)


def take_all(browser: Browser, service: Service, made: dict[str, str], arguments: argparse.Namespace) -> None:
    for width in arguments.widths:
        for scheme in arguments.schemes:
            page = signed_in(browser, service, width, scheme)
            for name, view in views(made).items():
                if arguments.only in name:
                    take(page, view, arguments.directory / f"{name}-{width}-{scheme}.png", whole=True)
            page.context.close()


def take_manual(browser: Browser, service: Service, made: dict[str, str]) -> None:
    page = signed_in(browser, service, 1280, "light")
    # Twice: the first questions of a service also wait for the start of its query processes.
    for name, view in [*MANUAL.items()] * 2:
        take(page, views(made)[view], ROOT / "docs" / "images" / f"{name}.png", whole=False)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("directory", type=Path, nargs="?", default=Path("pictures"))
    parser.add_argument("--only", default="")
    parser.add_argument("--widths", type=int, nargs="+", default=[*SIZES])
    parser.add_argument("--schemes", nargs="+", default=[*SCHEMES])
    parser.add_argument("--manual", action="store_true")
    arguments = parser.parse_args()
    arguments.directory.mkdir(parents=True, exist_ok=True)
    chromium = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    with shop_service() as service, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        made = shop.fill(service)
        if arguments.manual:
            take_manual(browser, service, made)
        else:
            take_all(browser, service, made, arguments)
        browser.close()


if __name__ == "__main__":
    main()
