"""Browser logins and bearer tokens against a real OIDC provider over HTTP: api.md section 2."""

import base64
import hashlib
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
import requests

from auth import login
from auth.access import AccessOptions, build, now
from auth.openid import ProviderOptions
from tests.blueprints.conftest import ADMIN, OPTIONS, Caller, make_app, record
from tests.openid_provider import Running, running_provider
from web.services import services_of

# The provider's own use of its libraries, not ours.
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning:authlib")

READER = {"privilege": "reader"}
EMAIL = "ann@example.com"


@pytest.fixture
def provider(monkeypatch: pytest.MonkeyPatch) -> Iterator[Running]:
    monkeypatch.setenv("AUTHLIB_INSECURE_TRANSPORT", "1")
    with running_provider() as found:
        yield found


class Browser(Caller):
    """A browser with cookies of its own."""

    def __init__(self, app: Any) -> None:
        super().__init__(app)
        self.client = app.test_client()

    def get(self, path: str, **arguments: Any) -> Any:
        return self.client.get(path, **arguments)

    def begin(self, redirect: str = "/logs") -> str:
        """The address at the provider that the login leads to."""
        return self.get("/api/v1/o/login", query_string={"redirect": redirect}).headers["Location"]

    def consent(self, address: str, subject: str = EMAIL) -> str:
        """What the user does there: the address that the provider sends the browser back to."""
        answer = requests.post(address, data={"sub": subject}, allow_redirects=False, timeout=5)
        back = urlsplit(answer.headers["Location"])
        return f"{back.path}?{back.query}"

    def log_in(self, subject: str = EMAIL) -> Any:
        return self.get(self.consent(self.begin(), subject))

    def whoami(self) -> Any:
        return self.get("/whoami")


@pytest.fixture
def options(tmp_path, provider) -> AccessOptions:
    return AccessOptions(
        data_dir=tmp_path, **OPTIONS, provider=ProviderOptions(provider.url, "weir", "secret", "groups")
    )


@pytest.fixture
def browser(access, passwords, options, tmp_path) -> Browser:
    return Browser(make_app(build(options, passwords), tmp_path))


def later(access: Any, monkeypatch: pytest.MonkeyPatch, **by: int) -> None:
    monkeypatch.setattr(access.sessions, "_clock", lambda: now() + timedelta(**by))


def access_of(browser: Browser) -> Any:
    return services_of(browser.app).access


def bearer(provider: Running, browser: Browser, subject: str = EMAIL) -> str:
    """An ID token of the provider for the subject, as a script would get one by itself."""
    address = browser.begin()
    code = parse_qs(urlsplit(browser.consent(address, subject)).query)["code"][0]
    redirect_uri = parse_qs(urlsplit(address).query)["redirect_uri"][0]
    form = {"grant_type": "authorization_code", "code": code, "redirect_uri": redirect_uri}
    answer = requests.post(f"{provider.url}/oauth2/token", data=form, auth=("weir", "secret"), timeout=5)
    return answer.json()["id_token"]


def test_login_leads_through_the_provider_into_a_session(browser):
    answer = browser.log_in()

    assert (answer.status_code, answer.headers["Location"]) == (302, "/logs")
    assert browser.whoami().get_json() == {"tenant": "default", "kind": "oauth", "name": EMAIL, "roles": []}


def test_login_uses_state_nonce_and_pkce(browser, provider):
    """RFC 7636: the provider is shown the hash first, the verifier later."""
    first, second = (parse_qs(urlsplit(browser.begin()).query) for _ in range(2))
    browser.log_in()

    assert first["code_challenge_method"] == ["S256"]
    assert all(first[name] != second[name] for name in ("state", "nonce", "code_challenge"))
    assert {"openid", "profile", "email"} <= set(first["scope"][0].split())
    assert len(provider.forms[0]["code_verifier"][0]) >= 43


def test_verifier_is_the_one_whose_hash_was_shown(browser, provider):
    address = browser.begin()
    browser.get(browser.consent(address))

    hashed = hashlib.sha256(provider.forms[0]["code_verifier"][0].encode()).digest()
    challenge = parse_qs(urlsplit(address).query)["code_challenge"][0]
    assert challenge == base64.urlsafe_b64encode(hashed).rstrip(b"=").decode()


def test_session_cookie_is_kept_from_scripts_and_other_sites(browser):
    cookies = browser.log_in().headers.getlist("Set-Cookie")

    session = next(each for each in cookies if each.startswith("session="))
    assert "HttpOnly" in session
    assert "SameSite=Lax" in session
    assert "Secure" not in session


def test_session_cookie_is_secure_behind_https(access, passwords, options, tmp_path):
    https = replace(options, public_url="https://weir.example")
    browser = Browser(make_app(build(https, passwords), tmp_path))

    answer = browser.get("/api/v1/o/login")

    assert "Secure" in answer.headers["Set-Cookie"]
    assert "https%3A%2F%2Fweir.example%2Fapi%2Fv1%2Fo%2Fcode" in answer.headers["Location"]


