"""Single sign-on, tenants, roles with what they come to, users, and the audit, as an administrator sees them."""

import re
from collections.abc import Callable, Iterator

import pytest

from tests.console.conftest import Visit, sync_api
from tests.openid_provider import Running, running_provider
from tests.running import Service, wait_until

# The provider's own use of its libraries, not ours.
pytestmark = [pytest.mark.service, pytest.mark.filterwarnings("ignore::DeprecationWarning:authlib")]
expect = sync_api.expect

SUBJECT = "ann@example.com"


@pytest.fixture
def provider(monkeypatch: pytest.MonkeyPatch) -> Iterator[Running]:
    monkeypatch.setenv("AUTHLIB_INSECURE_TRANSPORT", "1")
    with running_provider() as found:
        yield found


def visit_of(visit: Callable[..., Visit], service: Service) -> Visit:
    """A browser that asks a service of the test's own, and nobody beyond this machine."""
    here = visit()
    here.service = service
    # The provider's page names a style sheet of the internet.
    here.page.route("https://**/*", lambda route: route.abort())
    return here


def test_single_sign_on_leads_back_to_the_view(
    visit: Callable[..., Visit], start_service: Callable[..., Service], provider: Running
):
    """By the provider and back, with the roles that its groups name; the view behind `#` is kept; out again."""
    service = start_service(
        workers=1,
        WEIR_OIDC_ISSUER=provider.url,
        WEIR_OIDC_CLIENT_ID="weir",
        WEIR_OIDC_CLIENT_SECRET="secret",
    )
    service.call("PUT", "/api/v1/role/watchers", json=[{"privilege": "reader"}]).raise_for_status()
    provider.set_claims(SUBJECT, groups=["watchers"])
    page = visit_of(visit, service).page

    page.goto(f"{service.url}/#/datasets")
    page.get_by_role("link", name="Continue with single sign-on").click()
    page.get_by_placeholder("sub").fill(SUBJECT)
    page.get_by_role("button", name="Authorize").click()

    expect(page.get_by_role("heading", name="Datasets")).to_be_visible()
    expect(page.get_by_title(re.compile("watchers"))).to_be_visible()
    page.get_by_role("link", name="Access", exact=True).click()
    expect(page.get_by_role("cell", name="all other datasets")).to_be_visible()
    page.get_by_role("button", name="Sign out").click()
    page.wait_for_url(lambda url: not url.startswith(service.url) or url.endswith("/"))
    page.goto(service.url)
    expect(page.get_by_role("link", name="Continue with single sign-on")).to_be_visible()


def test_access_tells_of_the_provider_and_its_default_role(
    visit: Callable[..., Visit], start_service: Callable[..., Service], provider: Running
):
    service = start_service(workers=1, WEIR_OIDC_ISSUER=provider.url, WEIR_OIDC_CLIENT_ID="weir")
    service.call("PUT", "/api/v1/role/guests", json=[{"privilege": "reader"}]).raise_for_status()
    page = visit_of(visit, service).sign_in(path="/#/access/oidc")

    expect(page.get_by_text("An OIDC provider is set.")).to_be_visible()
    page.get_by_role("combobox", name="Role").select_option("guests")
    page.get_by_role("button", name="Save").click()

    # The button is disabled while the request is under way, too.
    wait_until(lambda: service.call("GET", "/api/v1/role/default").json() == "guests")
    expect(page.get_by_role("button", name="Save")).to_be_disabled()


def test_tenant_is_made_entered_and_deleted(visit: Callable[..., Visit], start_service: Callable[..., Service]):
    service = start_service(workers=1, WEIR_MULTI_TENANT="true")
    page = visit_of(visit, service).sign_in(path="/#/access/tenants")

    page.get_by_label("Tenant", exact=True).fill("acme")
    page.get_by_label("Its administrator").fill("wile")
    page.get_by_role("button", name="Add").click()
    dialog = page.get_by_role("dialog", name="Administrator of acme")
    password = dialog.locator("code").nth(1).inner_text()
    dialog.get_by_role("button", name="Close").click()
    expect(page.get_by_role("cell", name="acme", exact=True)).to_be_visible()

    other = visit_of(visit, service).page
    other.goto(service.url)
    other.get_by_label("Tenant").fill("acme")
    other.get_by_label("User name").fill("wile")
    other.get_by_label("Password").fill(password)
    other.get_by_role("button", name="Sign in").click()
    expect(other.get_by_text("Tenant acme")).to_be_visible()
    other.get_by_role("link", name="Access", exact=True).click()
    expect(other.get_by_role("tab", name="Users")).to_be_visible()
    expect(other.get_by_role("tab", name="Tenants")).to_have_count(0)

    page.get_by_role("row", name=re.compile("acme")).get_by_role("button", name="Delete").click()
    page.get_by_label("Type acme to delete it").fill("acme")
    page.get_by_role("dialog").get_by_role("button", name="Delete").click()
    expect(page.get_by_role("cell", name="acme", exact=True)).to_have_count(0)


