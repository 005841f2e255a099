"""The `before_request` hook that every blueprint shares: who is calling, and for which tenant."""

from typing import Final

from flask import Blueprint, Flask, current_app, g, request

from auth.access import Access
from auth.identity import Identity
from auth.names import TENANT, is_text
from blueprints.credentials import KEY_HEADER, REFUSAL, Credentials
from errors import InvalidHeader, InvalidName, MissingHeader, Unauthenticated
from models.tenant import DEFAULT

EXTENSION: Final = "weir.access"
CREDENTIALS: Final = "weir.credentials"
TENANT_HEADER: Final = "X-P-Tenant"


def install(app: Flask, access: Access) -> None:
    """Let the app's protected blueprints use `access`. Called once, by create_app."""
    app.extensions[EXTENSION] = access
    app.extensions[CREDENTIALS] = Credentials(access.verifier)


def protect(blueprint: Blueprint) -> Blueprint:
    """The blueprint, whose every request now needs an identity. A blueprint without this is open to all."""
    blueprint.before_request(require_identity)
    return blueprint


def require_identity() -> None:
    """Sets `g.identity`. Raises Unauthenticated, ConflictingCredentials, MissingHeader, InvalidHeader."""
    tenant = _tenant()
    sent = request.headers
    credentials: Credentials = current_app.extensions[CREDENTIALS]
    found = credentials.identify(tenant, sent.get(KEY_HEADER), sent.get("Authorization"))
    if found is None:
        raise Unauthenticated(REFUSAL)
    _refuse_tenant_header()
    _refuse_unprintable_path()
    g.identity = found


def access() -> Access:
    return current_app.extensions[EXTENSION]  # type: ignore[no-any-return]


def caller() -> Identity:
    """Who makes the current request."""
    return g.identity  # type: ignore[no-any-return]


def _tenant() -> str:
    """The tenant whose credentials count (spec 5.6)."""
    if not access().multi_tenant:
        return DEFAULT
    sent = request.headers.get(TENANT_HEADER)
    if sent is None:
        raise MissingHeader(f"this server has several tenants: name yours in the header {TENANT_HEADER}")
    if not TENANT.fullmatch(sent):
        raise InvalidHeader(f"{TENANT_HEADER} is not a tenant's name", field=TENANT_HEADER)
    return sent


def _refuse_tenant_header() -> None:
    """After the credential, so that strangers learn nothing of the server's mode."""
    if not access().multi_tenant and TENANT_HEADER in request.headers:
        raise InvalidHeader(f"this server has one tenant: leave out {TENANT_HEADER}", field=TENANT_HEADER)


def _refuse_unprintable_path() -> None:
    """No name is unprintable, and PostgreSQL's text cannot even hold NUL."""
    for name, value in (request.view_args or {}).items():
        if isinstance(value, str) and not is_text(value):
            raise InvalidName("the address holds a name that is too long or not printable", field=name)
