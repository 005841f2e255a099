"""One POST to an endpoint, by an address that was checked before: no redirects, no proxies, no second look-up.

A client of its own rather than a library's: what it must not do (follow, look up again, read proxies and passwords
from its surroundings, wait for ever) is most of what a library does.
"""

import http.client
import socket
import ssl
from collections.abc import Mapping
from dataclasses import dataclass

from alerting.addresses import Endpoint
from alerting.connections import WAIT_SECONDS, Undelivered, limited, tls_context, told
from version import VERSION


@dataclass(frozen=True, slots=True)
class Reply:
    """All that is taken from an answer. Its body is not read: it is nobody's business what an inner service says."""

    status: int
    retry_after: str | None


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
        with told(), limited(lambda: connection.sock):
            connection.request("POST", endpoint.target, body, request_headers)
            answer = connection.getresponse()
            return Reply(answer.status, answer.getheader("Retry-After"))
    except (http.client.HTTPException, ValueError) as error:
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
    return _PinnedTLS(endpoint, address, tls_context(checks_tls=checks_tls))
