"""The OIDC provider: discovery, its keys, the tokens it signs and the codes it exchanges. No users, no sessions.

OpenID Connect Core 1.0 and Discovery 1.0; signatures and key sets by joserfc.
"""

import json
import logging
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Final, cast

import requests
from joserfc import jwt
from joserfc.errors import InvalidKeyIdError, JoseError
from joserfc.jwk import KeySet, KeySetSerialization

from auth.openid import LAST_SECOND, AuthorizationRequest, Claims, ProviderOptions, Tokens
from errors import LoginFailed, ProviderUnavailable

logger = logging.getLogger(__name__)

# Asymmetric only. With HS256 on the list, the provider's public key would serve as a shared secret; `none` is no
# signature at all.
ALGORITHMS: Final = (
    *("RS256", "RS384", "RS512", "PS256", "PS384", "PS512"),
    *("ES256", "ES384", "ES512", "EdDSA"),
)
CLOCK_SKEW_SECONDS: Final = 60
TIMEOUT_SECONDS: Final = 10
UNSAID_SECONDS: Final = 3600
LARGEST_ANSWER_BYTES: Final = 1024 * 1024
# Only asking tells that a key was withdrawn, so a token may outlive its key for this long; and for as long as the
# second number, while the provider does not answer: its short absence must not lock everybody out.
KEYS_FRESH_SECONDS: Final = 60
KEYS_KEPT_SECONDS: Final = 600
# A new key is fetched when a token first names it. Not more often than this, whatever the reason, so that neither
# tokens of invented keys nor an absent provider make every request wait for it.
KEYS_ASKED_SECONDS: Final = 5

# What an ID token (OpenID Connect Core 1.0) and an access token (RFC 9068) call themselves, if they do.
KINDS: Final = frozenset(("jwt", "at+jwt"))


@dataclass(frozen=True, slots=True)
class Metadata:
    """The members of the discovery document that we use."""

    authorization_endpoint: str
    token_endpoint: str
    jwks_uri: str
    userinfo_endpoint: str | None
    end_session_endpoint: str | None
    scopes: tuple[str, ...]
    posts_secret: bool


