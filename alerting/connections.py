"""Connections to where notices go: one look-up, the checked address under the endpoint's name, and an end in time."""

import socket
import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Final

import certifi

from alerting.addresses import Endpoint, Policy, choose
from errors import InvalidRequest

# For each wait, and for all of it: a receiver that answers a byte at a time must not hold a thread.
WAIT_SECONDS: Final = 10.0
TOTAL_SECONDS: Final = 30.0
NOT_PERMITTED: Final = (
    "the host is, or has, an address that notices may not be sent to; an administrator may name it in"
    " WEIR_ALERT_ALLOWED_HOSTS"
)


class Undelivered(Exception):
    """No answer came; the message says why, without anything of the endpoint's."""


def permitted_address(endpoint: Endpoint, policy: Policy) -> str:
    """The address to connect to. Raises Undelivered, and InvalidRequest when the host may not be sent to."""
    address = choose(endpoint, resolve(endpoint), policy)
    if address is None:
        raise InvalidRequest(NOT_PERMITTED)
    return address


def resolve(endpoint: Endpoint) -> list[str]:
    """The addresses of the host, once. Raises Undelivered."""
    try:
        found = socket.getaddrinfo(endpoint.host, endpoint.port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        raise Undelivered("the host cannot be resolved") from error
    return list(dict.fromkeys(str(address[0]) for *_, address in found))


def tls_context(*, checks_tls: bool) -> ssl.SSLContext:
    """For a client; the system's authorities, if it has any, and the usual ones."""
    context = ssl.create_default_context()
    context.load_verify_locations(certifi.where())
    if not checks_tls:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    return context


@contextmanager
def limited(opened: Callable[[], socket.socket | None]) -> Iterator[None]:
    """Cuts the connection after TOTAL_SECONDS, whatever trickles in meanwhile. Raises TimeoutError.

    `opened` gives the socket, once there is one.
    """
    was_cut = threading.Event()

    def cut() -> None:
        was_cut.set()
        if (connected := opened()) is not None:
            with suppress(OSError):
                connected.shutdown(socket.SHUT_RDWR)

    timer = threading.Timer(TOTAL_SECONDS, cut)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        # A client takes an answer that ends among its headers for a whole one, or for a broken connection.
        if was_cut.is_set():
            raise TimeoutError("the answer took too long")


@contextmanager
def told() -> Iterator[None]:
    """Turns what a network does into Undelivered."""
    try:
        yield
    except ssl.SSLError as error:
        raise Undelivered(f"TLS failed: {error.reason or 'handshake'}") from error
    except TimeoutError as error:
        raise Undelivered("no answer in time") from error
    except OSError as error:
        raise Undelivered(f"the connection failed: {type(error).__name__}") from error
