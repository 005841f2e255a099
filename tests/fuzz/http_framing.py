"""Bytes of a connection as gunicorn's parser frames them, by the classes that serve."""

import socket

from gunicorn.config import Config
from gunicorn.http.errors import NoMoreData, ParseException

from serving.gunicorn_worker.messages import Parser
from tests.fuzz.mutation import MOST_BYTES

WORDS = (
    b"\r\n",
    b"\n",
    b"Content-Length: ",
    b"Transfer-Encoding: chunked",
    b"Expect: 100-continue",
    b"0\r\n\r\n",
    b"GET / ",
)
CONFIG = Config()


def feed(data: bytes) -> None:
    """No more comes out than went in, and nothing is raised but a refusal."""
    client, server = socket.socketpair()
    # What is not read yet is kept by the kernel, as on a real connection.
    client.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4 * MOST_BYTES)
    with client, server:
        server.settimeout(5)
        client.sendall(data)
        client.shutdown(socket.SHUT_WR)
        assert _read(Parser(CONFIG, server, ("127.0.0.1", 1))) <= len(data)


def _read(requests: Parser) -> int:
    """How many bytes the bodies have."""
    size = 0
    try:
        for request in requests:
            size += len(request.body.read())
    except (ParseException, NoMoreData, OSError):
        pass
    return size