def test_role_shows_what_its_holder_may_do(visit: Callable[..., Visit], service: Service):
    """While it is written; and what is shown is what the server then allows."""
    service.ingest("console-preview", [{"env": "prod"}, {"env": "test"}]).raise_for_status()
    page = visit().sign_in(path="/#/access/roles")
    page.get_by_role("button", name="New role").click()
    dialog = page.get_by_role("dialog")

    dialog.get_by_label("Role", exact=True).fill("console-preview")
    dialog.get_by_label("Dataset (empty: all)").fill("console-preview")
    dialog.get_by_label("Only rows with").fill("env=prod")
    dialog.get_by_role("button", name="+ Privilege").click()
    dialog.get_by_role("combobox", name="Privilege").nth(1).select_option("ingestor")
    dialog.get_by_label("Dataset (empty: all)").nth(1).fill("console-preview")
    named = dialog.get_by_role("row", name=re.compile("^console-preview"))
    expect(named).to_have_text(re.compile(r"✓ yes\s*✓ yes\s*✓ yes\s*no\s*no\s*only env=prod"))
    expect(dialog.get_by_role("row", name=re.compile("all other datasets"))).not_to_contain_text("yes")
    dialog.get_by_role("button", name="Save").click()

    row = page.get_by_role("row", name=re.compile("^console-preview"))
    expect(row).to_contain_text("reader on console-preview, rows with env=prod")
    expect(row).to_contain_text("ingestor on console-preview")
    key = service.call(
        "POST", "/api/console/v1/apikeys", json={"keyName": "console-preview", "roles": ["console-preview"]}
    ).json()["apiKey"]
    asked = {"query": 'SELECT count(*) AS n FROM "console-preview"'}
    assert service.call("POST", "/api/v1/query", json=asked, headers={"X-API-Key": key}).json() == [{"n": 1}]


def test_user_gets_roles_and_a_password_that_is_shown_once(visit: Callable[..., Visit], service: Service):
    service.call("PUT", "/api/v1/role/console-hired", json=[{"privilege": "writer"}]).raise_for_status()
    page = visit().sign_in(path="/#/access/users")
    page.get_by_role("button", name="New user").click()
    dialog = page.get_by_role("dialog")

    dialog.get_by_label("User", exact=True).fill("console-newcomer")
    dialog.get_by_label("console-hired", exact=True).check()
    expect(dialog.get_by_role("row", name=re.compile("all other datasets"))).to_contain_text("✓ yes")
    dialog.get_by_role("button", name="Add").click()
    shown = page.get_by_role("dialog", name="Password of console-newcomer")
    password = shown.locator("code").inner_text()

    answer = service.call("GET", "/api/v1/session", auth=("console-newcomer", password))
    assert answer.json()["roles"] == ["console-hired"]


def test_audit_shows_who_did_what(visit: Callable[..., Visit], service: Service):
    service.call("PUT", "/api/v1/role/console-audited", json=[{"privilege": "reader"}]).raise_for_status()
    page = visit().sign_in(path="/#/access/audit")

    page.get_by_label("Who, what or whom").fill("console-audited")
    page.get_by_label("Who, what or whom").press("Enter")

    # First the number: until the answer is there, the page has the rows of other tests.
    expect(page.locator(".grid-row")).to_have_count(1)
    expect(page.get_by_role("gridcell", name="role.put")).to_be_visible()
    expect(page.get_by_role("gridcell", name="console-audited")).to_be_visible()


def test_what_is_typed_while_the_audit_loads_is_kept(visit: Callable[..., Visit], service: Service):
    service.call("PUT", "/api/v1/role/console-typed", json=[{"privilege": "reader"}]).raise_for_status()
    page, held = visit().sign_in(path="/#/"), []
    page.route("**/api/v1/query*", lambda route: held.append(route))
    page.evaluate("location.hash = '/access/audit'")
    field = page.get_by_label("Who, what or whom")

    field.press_sequentially("console-typed")
    for each in held:
        each.continue_()
    page.unroute("**/api/v1/query*")
    expect(page.locator(".grid-row").first).to_be_visible()

    expect(field).to_have_value("console-typed")
    field.press("Enter")
    expect(page.locator(".grid-row")).to_have_count(1)