class Provider:
    """One per worker. Discovery and keys are fetched when first needed, so the provider may start after us."""

    def __init__(self, options: ProviderOptions, clock: Callable[[], float] = time.monotonic) -> None:
        self.options = options
        self._clock = clock
        self._metadata: Metadata | None = None
        self._keys: KeySet | None = None
        self._fetched_at = 0.0
        self._asked_at = 0.0

    def metadata(self) -> Metadata:
        """Raises ProviderUnavailable."""
        if self._metadata is None:
            url = self.options.issuer.rstrip("/") + "/.well-known/openid-configuration"
            self._metadata = _read_metadata(_fetch("GET", url), self.options.issuer)
        return self._metadata

    def verify(self, token: str) -> Claims:
        """The claims of a token that this provider signed for us and that is valid now.

        Raises LoginFailed with the reason, ProviderUnavailable.
        """
        claims = self._decode(token)
        registry = jwt.JWTClaimsRegistry(
            leeway=CLOCK_SKEW_SECONDS,
            iss={"essential": True, "value": self.options.issuer},
            aud={"essential": True, "value": self.options.client_id},
            sub={"essential": True},
            exp={"essential": True},
        )
        try:
            registry.validate(dict(claims))
        except JoseError as error:
            raise LoginFailed(f"the token is refused: {error.error}") from error
        _check_authorized_party(claims, self.options.client_id)
        _check_is_credential(claims)
        return claims

    def authorization_parameters(self, request: AuthorizationRequest) -> dict[str, str]:
        return {
            "response_type": "code",
            "client_id": self.options.client_id,
            "redirect_uri": request.redirect_uri,
            "scope": " ".join(self.metadata().scopes),
            "state": request.state,
            "nonce": request.nonce,
            "code_challenge": request.code_challenge,
            "code_challenge_method": "S256",
        }

    def exchange(self, code: str, redirect_uri: str, code_verifier: str, nonce: str) -> Tokens:
        """The tokens for an authorization code. Raises LoginFailed, ProviderUnavailable."""
        form = {"grant_type": "authorization_code", "code": code}
        answer = self._ask_for_tokens({**form, "redirect_uri": redirect_uri, "code_verifier": code_verifier})
        tokens = self._read_tokens(answer)
        if tokens.claims.get("nonce") != nonce:
            raise LoginFailed("the ID token was issued for another login: its nonce differs")
        return tokens

    def refresh(self, refresh_token: str, subject: str) -> Tokens:
        """Fresh tokens. Raises LoginFailed when it refuses or answers for somebody else, ProviderUnavailable.

        A provider need not send a new ID token (Core 1.0 section 12.2); then its userinfo endpoint is asked.
        """
        answer = self._ask_for_tokens({"grant_type": "refresh_token", "refresh_token": refresh_token})
        renewed = "id_token" in answer
        tokens = self._read_tokens(answer) if renewed else _tokens(answer, self._userinfo(answer), None)
        if tokens.claims.get("sub") != subject:
            raise LoginFailed("the provider answered for nobody or for another subject")
        return tokens

    def _userinfo(self, answer: Claims) -> Claims:
        access_token, endpoint = answer.get("access_token"), self.metadata().userinfo_endpoint
        if not isinstance(access_token, str) or endpoint is None:
            raise LoginFailed(f"the provider gave no tokens: {str(answer.get('error'))[:100]}")
        return _fetch("GET", endpoint, headers={"Authorization": f"Bearer {access_token}"})

    def _decode(self, token: str) -> Claims:
        """With the keys at hand; a key that is not among them may be a new one of the provider's."""
        try:
            return _decode(token, self._current_keys())
        except InvalidKeyIdError as error:
            if self._clock() - self._asked_at < KEYS_ASKED_SECONDS:
                raise LoginFailed("the token is refused: unknown key") from error
        try:
            return _decode(token, self._newer_keys())
        except InvalidKeyIdError as error:
            raise LoginFailed("the token is refused: unknown key") from error

    def _current_keys(self) -> KeySet:
        age = self._clock() - self._fetched_at
        if self._keys is None or age > KEYS_KEPT_SECONDS:
            return self._newer_keys()
        if age > KEYS_FRESH_SECONDS and self._clock() - self._asked_at > KEYS_ASKED_SECONDS:
            with suppress(ProviderUnavailable):
                return self._newer_keys()
        return self._keys

    def _newer_keys(self) -> KeySet:
        """The keys as they are now. Requests that come meanwhile go on with the old ones."""
        self._asked_at = self._clock()
        published = _fetch("GET", self.metadata().jwks_uri)
        try:
            keys = KeySet.import_key_set(cast(KeySetSerialization, published))
        except (JoseError, ValueError, KeyError, TypeError) as error:
            raise ProviderUnavailable("the identity provider publishes no usable keys") from error
        self._keys, self._fetched_at = keys, self._clock()
        return keys

    def _ask_for_tokens(self, form: Mapping[str, str]) -> Claims:
        metadata, options = self.metadata(), self.options
        if options.client_secret is None or metadata.posts_secret:
            secret = {} if options.client_secret is None else {"client_secret": options.client_secret}
            return _fetch("POST", metadata.token_endpoint, {**form, "client_id": options.client_id, **secret})
        return _fetch("POST", metadata.token_endpoint, form, (options.client_id, options.client_secret))

    def _read_tokens(self, answer: Claims) -> Tokens:
        id_token = answer.get("id_token")
        if not isinstance(id_token, str):
            raise LoginFailed(f"the provider gave no ID token: {str(answer.get('error'))[:100]}")
        return _tokens(answer, self.verify(id_token), id_token)


def _tokens(answer: Claims, claims: Claims, id_token: str | None) -> Tokens:
    refresh_token, expires_in = answer.get("refresh_token"), answer.get("expires_in")
    return Tokens(
        claims=claims,
        id_token=id_token,
        refresh_token=refresh_token if isinstance(refresh_token, str) else None,
        expires_in_seconds=expires_in if isinstance(expires_in, int) and expires_in > 0 else UNSAID_SECONDS,
    )


