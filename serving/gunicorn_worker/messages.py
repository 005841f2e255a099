"""Requests and answers: gunicorn's own classes, without looking up again for each what is the same for all.

What a request is, and what its answer may be, stays for gunicorn to say: nothing here parses or permits anything. What
its two parsers do not agree on is refused.
"""

import io
import time
from collections.abc import Callable
from email.utils import formatdate
from functools import lru_cache
from typing import Any, Final

from gunicorn.http import message, wsgi
from gunicorn.http.body import LengthReader
from gunicorn.http.errors import InvalidHeader, ObsoleteFolding
from gunicorn.http.parser import RequestParser
from gunicorn.http.unreader import SocketUnreader

from serving.gunicorn_worker.waiting import Wait, send

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


class Rest(io.RawIOBase):
    """A body of known length as it arrives, straight from the connection. gunicorn's reader copies it several times."""

    def __init__(self, incoming: Incoming, length: int) -> None:
        self._socket = incoming.sock
        self._missing = length
        # All of it the body's: there is less than that.
        self._arrived = memoryview(incoming.take_buffered())
        self.failed = False

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        """One system call, or what has come with the head."""
        wanted = memoryview(buffer)[: self._missing]
        count = self._take(wanted) if self._arrived else self._receive(wanted)
        self._missing -= count
        return count

    def _take(self, wanted: memoryview) -> int:
        count = min(len(wanted), len(self._arrived))
        wanted[:count], self._arrived = self._arrived[:count], self._arrived[count:]
        return count

    def _receive(self, wanted: memoryview) -> int:
        try:
            return int(self._socket.recv_into(wanted)) if wanted else 0
        except Exception:
            self.failed = True
            raise


class Body(io.BufferedReader):
    """A body that has not come as a whole yet."""

    def __init__(self, rest: Rest) -> None:
        super().__init__(rest)
        self._rest = rest

    @property
    def failed(self) -> bool:
        """Whether reading it went wrong: nobody knows then where the next request begins."""
        return self._rest.failed


class Request(message.Request):  # type: ignore[misc]
    """A request whose body, if its length is known, is read without detours, or has been if it came with the head."""

    body: Any

    def _peer_is_trusted_proxy(self) -> bool:
        if self.unreader.is_trusted is None:
            self.unreader.is_trusted = super()._peer_is_trusted_proxy()
        return bool(self.unreader.is_trusted)

    def _parse_fast(self, unreader: Incoming, buf: bytearray) -> bytes:
        """What follows the head. Raises what the other parser raises for a line that another server may end elsewhere.

        RFC 9112 sections 2.2 and 5.2: the C parser takes a bare LF for the end of a line, and a folded line for a
        header without a name.
        """
        rest: bytes = super()._parse_fast(unreader, buf)
        head = bytes(buf[: len(buf) - len(rest)])
        if head.count(b"\n") != head.count(b"\r\n"):
            raise InvalidHeader("bare LF as line terminator")
        if any(not name for name, _ in self.headers):
            raise ObsoleteFolding("a header")
        return rest

    def set_body_reader(self) -> None:
        super().set_body_reader()
        reader = self.body.reader
        if not isinstance(reader, LengthReader):
            return
        has_come = reader.length <= self.unreader.buf.tell()
        self.body = io.BytesIO(reader.read(reader.length)) if has_come else Body(Rest(self.unreader, reader.length))


class Parser(RequestParser):  # type: ignore[misc]
    """The requests of a connection, in their order. Its `next` raises StopIteration, NoMoreData, ParseException."""

    mesg_class = Request

    def __init__(self, cfg: Any, client: Any, address: Any) -> None:
        super().__init__(cfg, client, address)
        self.unreader = Incoming(client, READ_BYTES)


class Response(wsgi.Response):  # type: ignore[misc]
    """An answer whose head leaves with the beginning of its body, not by a system call and in a packet of its own."""

    headers_sent: bool

    def __init__(self, request: Request, client: Any, cfg: Any, sending: Callable[[], Wait]) -> None:
        super().__init__(request, client, cfg)
        self.sending = sending

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

    def write(self, arg: bytes) -> None:
        """As gunicorn's. An empty piece of an answer without an end in sight sends the head on its own, as there."""
        super().write(arg)
        if not arg and self.chunked and not self.headers_sent:
            self._send(b"")

    def close(self) -> None:
        """Send what is left: a head that nothing came after, the end of the chunks."""
        self._send(b"0\r\n\r\n" if self.chunked else b"")

    def _emit_body(self, data: bytes) -> None:
        self._send(b"%X\r\n%b\r\n" % (len(data), data) if self.chunked else data)

    def _send(self, data: bytes) -> None:
        if not self.headers_sent:
            self.headers_sent = True
            data = self._head_before(data)
        if data:
            send(self.sock, data, self.sending)

    def _head_before(self, data: bytes) -> bytes:
        """What there is to send, with the head, unless that has gone ahead."""
        lines = [*self.default_headers(), *(f"{name}: {value}\r\n" for name, value in self.headers), "\r\n"]
        head = "".join(lines).encode("latin-1")
        if len(data) <= LARGEST_JOINED:
            return head + data
        send(self.sock, head, self.sending)
        return data


@lru_cache(maxsize=1)
def _date(second: int) -> str:
    """A second since 1970 as the Date header has it (RFC 9110 section 5.6.7)."""
    return formatdate(second, usegmt=True)