def failed(answer: Any) -> bool:
    return answer.status_code == 401 and answer.get_json()["code"] == "login_failed"


def test_code_that_another_browser_asked_for_is_refused(browser):
    """Login CSRF: a victim's browser is sent to the attacker's callback."""
    back = browser.consent(browser.begin())

    assert failed(Browser(browser.app).get(back))


def test_state_of_another_login_is_refused(browser):
    back = browser.consent(browser.begin())
    browser.begin()

    assert failed(browser.get(back))


@pytest.mark.parametrize("query", ["", "state=x", "code=x", "code=x&state=", "error=access_denied"])
def test_callback_without_code_and_state_is_refused(browser, query):
    browser.begin()

    assert failed(browser.get(f"/api/v1/o/code?{query}"))


def test_code_is_good_once(browser):
    back = browser.consent(browser.begin())
    cookie = browser.client.get_cookie("weir_login", path="/api/v1/o").value
    browser.get(back)
    browser.client.set_cookie("weir_login", cookie, path="/api/v1/o")

    assert failed(browser.get(back))


def test_id_token_of_another_login_is_refused(browser, monkeypatch):
    """The nonce."""
    back = browser.consent(browser.begin())
    resume = login.resume
    monkeypatch.setattr(login, "resume", lambda *arguments: replace(resume(*arguments), nonce="of another login"))

    assert failed(browser.get(back))


def test_login_and_refused_login_are_in_the_audit(browser, provider, monkeypatch):
    recorded: list[dict[str, Any]] = []

    def store(tenant, dataset, batch, arrival, telemetry_type):
        recorded.append({each.name: column[0] for each, column in zip(batch.fields, batch.columns, strict=True)})

    record(browser.app, store)
    browser.log_in()
    resume = login.resume
    monkeypatch.setattr(login, "resume", lambda *arguments: replace(resume(*arguments), nonce="of another login"))
    browser.log_in()

    shown = [(each["action"], each["actor_id"], each["target"], each["status"]) for each in recorded]
    assert shown == [
        ("session.open", f"oidc:{EMAIL}", None, 302),
        ("session.refuse", None, provider.url, 401),
    ]


def test_login_that_took_too_long_is_refused(browser, monkeypatch):
    back = browser.consent(browser.begin())
    monkeypatch.setattr("blueprints.oidc.now", lambda: now() + timedelta(minutes=11))

    assert failed(browser.get(back))


@pytest.mark.parametrize("cookie", ["", "x", "AAAA", "A" * 200])
def test_login_cookie_that_is_not_ours_is_refused(browser, cookie):
    back = browser.consent(browser.begin())
    browser.client.set_cookie("weir_login", cookie, path="/api/v1/o")

    assert failed(browser.get(back))


def test_refused_consent_fails_with_the_providers_word(browser):
    answer = requests.post(browser.begin(), data={"action": "deny"}, allow_redirects=False, timeout=5)
    back = urlsplit(answer.headers["Location"])

    refused = browser.get(f"/api/v1/o/code?{back.query}")

    assert failed(refused) or refused.status_code == 401
    assert browser.whoami().status_code == 401


EVIL = [
    "https://evil.example/",
    "//evil.example/",
    "/\\evil.example/",
    "\\\\evil.example/",
    "/\t/evil.example/",
    "///evil.example",
    "https:evil.example",
    "javascript:alert(1)",
    "data:text/html,x",
    "http://localhost@evil.example/",
    "http://localhost.evil.example/",
    "http://localhost:8000/",
    "https://localhost/",
    "evil.example",
    "",
    "/é",
]


@pytest.mark.parametrize("target", EVIL)
@pytest.mark.parametrize("route", ["login", "logout"])
def test_redirect_to_another_site_is_refused(browser, target, route):
    answer = browser.get(f"/api/v1/o/{route}", query_string={"redirect": target})

    assert answer.status_code == 400
    assert "Location" not in answer.headers


@pytest.mark.parametrize("target", ["/", "/logs?query=a%2Fb#top", "http://localhost/logs"])
def test_redirect_on_this_site_is_followed(browser, target):
    answer = browser.get("/api/v1/o/login", query_string={"redirect": target}, auth=ADMIN)

    assert (answer.status_code, answer.headers["Location"]) == (302, target)


def test_groups_that_name_roles_become_roles(browser, provider):
    browser.make_role("dev", READER)
    provider.set_claims(EMAIL, groups=["dev", "unheard of"])

    browser.log_in()

    assert browser.whoami().get_json()["roles"] == ["dev"]


