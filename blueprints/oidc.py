"""Browser logins: to the OIDC provider and back, or by Basic credentials; and the logout. Open to all by nature."""

import logging
from typing import TYPE_CHECKING, Final
from urllib.parse import urlencode, urlsplit

from flask import Blueprint, Response, request

from auth import login
from auth.access import now
from auth.identity import Identity, Kind
from auth.login import Login
from auth.names import TENANT
from auth.oidc import PREFIX
from auth.sessions import NewSession
from errors import Forbidden, InvalidHeader, InvalidRequest, LoginFailed, OidcNotConfigured
from models.tenant import DEFAULT
from serving.flask_app.current import this_request
from web import audit
from web.audit_record import NOBODY, Actor
from web.authentication import SESSION_COOKIE, access, identify, own_origin

if TYPE_CHECKING:
    from auth.provider import Provider

logger = logging.getLogger(__name__)

REDIRECTED: Final = 302
LOGIN_COOKIE: Final = "weir_login"
PATH: Final = "/api/v1/o"

blueprint = Blueprint("oidc", __name__, url_prefix=PATH)


@blueprint.get("/login")
def begin() -> Response:
    """Send the browser to the provider; or, with a user's Basic credentials, open a session at once."""
    target, tenant = _target(), _tenant()
    identity = identify(this_request(), tenant)
    if identity is not None:
        return _logged_in(target, tenant, _open_native(identity))
    provider = _provider()
    begun = login.begin(tenant, target, f"{own_origin()}{PATH}/code", now())
    parameters = provider.authorization_parameters(begun.request())
    answer = _redirect(_with_query(provider.metadata().authorization_endpoint, parameters))
    _set_cookie(answer, LOGIN_COOKIE, login.seal(begun, access().secrets), int(login.LIFE.total_seconds()))
    return answer


@blueprint.get("/code")
def finish() -> Response:
    """Where the provider sends the browser back to."""
    provider = _provider()
    try:
        begun = login.resume(request.cookies.get(LOGIN_COOKIE), request.args.get("state", ""), access().secrets, now())
        opened = _open_oidc(provider, begun)
    except LoginFailed as error:
        logger.warning("login at %s failed: %s", provider.options.issuer, error.message)
        raise
    answer = _logged_in(begun.redirect, begun.tenant, opened)
    answer.delete_cookie(LOGIN_COOKIE, path=PATH)
    return answer


@blueprint.get("/logout")
def end() -> Response:
    """End the session here and, for OIDC, at the provider (RP-Initiated Logout 1.0)."""
    target, tenant = _target(), _tenant()
    cookie = request.cookies.get(SESSION_COOKIE)
    ended = None if cookie is None else access().sessions.close(tenant, cookie)
    if ended is not None:
        audit.record(tenant, _actor(ended.user_name), "session.close", None, REDIRECTED)
    answer = _redirect(_logout_address(ended.id_token if ended else None, target) or target)
    answer.delete_cookie(SESSION_COOKIE, path="/")
    return answer


def _open_native(identity: Identity) -> NewSession:
    """Only for a password: a session of an API key would outlive the key."""
    if identity.kind is not Kind.NATIVE:
        raise Forbidden("a session is opened by a user's Basic credentials")
    return access().sessions.open_native(identity)


def _open_oidc(provider: "Provider", begun: Login) -> NewSession:
    code = request.args.get("code")
    if code is None:
        raise LoginFailed(f"the provider refused: {request.args.get('error', 'no code')[:100]}")
    try:
        tokens = provider.exchange(code, begun.redirect_uri, begun.code_verifier, begun.nonce)
        return access().sessions.open_oidc(begun.tenant, tokens, provider)
    except LoginFailed:
        audit.record(begun.tenant, NOBODY, "session.refuse", provider.options.issuer, 401)
        raise


def _provider() -> "Provider":
    provider = access().provider
    if provider is None:
        raise OidcNotConfigured("this server has no OIDC provider; log in with Basic credentials")
    return provider


def _tenant() -> str:
    """A browser cannot send a header with a link, so the tenant may be named by the query too."""
    tenant = request.args.get("tenant") or request.headers.get("X-P-Tenant")
    if not access().multi_tenant:
        return DEFAULT
    if tenant is None or not TENANT.fullmatch(tenant):
        raise InvalidHeader("this server has several tenants: name yours by `?tenant=`", field="tenant")
    return tenant


def _target() -> str:
    """Where to go afterwards, on this very server. Raises InvalidRequest for any other place."""
    target = request.args.get("redirect", "/")
    parts = urlsplit(target)
    # Browsers read a backslash as a slash, and drop line breaks and tabs before they look.
    plain = target.isascii() and target.isprintable() and "\\" not in target and not target.startswith("//")
    is_path = not parts.scheme and not parts.netloc and target.startswith("/")
    if not plain or not (is_path or f"{parts.scheme}://{parts.netloc}" == own_origin()):
        raise InvalidRequest("`redirect` leads to another site", field="redirect")
    return target


def _logout_address(id_token: str | None, target: str) -> str | None:
    provider = access().provider
    if id_token is None or provider is None:
        return None
    endpoint = provider.metadata().end_session_endpoint
    if endpoint is None:
        return None
    back = target if target.startswith("http") else own_origin() + target
    return _with_query(endpoint, {"id_token_hint": id_token, "post_logout_redirect_uri": back})


def _actor(user_name: str) -> Actor:
    if user_name.startswith(PREFIX):
        return Actor(Kind.OAUTH.value, user_name, user_name.removeprefix(PREFIX))
    return Actor(Kind.NATIVE.value, user_name, user_name)


def _logged_in(target: str, tenant: str, opened: NewSession) -> Response:
    audit.record(tenant, _actor(opened.user_name), "session.open", None, REDIRECTED)
    answer = _redirect(target)
    _set_cookie(answer, SESSION_COOKIE, opened.token, int(opened.life.total_seconds()), path="/")
    return answer


def _set_cookie(answer: Response, name: str, value: str, life_seconds: int, path: str = PATH) -> None:
    secure = own_origin().startswith("https://")
    answer.set_cookie(name, value, max_age=life_seconds, path=path, secure=secure, httponly=True, samesite="Lax")


def _redirect(target: str) -> Response:
    answer = Response(status=REDIRECTED, headers={"Location": target})
    answer.headers["Cache-Control"] = "no-store"
    # The address of the answer holds a code and a state; the next page must not be told.
    answer.headers["Referrer-Policy"] = "no-referrer"
    return answer


def _with_query(endpoint: str, parameters: dict[str, str]) -> str:
    return f"{endpoint}{'&' if urlsplit(endpoint).query else '?'}{urlencode(parameters)}"
