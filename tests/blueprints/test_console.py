"""The console over HTTP: who gets it at `/`, its policy, its caching (api.md section 11)."""

import re

import pytest
import requests

from tests.running import ADMIN, Service

pytestmark = pytest.mark.each_stack

BROWSER = {"Accept": "text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,*/*;q=0.8"}


def fetch(service: Service, path: str, **headers: str) -> requests.Response:
    return requests.get(service.url + path, headers=headers, timeout=30)


def base_of(service: Service) -> str:
    found = re.search(r'src="(/console/[0-9a-f]{16})/main\.js"', fetch(service, "/", **BROWSER).text)
    assert found is not None
    return found[1]


def test_browsers_get_the_console(service: Service):
    answer = fetch(service, "/", **BROWSER)

    assert answer.status_code == 200
    assert answer.headers["Content-Type"] == "text/html; charset=utf-8"
    assert answer.headers["Vary"] == "Accept"
    assert answer.headers["Cache-Control"] == "no-store"


@pytest.mark.parametrize("accept", ["*/*", "application/json", "", "text/html;q=0.1, application/json"])
def test_others_get_the_pointer(service: Service, accept: str):
    """Grafana's data sources probe the address and want exactly 200."""
    answer = fetch(service, "/", Accept=accept)

    assert answer.json() == {"service": "weir", "documentation": "/api/v1/openapi.json"}
    assert answer.headers["Vary"] == "Accept"


def test_policy_lets_nothing_in_from_elsewhere(service: Service):
    """No inline script, nothing of another origin, no frames; styles by file or by the nonce of this one answer."""
    first, second = fetch(service, "/", **BROWSER), fetch(service, "/", **BROWSER)
    policy = first.headers["Content-Security-Policy"]
    nonce = re.search(r"'nonce-([A-Za-z0-9_-]{22})'", policy)

    assert "default-src 'none'; script-src 'self';" in policy
    assert all(word not in policy for word in ("unsafe-inline", "unsafe-eval", "http:", "https:", "*"))
    assert "frame-ancestors 'none'" in policy
    assert "require-trusted-types-for 'script'" in policy
    assert nonce is not None
    assert f'data-nonce="{nonce[1]}"' in first.text
    assert nonce[1] not in second.text
    assert re.findall(r"<script(?![^>]*src=)", first.text) == []
    assert first.headers["X-Content-Type-Options"] == "nosniff"


def test_files_at_addresses_with_the_digest_are_kept_for_ever(service: Service):
    answer = fetch(service, f"{base_of(service)}/main.js")

    assert answer.headers["Content-Type"] == "text/javascript; charset=utf-8"
    assert answer.headers["Cache-Control"] == "public, max-age=31536000, immutable"


@pytest.mark.parametrize("path", ["/console/main.js", "/console/0123456789abcdef/main.js"])
def test_files_at_other_addresses_are_asked_for_again(service: Service, path: str):
    answer = fetch(service, path)
    again = fetch(service, path, **{"If-None-Match": answer.headers["ETag"]})

    assert answer.headers["Cache-Control"] == "no-cache"
    assert (again.status_code, again.content) == (304, b"")


@pytest.mark.parametrize(
    ("accepted", "coding"), [("gzip, deflate, br, zstd", "br"), ("gzip", "gzip"), ("br;q=0, gzip", "gzip")]
)
def test_files_are_compressed(service: Service, accepted: str, coding: str):
    answer = requests.get(
        f"{service.url}/console/vendor/core.js", headers={"Accept-Encoding": accepted}, timeout=30, stream=True
    )

    assert answer.headers["Content-Encoding"] == coding
    assert answer.headers["Vary"] == "Accept-Encoding"
    assert int(answer.headers["Content-Length"]) < 10_000


def test_files_are_sent_plain_to_who_wants_them_so(service: Service):
    answer = requests.get(f"{service.url}/console/main.js", headers={"Accept-Encoding": "identity"}, timeout=30)

    assert "Content-Encoding" not in answer.headers


@pytest.mark.parametrize(
    "path", ["none.js", "../app.py", "..%2fapp.py", "vendor/source/package.json", "index.html", "tsconfig.json"]
)
def test_nothing_else_is_served(service: Service, path: str):
    answer = fetch(service, f"/console/{path}")

    assert answer.status_code == 404
    assert answer.json()["code"] == "not_found"


def test_scripts_that_are_not_signed_in_are_not_asked_by_the_browser(service: Service):
    """A browser that reads `Basic` opens a window of its own."""
    by_script = fetch(service, "/api/v1/session", **{"X-Requested-With": "XMLHttpRequest"})

    assert by_script.status_code == 401
    assert by_script.headers["WWW-Authenticate"] == 'Session realm="weir"'
    assert fetch(service, "/api/v1/session").headers["WWW-Authenticate"].startswith("Basic ")


def test_page_tells_whether_somebody_has_a_session(service: Service):
    session = requests.Session()
    session.get(f"{service.url}/api/v1/o/login?redirect=/", auth=ADMIN, allow_redirects=False, timeout=30)

    assert 'data-session="true"' in session.get(f"{service.url}/", headers=BROWSER, timeout=30).text
    assert 'data-session="false"' in fetch(service, "/", **BROWSER).text
