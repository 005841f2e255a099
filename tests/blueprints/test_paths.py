"""Authorization sees the routed path: odd spellings of a guarded address open nothing (attack 11)."""

import http.client

import pytest

pytestmark = pytest.mark.each_stack

KEYS = "/api/v1/apikeys"
SPELLINGS = [
    "//api/v1/apikeys",
    "/api//v1/apikeys",
    "/api/v1//apikeys",
    "/api/v1/apikeys/",
    "/api/v1/apikeys//",
    "/api/v1/./apikeys",
    "/api/v1/liveness/../apikeys",
    "/api/v1/liveness/%2e%2e/apikeys",
    "/api/v1/liveness;/../apikeys",
    "/api/v1/apikeys;x=1",
    "/api/v1/apikeys%2F",
    "/api/v1/apikeys%00",
    "/api/v1/apikeys%3F",
    "/api/v1/%61pikeys",
    "/API/V1/APIKEYS",
    "/api/v1/apikeys?x=/api/v1/liveness",
    "http://localhost/api/v1/apikeys",
    "/api/v1/o/login/../../apikeys",
]
OVERRIDES = ["X-HTTP-Method-Override", "X-Method-Override", "X-HTTP-Method"]
SPOOFED = ["X-Original-URL", "X-Rewrite-URL", "X-Forwarded-User", "X-Remote-User", "X-Weir-Identity", "Remote-User"]


@pytest.fixture(scope="module")
def reader(service) -> str:
    return service.make_key("paths-reader", {"privilege": "reader"})


def send(service, method: str, target: str, **headers: str) -> tuple[int, bytes]:
    """The target as it is: http.client does not tidy it up."""
    connection = http.client.HTTPConnection("127.0.0.1", service.port, timeout=30)
    connection.request(method, target, headers={"Connection": "close", **headers})
    answer = connection.getresponse()
    body = answer.read()
    connection.close()
    return answer.status, body


@pytest.mark.parametrize("target", SPELLINGS)
@pytest.mark.parametrize("method", ["GET", "POST", "HEAD", "OPTIONS"])
def test_odd_spelling_opens_nothing(service, reader, target, method):
    for headers in ({}, {"X-API-Key": reader}):
        status, body = send(service, method, target, **headers)

        assert status in (308, 400, 401, 403, 404, 405)
        assert b"keyId" not in body


@pytest.mark.parametrize("method", ["TRACE", "CONNECT", "PATCH", "FOO", "get"])
def test_odd_method_opens_nothing(service, reader, method):
    status, body = send(service, method, KEYS, **{"X-API-Key": reader})

    assert status in (400, 401, 403, 404, 405, 501)
    assert reader.encode() not in body


@pytest.mark.parametrize("header", OVERRIDES)
def test_method_override_is_ignored(service, reader, header):
    assert send(service, "POST", "/api/v1/users", **{"X-API-Key": reader, header: "GET"})[0] == 405
    assert send(service, "GET", KEYS, **{"X-API-Key": reader, header: "POST"})[0] == 403


@pytest.mark.parametrize("header", SPOOFED)
def test_header_that_proxies_set_makes_nobody_an_administrator(service, reader, header):
    assert send(service, "GET", KEYS, **{header: "admin"})[0] == 401
    assert send(service, "GET", KEYS, **{"X-API-Key": reader, header: "/api/v1/liveness"})[0] == 403


def test_repeated_key_header_is_refused(service, reader):
    """Attack 10: neither the first nor the last of two wins."""
    connection = http.client.HTTPConnection("127.0.0.1", service.port, timeout=30)
    connection.putrequest("GET", "/api/v1/logstream")
    connection.putheader("X-API-Key", reader)
    connection.putheader("x-api-key", reader)
    connection.endheaders()

    assert connection.getresponse().status == 401
    connection.close()
