"""Tokens of an OIDC provider, good and forged. The provider answers over real HTTP; its keys are ours to misuse."""

import base64
import hmac
import json
import math
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest
from flask import Flask, jsonify
from joserfc import jwt
from joserfc.jwk import ECKey, OctKey, RSAKey
from werkzeug.serving import make_server

from auth.provider import KEYS_ASKED_SECONDS, KEYS_FRESH_SECONDS, KEYS_KEPT_SECONDS, Provider, ProviderOptions
from errors import LoginFailed, ProviderUnavailable

CLIENT = "weir"
RSA = RSAKey.generate_key(2048, {"kid": "first"})
OTHER_RSA = RSAKey.generate_key(2048, {"kid": "second"})
EC = ECKey.generate_key("P-256", {"kid": "curve"})


class Issuer:
    """An OIDC provider whose documents can be changed under way."""

    def __init__(self) -> None:
        self.keys: list[Any] = [RSA, EC]
        self.asked_for_keys = 0
        self.is_away = False
        self.changes: dict[str, Any] = {}
        app = Flask(__name__)

        @app.get("/.well-known/openid-configuration")
        def discover() -> Any:
            document = {name: f"{self.url}/{name}" for name in ("authorization_endpoint", "token_endpoint", "jwks_uri")}
            return jsonify({"issuer": self.url, **document, **self.changes})

        @app.get("/jwks_uri")
        def publish() -> Any:
            self.asked_for_keys += 1
            if self.is_away:
                return "out of order", 503
            return jsonify({"keys": [key.as_dict(private=isinstance(key, OctKey)) for key in self.keys]})

        self.server = make_server("127.0.0.1", 0, app, threaded=True)
        self.url = f"http://127.0.0.1:{self.server.server_port}"

    def sign(
        self, key: Any = RSA, algorithm: str = "RS256", header: dict[str, Any] | None = None, **claims: Any
    ) -> str:
        now = int(time.time())
        whole = {"iss": self.url, "aud": CLIENT, "sub": "ann", "iat": now, "exp": now + 300, **claims}
        present = {name: value for name, value in whole.items() if value is not None}
        return jwt.encode({"alg": algorithm, "kid": key.kid, **(header or {})}, present, key, algorithms=[algorithm])


@pytest.fixture
def issuer() -> Iterator[Issuer]:
    issuer = Issuer()
    thread = threading.Thread(target=issuer.server.serve_forever, args=(0.01,))
    thread.start()
    yield issuer
    issuer.server.shutdown()
    thread.join()
    issuer.server.server_close()


class Clock:
    def __init__(self) -> None:
        self.seconds = 1000.0

    def __call__(self) -> float:
        return self.seconds


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def provider(issuer: Issuer, clock: Clock) -> Provider:
    return Provider(ProviderOptions(issuer.url, CLIENT, "secret", "groups"), clock)


@pytest.mark.parametrize(("key", "algorithm"), [(RSA, "RS256"), (RSA, "PS256"), (EC, "ES256")])
def test_good_token_gives_its_claims(issuer, provider, key, algorithm):
    token = issuer.sign(key, algorithm, groups=["dev"])

    assert provider.verify(token)["groups"] == ["dev"]


BAD_CLAIMS = {
    "other issuer": {"iss": "https://evil.example"},
    "issuer with slash": {"iss": "http://127.0.0.1/"},
    "no issuer": {"iss": None},
    "other audience": {"aud": "grafana"},
    "other audiences": {"aud": ["grafana", "kibana"]},
    "no audience": {"aud": None},
    "audience no text": {"aud": 7},
    "several audiences without a party": {"aud": [CLIENT, "grafana"]},
    "issued to another party": {"azp": "grafana"},
    "expired": {"exp": int(time.time()) - 3600},
    "no expiry": {"exp": None},
    "expiry no number": {"exp": "tomorrow"},
    "not yet valid": {"nbf": int(time.time()) + 3600},
    "issued in the future": {"iat": int(time.time()) + 3600},
    "expiry that is never over": {"exp": math.nan},
    "expiry at the end of time": {"exp": math.inf},
    "expiry yes": {"exp": True},
    "valid from no time": {"nbf": math.nan},
    "issued at no time": {"iat": -math.inf},
    "issued before all time": {"iat": -1e300},
    "issued after all time": {"iat": 1e300},
    "issued before 1970": {"iat": -1},
    "events": {"events": {"http://schemas.openid.net/event/backchannel-logout": {}}},
    "no subject": {"sub": None},
    "subject no text": {"sub": 7},
}


@pytest.mark.parametrize("claims", BAD_CLAIMS.values(), ids=BAD_CLAIMS)
def test_token_with_bad_claims_is_refused(issuer, provider, claims):
    with pytest.raises(LoginFailed):
        provider.verify(issuer.sign(**claims))


@pytest.mark.parametrize("kind", ["logout+jwt", "application/logout+jwt", "secevent+jwt", ""])
def test_token_of_another_kind_is_refused(issuer, provider, kind):
    """RFC 8725 section 3.11; a provider signs logout tokens with the same key, for the same audience."""
    with pytest.raises(LoginFailed, match="refused"):
        provider.verify(issuer.sign(header={"kid": "first", "typ": kind}))


