"""Whether the client of a request is still there, asked of its socket without taking anything from it."""

import os
import socket
from collections.abc import Callable

from flask import Request

from errors import ClientGone


def client_disconnected(request: Request) -> Callable[[], bool]:
    """A function that tells whether the request's client has closed its connection, to be asked while it waits.

    A client that has only closed its sending side counts as gone, as it does for nginx. Where the server does not
    show its socket (Flask's test client), nobody ever is.
    """
    connection = request.environ.get("gunicorn.socket")
    if connection is None:
        return _never

    def is_gone() -> bool:
        # The descriptor, not the gevent or TLS object around it, which would wait or refuse the flag.
        try:
            with socket.socket(fileno=os.dup(connection.fileno())) as probe:
                probe.setblocking(False)
                return probe.recv(1, socket.MSG_PEEK) == b""
        except BlockingIOError:
            return False
        except OSError:
            return True

    return is_gone


def require_present(request: Request) -> None:
    """Raises ClientGone when nobody is going to read the answer: asked before work that is worth the system call."""
    if client_disconnected(request)():
        raise ClientGone("the client closed its connection before its events were decoded; nothing was stored")


def _never() -> bool:
    return False
