"""Requests and answers: gunicorn's own classes, without looking up again for each what is the same for all.

What a request is, and what its answer may be, stays for gunicorn to say: nothing here parses or permits anything.
"""

import io
import time
from email.utils import formatdate
from functools import lru_cache
from typing import Any, Final

from gunicorn.http import message, wsgi
from gunicorn.http.body import LengthReader
from gunicorn.http.parser import RequestParser
from gunicorn.http.unreader import SocketUnreader

READ_BYTES: Final = 64 * 1024
"""Asked of the kernel where the end is not known yet. A small request comes as a whole, and its body with its head."""

LARGEST_JOINED: Final = 64 * 1024
"""Above this, copying the body costs more than a system call."""


class Constants:
    """gunicorn's configuration, of which each look-up is a call. A worker's never changes."""

    def __init__(self, cfg: Any) -> None:
        self._cfg = cfg

    def __getattr__(self, name: str) -> Any:
        value = getattr(self._cfg, name)
        setattr(self, name, value)
        return value


class Incoming(SocketUnreader):  # type: ignore[misc]  # gunicorn has no types
    """What arrives on a connection, and whether its peer is a proxy that may say for whom it speaks."""

    is_trusted: bool | None = None


class Request(message.Request):  # type: ignore[misc]
    """A request whose body is in memory if it has come already."""

    body: Any

    def _peer_is_trusted_proxy(self) -> bool:
        if self.unreader.is_trusted is None:
            self.unreader.is_trusted = super()._peer_is_trusted_proxy()
        return bool(self.unreader.is_trusted)

    def set_body_reader(self) -> None:
        super().set_body_reader()
        reader = self.body.reader
        if isinstance(reader, LengthReader) and reader.length <= self.unreader.buf.tell():
            self.body = io.BytesIO(self.unreader.read(reader.length))


class Parser(RequestParser):  # type: ignore[misc]
    """The requests of a connection, in their order. Its `next` raises StopIteration, NoMoreData, ParseException."""

    mesg_class = Request

    def __init__(self, cfg: Any, client: Any, address: Any) -> None:
        super().__init__(cfg, client, address)
        self.unreader = Incoming(client, READ_BYTES)


class Response(wsgi.Response):  # type: ignore[misc]
    """An answer whose head leaves with the beginning of its body, not by a system call and in a packet of its own."""

    headers_sent: bool

    def default_headers(self) -> list[str]:
        major, minor = self.req.version
        connection = "upgrade" if self.upgrade else "close" if self.should_close() else "keep-alive"
        return [
            f"HTTP/{major}.{minor} {self.status}\r\nServer: {self.version}\r\n"
            f"Date: {_date(int(time.time()))}\r\nConnection: {connection}\r\n",
            "Transfer-Encoding: chunked\r\n" if self.chunked else "",
        ]

    def send_headers(self) -> None:
        """Nothing yet: they go with what comes next."""

    def close(self) -> None:
        """Send what is left: a head that nothing came after, the end of the chunks."""
        self._send(b"0\r\n\r\n" if self.chunked else b"")

    def _emit_body(self, data: bytes) -> None:
        self._send(b"%X\r\n%b\r\n" % (len(data), data) if self.chunked else data)

    def _send(self, data: bytes) -> None:
        if not self.headers_sent:
            self.headers_sent = True
            data = self._send_with_head(data)
        if data:
            self.sock.sendall(data)

    def _send_with_head(self, data: bytes) -> bytes:
        """What is left to send of the data."""
        lines = [*self.default_headers(), *(f"{name}: {value}\r\n" for name, value in self.headers), "\r\n"]
        head = "".join(lines).encode("latin-1")
        if len(data) > LARGEST_JOINED:
            self.sock.sendall(head)
            return data
        data = head + data
        # All of it nearly always; gevent's sendall first asks the kernel for the size of its buffer.
        return data[self.sock.send(data) :]


@lru_cache(maxsize=1)
def _date(second: int) -> str:
    """A second since 1970 as the Date header has it (RFC 9110 section 5.6.7)."""
    return formatdate(second, usegmt=True)