@pytest.mark.parametrize("kind", ["JWT", "at+jwt", "application/at+jwt"])
def test_token_of_a_known_kind_is_taken(issuer, provider, kind):
    assert provider.verify(issuer.sign(header={"kid": "first", "typ": kind}))["sub"] == "ann"


def forge(issuer: Issuer, algorithm: str, secret: bytes | None) -> str:
    """A token under a header of our making, signed by HMAC with the secret or not at all."""
    header = base64.urlsafe_b64encode(json.dumps({"alg": algorithm, "kid": "first"}).encode()).rstrip(b"=")
    body = header + b"." + issuer.sign().split(".")[1].encode()
    signature = b"" if secret is None else hmac.digest(secret, body, "sha256")
    return (body + b"." + base64.urlsafe_b64encode(signature).rstrip(b"=")).decode()


@pytest.mark.parametrize("algorithm", ["none", "None", "NONE", ""])
def test_unsigned_token_is_refused(issuer, provider, algorithm):
    with pytest.raises(LoginFailed):
        provider.verify(forge(issuer, algorithm, None))


@pytest.mark.parametrize("secret", [RSA.as_pem(private=False), RSA.as_der(private=False), b""], ids=["PEM", "DER", "-"])
def test_public_key_used_as_a_shared_secret_is_refused(issuer, provider, secret):
    """HS/RS confusion."""
    with pytest.raises(LoginFailed):
        provider.verify(forge(issuer, "HS256", secret))


def test_shared_secret_among_the_published_keys_is_not_used(issuer, provider):
    secret = OctKey.generate_key(256, {"kid": "shared"})
    issuer.keys.append(secret)

    with pytest.raises(LoginFailed):
        provider.verify(issuer.sign(secret, "HS256"))


@pytest.mark.parametrize("extra", ["jwk", "jku", "x5u"])
def test_key_that_the_token_brings_along_is_not_used(issuer, provider, extra):
    brought = {"jwk": OTHER_RSA.as_dict(private=False), "jku": "http://evil.example", "x5u": "http://evil.example"}
    token = issuer.sign(OTHER_RSA, header={"kid": "first", extra: brought[extra]})

    with pytest.raises(LoginFailed):
        provider.verify(token)


@pytest.mark.parametrize("damage", [lambda t: t[:-4] + "AAAA", lambda t: t + ".x", lambda t: "", lambda t: "a.b.c"])
def test_damaged_token_is_refused(issuer, provider, damage):
    with pytest.raises(LoginFailed):
        provider.verify(damage(issuer.sign()))


def test_changed_claims_are_refused(issuer, provider):
    header, _, signature = issuer.sign().split(".")
    payload = issuer.sign(sub="admin").split(".")[1]

    with pytest.raises(LoginFailed):
        provider.verify(f"{header}.{payload}.{signature}")


def test_new_key_of_the_provider_is_fetched_when_a_token_names_it(issuer, provider, clock):
    """Rotation: no restart, no waiting."""
    provider.verify(issuer.sign())
    issuer.keys = [OTHER_RSA]
    clock.seconds += KEYS_ASKED_SECONDS

    assert provider.verify(issuer.sign(OTHER_RSA))["sub"] == "ann"


def test_withdrawn_key_is_refused_after_a_minute(issuer, provider, clock):
    provider.verify(issuer.sign())
    issuer.keys = [OTHER_RSA]
    clock.seconds += KEYS_FRESH_SECONDS + 1

    with pytest.raises(LoginFailed):
        provider.verify(issuer.sign())


def test_keys_are_kept_while_the_provider_is_away_but_not_for_ever(issuer, provider, clock):
    token = issuer.sign()
    provider.verify(token)
    issuer.is_away = True

    clock.seconds += KEYS_FRESH_SECONDS + 1
    for _ in range(3):
        assert provider.verify(token)["sub"] == "ann"
    assert issuer.asked_for_keys == 2, "a provider that is away does not make every request wait for it"

    clock.seconds += KEYS_KEPT_SECONDS
    with pytest.raises(ProviderUnavailable):
        provider.verify(token)


def test_tokens_of_invented_keys_do_not_become_requests_to_the_provider(issuer, provider, clock):
    stranger = RSAKey.generate_key(2048, {"kid": "invented"})
    provider.verify(issuer.sign())

    for _ in range(20):
        with pytest.raises(LoginFailed):
            provider.verify(issuer.sign(stranger))

    assert issuer.asked_for_keys == 1


def test_provider_that_calls_itself_otherwise_is_not_trusted(issuer, provider):
    """Discovery 1.0 section 4.3."""
    issuer.changes = {"issuer": "https://evil.example"}

    with pytest.raises(ProviderUnavailable):
        provider.verify(issuer.sign())


def test_provider_that_is_away_is_told_apart_from_a_wrong_token():
    provider = Provider(ProviderOptions("http://127.0.0.1:9", CLIENT, None, "groups"))

    with pytest.raises(ProviderUnavailable):
        provider.verify("a.b.c")
