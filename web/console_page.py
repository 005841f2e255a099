"""The page that browsers get at `/`, and the headers that keep it to itself. Its modules do the rest."""

import secrets
from typing import Final

from flask import Response, request

import version
from web.authentication import SESSION_COOKIE
from web.services import services

# Nothing inline runs, nothing is fetched from elsewhere, nobody frames it. The editor makes its styles at run time,
# which the nonce of the one page allows; log lines never become markup, as Trusted Types has browsers enforce.
POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self' 'nonce-{nonce}'; connect-src 'self'; img-src 'self' data:;"
    " font-src 'self'; manifest-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none';"
    " require-trusted-types-for 'script'; trusted-types 'none'"
)


def page() -> Response:
    """The console. Its nonce is new each time, so no cache may keep it; all that it names may be kept for ever."""
    parts = services()
    files, nonce = parts.console, secrets.token_urlsafe(16)
    base = f"/console/{files.digest}"
    values = {
        "base": base,
        "nonce": nonce,
        "version": version.VERSION,
        # Without the cookie nobody need be asked who is signed in.
        "session": "true" if SESSION_COOKIE in request.cookies else "false",
        "oidc": "true" if parts.settings.oidc_issuer else "false",
        "tenants": "true" if parts.settings.multi_tenant else "false",
        "preloads": "\n".join(f'<link rel="modulepreload" href="{base}/{path}">' for path in files.preloaded),
    }
    text = files.page
    for name, value in values.items():
        text = text.replace(f"{{{{{name}}}}}", value)
    answer = Response(text, content_type="text/html; charset=utf-8")
    answer.headers["Content-Security-Policy"] = POLICY.format(nonce=nonce)
    answer.headers["Cache-Control"] = "no-store"
    return guard(answer)


def guard(answer: Response) -> Response:
    """The answer, which no other site frames or guesses at, and which tells other sites nothing of its address."""
    answer.headers["X-Content-Type-Options"] = "nosniff"
    answer.headers["X-Frame-Options"] = "DENY"
    answer.headers["Referrer-Policy"] = "same-origin"
    return answer
