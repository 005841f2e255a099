"""A real browser: the distribution's Chromium, driven by Playwright. Without either, these tests are skipped."""

import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import pytest

from tests.running import ADMIN, Service

sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
# Other tests may use both cores meanwhile.
PATIENCE_MS = 60_000

sync_api.expect.set_options(timeout=PATIENCE_MS)
Browser, Page = sync_api.Browser, sync_api.Page
PRIVILEGES = ("ingestor", "reader", "writer", "admin")


@dataclass
class Visit:
    """A page with what happened on it: addresses that were asked for, and errors of its scripts."""

    page: Page
    service: Service
    addresses: list[str] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)

    def sign_in(self, name: str = ADMIN[0], password: str = ADMIN[1], path: str = "/") -> Page:
        """Sign in as people do, at the view of `path`."""
        self.page.goto(self.service.url + path)
        self.page.get_by_label("User name").fill(name)
        self.page.get_by_label("Password").fill(password)
        self.page.get_by_role("button", name="Sign in").click()
        self.page.get_by_role("navigation").wait_for()
        return self.page

    def open(self, view: str) -> Page:
        """Go to a view of the page that is loaded."""
        self.page.evaluate("hash => { location.hash = hash }", view)
        return self.page


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    if CHROMIUM is None:
        pytest.skip("Chromium is not installed (apt-get install chromium)")
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture
def visit(browser: Browser, service: Service) -> Iterator[Callable[..., Visit]]:
    """A function that gives a browser of its own, without cookies: `visit(viewport={"width": 390, "height": 844})`."""
    contexts = []

    def visit(**options: object) -> Visit:
        context = browser.new_context(**{"viewport": {"width": 1280, "height": 800}, **options})
        context.set_default_timeout(PATIENCE_MS)
        contexts.append(context)
        made = Visit(context.new_page(), service)
        made.page.on("request", lambda request: made.addresses.append(request.url))
        made.page.on("pageerror", lambda error: made.faults.append(str(error)))
        made.page.on("console", lambda told: _note(made, told))
        return made

    yield visit
    for context in contexts:
        context.close()


def _note(made: Visit, told: object) -> None:
    """A policy that is broken, or markup that is refused, is told in the console alone."""
    text = str(getattr(told, "text", ""))
    if getattr(told, "type", "") == "error" and ("Content Security Policy" in text or "TrustedHTML" in text):
        made.faults.append(text)


@pytest.fixture(scope="session")
def people(services: Callable[[str], Service]) -> dict[str, tuple[str, str]]:
    """A user for each privilege, with the password that it was given."""
    service, made = services("fast"), {"admin": ADMIN}
    for privilege in PRIVILEGES[:-1]:
        name = f"console-{privilege}"
        service.call("PUT", f"/api/v1/role/{name}", json=[{"privilege": privilege}]).raise_for_status()
        answer = service.call("POST", f"/api/v1/user/{name}", json=[name], headers={"Accept": "application/json"})
        made[privilege] = (name, answer.json())
    return made