@pytest.mark.parametrize("groups", [None, "dev", 7, {"dev": 1}, [None, 7, "\0", "x" * 500], []])
def test_odd_groups_claim_gives_nothing_that_it_does_not_name(browser, provider, groups):
    browser.make_role("dev", READER)
    provider.set_claims(EMAIL, groups=groups)

    browser.log_in()

    assert browser.whoami().get_json()["roles"] == (["dev"] if groups == "dev" else [])


def test_default_role_is_for_users_without_any_other(browser, provider):
    browser.make_role("dev", READER)
    browser.make_role("guest", READER)
    browser("PUT", "/api/v1/role/default", json="guest")
    provider.set_claims("bob@example.com", groups=["dev"])

    browser.log_in()
    other = Browser(browser.app)
    other.log_in("bob@example.com")

    assert browser.whoami().get_json()["roles"] == ["guest"]
    assert other.whoami().get_json()["roles"] == ["dev"]


def test_oidc_user_is_listed_and_can_be_given_roles(browser):
    browser.make_role("dev", READER)
    browser.log_in()

    listed = browser("GET", "/api/v1/users").get_json()[1]
    browser("PUT", f"/api/v1/user/oidc:{EMAIL}/role", json=["dev"])

    assert (listed["id"], listed["method"], listed["email"]) == (f"oidc:{EMAIL}", "oauth", EMAIL)
    assert browser.whoami().get_json()["roles"] == ["dev"]


def test_subject_of_a_native_users_name_is_not_that_user(browser):
    browser.log_in("admin")

    assert browser.whoami().get_json() == {"tenant": "default", "kind": "oauth", "name": "admin", "roles": []}


def test_oidc_user_has_no_password(browser):
    browser.log_in()

    assert browser("GET", "/whoami", (f"oidc:{EMAIL}", "")).status_code == 401
    assert browser("POST", f"/api/v1/user/oidc:{EMAIL}/generate-new-password").status_code == 404


def test_native_user_opens_a_session_by_basic(browser):
    answer = browser.get("/api/v1/o/login?redirect=/logs", auth=ADMIN)

    assert answer.headers["Location"] == "/logs"
    assert browser.whoami().get_json()["name"] == "admin"


def test_wrong_password_opens_no_session(browser):
    assert browser.get("/api/v1/o/login", auth=("admin", "wrong")).status_code == 401
    assert browser.whoami().status_code == 401


def test_key_opens_no_session(browser):
    key = browser.make_key("k", READER)["apiKey"]

    assert browser.get("/api/v1/o/login", headers={"X-API-Key": key}).status_code == 403


def test_server_without_a_provider_says_so(call):
    assert call("GET", "/api/v1/o/login", None).get_json()["code"] == "oidc_not_configured"
    assert call("GET", "/api/v1/o/code", None).status_code == 404


def test_logout_ends_the_session_here_and_at_the_provider(browser, provider):
    browser.log_in()
    cookie = browser.client.get_cookie("session").value

    answer = browser.get("/api/v1/o/logout?redirect=/bye")

    address = urlsplit(answer.headers["Location"])
    assert f"{address.scheme}://{address.netloc}" == provider.url
    assert parse_qs(address.query)["post_logout_redirect_uri"] == ["http://localhost/bye"]
    browser.client.set_cookie("session", cookie)
    assert browser.whoami().status_code == 401


def test_logout_without_a_session_only_redirects(browser):
    answer = browser.get("/api/v1/o/logout?redirect=/bye")

    assert (answer.status_code, answer.headers["Location"]) == (302, "/bye")


def test_deleted_user_loses_the_session_at_once(browser):
    browser.log_in()
    assert browser.whoami().status_code == 200

    browser("DELETE", f"/api/v1/user/oidc:{EMAIL}")

    assert browser.whoami().status_code == 401


def test_new_password_ends_the_users_sessions(browser):
    ann = browser.make_user("ann", READER)
    browser.get("/api/v1/o/login", auth=ann)
    assert browser.whoami().status_code == 200

    browser("POST", "/api/v1/user/ann/generate-new-password")

    assert browser.whoami().status_code == 401


def test_session_of_a_native_user_ends(browser, monkeypatch):
    browser.get("/api/v1/o/login", auth=ADMIN)

    later(access_of(browser), monkeypatch, hours=12, seconds=1)

    assert browser.whoami().status_code == 401


def test_session_is_renewed_with_the_provider(browser, provider, monkeypatch):
    browser.make_role("dev", READER)
    browser.log_in()
    provider.set_claims(EMAIL, groups=["dev"])

    later(access_of(browser), monkeypatch, hours=1, seconds=1)
    first, second = browser.whoami(), browser.whoami()

    assert (first.status_code, second.get_json()["roles"]) == (200, ["dev"])
    assert [form["grant_type"] for form in provider.forms] == [["authorization_code"], ["refresh_token"]]


