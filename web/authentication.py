"""The `before_request` hook that every blueprint shares: who is calling, and for which tenant."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Final

from flask import Blueprint

from auth.access import Access
from auth.identity import Identity
from auth.names import is_text
from errors import Forbidden, InvalidName, Unauthenticated
from serving.flask_app.current import Request, this_request
from web.credentials import REFUSAL, Proof
from web.services import services
from web.tenant_header import refuse_needless_tenant, tenant_of

# The WSGI names of the headers that every request is checked for.
KEY_VARIABLE: Final = "HTTP_X_API_KEY"
AUTHORIZATION_VARIABLE: Final = "HTTP_AUTHORIZATION"
# Tells the server that this connection is no stranger's (serving/gunicorn_worker/connection.py). Strangers give way.
KNOWN_VARIABLE: Final = "weir.known"
SESSION_COOKIE: Final = "session"
SAFE_METHODS: Final = frozenset({"GET", "HEAD", "OPTIONS"})


def protect(blueprint: Blueprint) -> Blueprint:
    """The blueprint, whose every request now needs an identity. A blueprint without this is open to all."""
    blueprint.before_request(require_identity)
    return blueprint


def protect_by_scheme(blueprint: Blueprint, key_of: Callable[[str], str | None]) -> Blueprint:
    """As `protect`. An Authorization header in which `key_of` finds the secret of an API key counts as X-API-Key."""
    blueprint.before_request(partial(_take_key, key_of))
    return protect(blueprint)


def _take_key(key_of: Callable[[str], str | None]) -> None:
    sent = this_request().environ
    # With both headers nothing is taken, so that they conflict as ever.
    secret = None if KEY_VARIABLE in sent else key_of(sent.get(AUTHORIZATION_VARIABLE, ""))
    if secret is not None:
        sent[KEY_VARIABLE] = secret
        del sent[AUTHORIZATION_VARIABLE]


def asked_tenant() -> str:
    """The tenant whose credentials the current request's are. Raises MissingHeader, InvalidHeader."""
    return tenant_of(this_request().environ, access().multi_tenant)


def require_identity() -> None:
    """Sets the caller. Raises Unauthenticated, ConflictingCredentials, MissingHeader, InvalidHeader, Forbidden."""
    request, multi_tenant = this_request(), access().multi_tenant
    tenant_id = asked_tenant()
    identity = identify(request, tenant_id) or _session_identity(request, tenant_id)
    if identity is None:
        raise Unauthenticated(REFUSAL)
    refuse_needless_tenant(request.environ, multi_tenant)
    if request.view_args:
        _refuse_unprintable(request.view_args)
    request.identity = identity
    request.environ[KNOWN_VARIABLE] = True


def identify(request: Request, tenant_id: str) -> Identity | None:
    """Whom the request's headers prove; None when they hold no credential. Raises Unauthenticated for a wrong one."""
    sent = request.environ
    return services().credentials.identify(tenant_id, sent.get(KEY_VARIABLE), sent.get(AUTHORIZATION_VARIABLE))


def proof(request: Request) -> Proof:
    """Gives who makes this request, also later, while an answer goes on; None once the credential is worth nothing."""
    sent, parts = request.environ, services()
    tenant_id = asked_tenant()
    by_header = parts.credentials.proof(tenant_id, sent.get(KEY_VARIABLE), sent.get(AUTHORIZATION_VARIABLE))
    return by_header or partial(access().sessions.identify, tenant_id, request.cookies.get(SESSION_COOKIE, ""))


def _session_identity(request: Request, tenant_id: str) -> Identity | None:
    cookie = request.cookies.get(SESSION_COOKIE)
    identity = None if cookie is None else access().sessions.identify(tenant_id, cookie)
    if identity is not None and request.method not in SAFE_METHODS:
        _refuse_other_sites(request)
    return identity


def _refuse_other_sites(request: Request) -> None:
    """Refuse a write from another site's page: a browser sends the cookie with it all the same.

    `Sec-Fetch-Site`, else `Origin`, tells whence a browser's request comes, and no page can forge either. A request
    with neither is no browser's. The cookie is SameSite=Lax besides.
    """
    site, origin = request.headers.get("Sec-Fetch-Site"), request.headers.get("Origin")
    if site is not None and site not in ("same-origin", "none"):
        raise Forbidden("a session does not write on behalf of another site")
    if site is None and origin is not None and origin != own_origin():
        raise Forbidden("a session does not write on behalf of another site")


def own_origin() -> str:
    """Scheme, host and port at which browsers reach us."""
    return (access().public_url or this_request().host_url).rstrip("/")


def access() -> Access:
    """Identity and access of this worker."""
    return services().access


def _refuse_unprintable(view_args: Mapping[str, object]) -> None:
    """No name is unprintable, and PostgreSQL's text cannot even hold NUL."""
    for name, value in view_args.items():
        if isinstance(value, str) and not is_text(value):
            raise InvalidName("the address holds a name that is too long or not printable", field=name)