def _decode(token: str, keys: KeySet) -> Claims:
    """The claims under a good signature. Raises InvalidKeyIdError, and LoginFailed for everything else."""
    try:
        decoded = jwt.decode(token, keys, algorithms=ALGORITHMS)
        _check_kind(decoded.header.get("typ"))
        _check_times(decoded.claims)
        return decoded.claims
    except InvalidKeyIdError:
        raise
    except (JoseError, ValueError, KeyError, TypeError) as error:
        raise LoginFailed(f"the token is refused: {getattr(error, 'error', 'malformed')}") from error


def _check_kind(kind: object) -> None:
    """RFC 8725 section 3.11: a token that was made for something else is no credential, whoever signed it."""
    if kind is not None and (not isinstance(kind, str) or kind.lower().removeprefix("application/") not in KINDS):
        raise LoginFailed("the token is refused: it is of another kind")


def _check_times(claims: Claims) -> None:
    """RFC 7519 section 2: a NumericDate is a number of seconds. NaN, which JSON has not, would never be over."""
    for name in ("exp", "nbf", "iat"):
        moment = claims.get(name, 0)
        if isinstance(moment, bool) or not isinstance(moment, int | float) or not 0 <= moment <= LAST_SECOND:
            raise LoginFailed(f"the token is refused: its claim `{name}` is no time")


def _check_is_credential(claims: Claims) -> None:
    """OpenID Connect Back-Channel Logout 1.0 section 2.4: what tells of events is no ID token."""
    if "events" in claims:
        raise LoginFailed("the token is refused: it tells of events and speaks for nobody")


def _check_authorized_party(claims: Claims, client_id: str) -> None:
    """OpenID Connect Core 1.0 section 3.1.3.7 rules 4 and 5: a token for several audiences names us as the party."""
    party = claims.get("azp")
    if party is None and isinstance(claims["aud"], list) and len(claims["aud"]) > 1:
        raise LoginFailed("the token is refused: it is for several audiences and names no authorized party")
    if party is not None and party != client_id:
        raise LoginFailed("the token is refused: it was issued to another party")


def _read_metadata(document: Claims, issuer: str) -> Metadata:
    """Discovery 1.0 section 4.3: the document must name the very issuer it was asked from."""
    if document.get("issuer") != issuer:
        raise ProviderUnavailable(f"WEIR_OIDC_ISSUER is {issuer}, the provider calls itself {document.get('issuer')}")
    try:
        authorization, token, keys = (
            str(document[name]) for name in ("authorization_endpoint", "token_endpoint", "jwks_uri")
        )
    except KeyError as error:
        raise ProviderUnavailable(f"the discovery document of {issuer} lacks {error}") from error
    supported = document.get("scopes_supported")
    wanted = ("openid", "profile", "email", "offline_access")
    return Metadata(
        authorization_endpoint=authorization,
        token_endpoint=token,
        jwks_uri=keys,
        userinfo_endpoint=_optional(document, "userinfo_endpoint"),
        end_session_endpoint=_optional(document, "end_session_endpoint"),
        scopes=tuple(each for each in wanted if not isinstance(supported, list) or each in supported),
        posts_secret=document.get("token_endpoint_auth_methods_supported") == ["client_secret_post"],
    )


def _optional(document: Claims, name: str) -> str | None:
    value = document.get(name)
    return value if isinstance(value, str) else None


def _fetch(
    method: str,
    url: str,
    form: Mapping[str, str] | None = None,
    auth: tuple[str, str] | None = None,
    headers: Mapping[str, str] | None = None,
) -> Claims:
    """The JSON object at the URL, also of an error answer. Follows no redirect. Raises ProviderUnavailable."""
    try:
        response = requests.request(
            method,
            url,
            data=form,
            auth=auth,
            headers=headers,
            timeout=TIMEOUT_SECONDS,
            allow_redirects=False,
            stream=True,
        )
        with response:
            body = response.raw.read(LARGEST_ANSWER_BYTES, decode_content=True)
        document = json.loads(body)
    except (requests.RequestException, OSError, ValueError) as error:
        logger.warning("identity provider: %s %s failed: %s", method, url, type(error).__name__)
        raise ProviderUnavailable("the identity provider cannot be reached", retry_after_seconds=5) from error
    if not isinstance(document, dict):
        raise ProviderUnavailable("the identity provider answered with something else than a JSON object")
    return document