def test_session_that_the_provider_no_longer_vouches_for_ends(browser, provider, monkeypatch):
    browser.log_in()
    provider.revoke(EMAIL)

    later(access_of(browser), monkeypatch, hours=1, seconds=1)

    assert browser.whoami().status_code == 401
    assert browser.whoami().status_code == 401


def test_session_ends_whatever_the_provider_says(browser, monkeypatch):
    browser.log_in()

    later(access_of(browser), monkeypatch, days=7, seconds=1)

    assert browser.whoami().status_code == 401


OTHER_SITES = [
    {"Sec-Fetch-Site": "cross-site"},
    {"Sec-Fetch-Site": "same-site"},
    {"Sec-Fetch-Site": "cross-site", "Origin": "http://localhost"},
    {"Origin": "https://evil.example"},
    {"Origin": "null"},
    {"Origin": "http://localhost:8000"},
    {"Origin": "https://localhost"},
]


@pytest.mark.parametrize("headers", OTHER_SITES)
def test_session_does_not_write_for_another_site(browser, headers):
    """CSRF."""
    browser.get("/api/v1/o/login", auth=ADMIN)

    assert browser.client.post("/write", headers=headers).status_code == 403
    assert browser.client.get("/whoami", headers=headers).status_code == 200


@pytest.mark.parametrize(
    "headers", [{"Sec-Fetch-Site": "same-origin"}, {"Sec-Fetch-Site": "none"}, {"Origin": "http://localhost"}, {}]
)
def test_session_writes_for_our_own_pages(browser, headers):
    browser.get("/api/v1/o/login", auth=ADMIN)

    assert browser.client.post("/write", headers=headers).status_code == 200


def test_wrong_header_is_not_healed_by_a_session(browser):
    browser.get("/api/v1/o/login", auth=ADMIN)

    assert browser.get("/whoami", headers={"X-API-Key": "x"}).status_code == 401


def test_bearer_token_is_an_identity(browser, provider):
    browser.make_role("dev", READER)
    provider.set_claims(EMAIL, groups=["dev"])
    token = bearer(provider, browser)

    answer = browser("GET", "/whoami", None, headers={"Authorization": f"Bearer {token}"})

    assert answer.get_json() == {"tenant": "default", "kind": "oauth", "name": EMAIL, "roles": ["dev"]}


def test_role_change_counts_for_the_next_bearer_request(browser, provider):
    browser.make_role("dev", READER)
    provider.set_claims(EMAIL, groups=["dev"])
    headers = {"Authorization": f"Bearer {bearer(provider, browser)}"}
    assert browser("GET", "/dataset/app/query", None, headers=headers).status_code == 200

    browser.make_role("dev", {"privilege": "ingestor"})

    assert browser("GET", "/dataset/app/query", None, headers=headers).status_code == 403


def test_deleted_users_earlier_tokens_are_refused(browser, provider):
    headers = {"Authorization": f"Bearer {bearer(provider, browser)}"}
    browser.log_in()
    assert browser("GET", "/whoami", None, headers=headers).status_code == 200

    browser("DELETE", f"/api/v1/user/oidc:{EMAIL}")

    assert browser("GET", "/whoami", None, headers=headers).status_code == 401


def test_damaged_bearer_token_is_refused_like_any_wrong_credential(browser, provider):
    token = bearer(provider, browser)

    refused = browser("GET", "/whoami", None, headers={"Authorization": f"Bearer {token[:-6]}AAAAAA"})

    assert (refused.status_code, refused.get_json()["code"]) == (401, "unauthenticated")


def test_bearer_and_key_together_are_refused(browser, provider):
    headers = {"Authorization": f"Bearer {bearer(provider, browser)}", "X-API-Key": "x"}

    assert browser("GET", "/whoami", None, headers=headers).status_code == 400


@pytest.mark.parametrize(("claim", "status"), [("red", 200), (["blue", "red"], 200), ("blue", 401), (None, 401)])
def test_token_is_good_for_the_tenants_that_it_names(access, passwords, options, provider, tmp_path, claim, status):
    several = replace(options, multi_tenant=True, provider=replace(options.provider, tenant_claim="tenant"))
    browser = Browser(make_app(build(several, passwords), tmp_path))
    browser("PUT", "/api/v1/tenants/red", headers={"X-P-Tenant": "default"}, json={"admin": "boss"})
    provider.set_claims(EMAIL, tenant=claim)

    begun = browser.get("/api/v1/o/login?tenant=red").headers["Location"]
    finished = browser.get(browser.consent(begun))
    answer = browser.get("/whoami", headers={"X-P-Tenant": "red"})

    assert finished.status_code == (302 if status == 200 else 401)
    assert answer.status_code == status
    assert browser.get("/whoami", headers={"X-P-Tenant": "default"}).status_code == 401
