"""One POST to an endpoint, by an address that was checked before: no redirects, no proxies, no second look-up.

A client of its own rather than a library's: what it must not do (follow, look up again, read proxies and passwords
from its surroundings, wait for ever) is most of what a library does.
"""

import http.client
import socket
import ssl
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Final

import certifi

from alerting.addresses import Endpoint
from version import VERSION

# For each wait, and for all of it: a receiver that answers a byte at a time must not hold a thread.
WAIT_SECONDS: Final = 10.0
TOTAL_SECONDS: Final = 30.0


@dataclass(frozen=True, slots=True)
class Reply:
    """All that is taken from an answer. Its body is not read: it is nobody's business what an inner service says."""

    status: int
    retry_after: str | None


class Undelivered(Exception):
    """No answer came; the message says why, without anything of the endpoint's."""


def resolve(endpoint: Endpoint) -> list[str]:
    """The addresses of the host, once. Raises Undelivered."""
    try:
        found = socket.getaddrinfo(endpoint.host, endpoint.port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        raise Undelivered("the host cannot be resolved") from error
    return list(dict.fromkeys(str(address[0]) for *_, address in found))


def post(
    endpoint: Endpoint, address: str, body: bytes, headers: Mapping[str, str], *, checks_tls: bool = True
) -> Reply:
    """Send the body to `address`, under the endpoint's name. Raises Undelivered."""
    connection = _connection(endpoint, address, checks_tls=checks_tls)
    request_headers = {
        **headers,
        "Host": endpoint.authority,
        "Content-Type": "application/json",
        "User-Agent": f"Weir/{VERSION}",
        "Connection": "close",
    }
    try:
        with _limited(connection):
            connection.request("POST", endpoint.target, body, request_headers)
            answer = connection.getresponse()
            return Reply(answer.status, answer.getheader("Retry-After"))
    except ssl.SSLError as error:
        raise Undelivered(f"TLS failed: {error.reason or 'handshake'}") from error
    except TimeoutError as error:
        raise Undelivered("no answer in time") from error
    except (OSError, http.client.HTTPException, ValueError) as error:
        raise Undelivered(f"the connection failed: {type(error).__name__}") from error
    finally:
        connection.close()


class _Pinned(http.client.HTTPConnection):
    """Connects to the address that it is told, whatever the host's name resolves to by now."""

    def __init__(self, endpoint: Endpoint, address: str) -> None:
        super().__init__(endpoint.host, endpoint.port, timeout=WAIT_SECONDS)
        self._address = address

    def connect(self) -> None:
        self.sock = socket.create_connection((self._address, self.port), WAIT_SECONDS)


class _PinnedTLS(_Pinned):
    """The same under TLS; the certificate must be that of the endpoint's name."""

    def __init__(self, endpoint: Endpoint, address: str, context: ssl.SSLContext) -> None:
        super().__init__(endpoint, address)
        self._context = context

    def connect(self) -> None:
        super().connect()
        # In two steps, so that a handshake that trickles can be cut off as well.
        self.sock = tls = self._context.wrap_socket(self.sock, server_hostname=self.host, do_handshake_on_connect=False)
        tls.do_handshake()


def _connection(endpoint: Endpoint, address: str, *, checks_tls: bool) -> _Pinned:
    if endpoint.scheme == "http":
        return _Pinned(endpoint, address)
    context = ssl.create_default_context()
    # The system's authorities, if it has any, and the usual ones.
    context.load_verify_locations(certifi.where())
    if not checks_tls:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    return _PinnedTLS(endpoint, address, context)


@contextmanager
def _limited(connection: _Pinned) -> Iterator[None]:
    """Cuts the connection after TOTAL_SECONDS, whatever trickles in meanwhile. Raises TimeoutError."""
    was_cut = threading.Event()

    def cut() -> None:
        was_cut.set()
        if connection.sock is not None:
            with suppress(OSError):
                connection.sock.shutdown(socket.SHUT_RDWR)

    timer = threading.Timer(TOTAL_SECONDS, cut)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
    # The client takes an answer that ends among its headers for a whole one.
    if was_cut.is_set():
        raise TimeoutError("the answer took too long")
