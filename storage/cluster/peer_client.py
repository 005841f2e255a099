"""Asking another host over HTTP: signed requests, on connections that are kept."""

import hashlib
import json
import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.client import HTTPConnection, HTTPException, HTTPResponse, HTTPSConnection
from typing import Final, Protocol
from urllib.parse import urlsplit

from models.host import Host

# The longest silence of a peer, while connecting and between two pieces of its answer.
PATIENCE_SECONDS: Final = 10.0
MOST_IDLE: Final = 4
TIME_HEADER: Final = "X-Weir-Time"
# Of the body; what is signed is this, so that a host knows who asks before it reads anything.
DIGEST_HEADER: Final = "X-Weir-Digest"
SIGNATURE_HEADER: Final = "X-Weir-Signature"


class Unreachable(Exception):
    """The peer cannot be asked, or what answers is not the peer."""


class Signer(Protocol):
    """The secret that the hosts of a deployment share."""

    def sign(self, *parts: bytes) -> str: ...

    def signed(self, signature: str, *parts: bytes) -> bool:
        """Whether a host of the deployment has signed exactly this."""


@dataclass(frozen=True, slots=True)
class Offered:
    """A segment of a peer: its size, and the offset from which on its bytes follow."""

    name: str
    size: int
    offset: int


@dataclass(frozen=True, slots=True)
class Offer:
    """What a peer has. After its segments were named, their bytes come in the same order."""

    segments: tuple[Offered, ...]
    stream: HTTPResponse


class PeerClient:
    """Asks peers. Safe for any number of threads or greenlets."""

    def __init__(self, signer: Signer) -> None:
        self._signer = signer
        self._idle: dict[str, list[HTTPConnection]] = defaultdict(list)

    @contextmanager
    def ask(self, peer: Host, sizes: dict[str, int], after: str | None = None) -> Iterator[Offer]:
        """What the peer has beyond the first bytes of segments that are `known`. Raises Unreachable.

        `after` as in `segment_offer.offer`. The block must read all of the stream.
        """
        if peer.url is None:
            raise Unreachable("it has told no address: WEIR_ADVERTISE_URL is not set there")
        body = json.dumps({"known": sizes} | ({} if after is None else {"after": after})).encode()
        try:
            connection, answer, signature = self._send(peer, body)
            try:
                yield Offer(self._read(answer, signature), answer)
                is_done = answer.isclosed() or not answer.read(1)
            except BaseException:
                connection.close()
                raise
        except (OSError, HTTPException, ValueError) as error:
            raise Unreachable(str(error) or type(error).__name__) from error
        if is_done and len(self._idle[peer.url]) < MOST_IDLE:
            self._idle[peer.url].append(connection)
        else:
            connection.close()

    def _send(self, peer: Host, body: bytes) -> tuple[HTTPConnection, HTTPResponse, str]:
        """On a kept connection first, which the peer may have closed meanwhile, then on a new one."""
        assert peer.url is not None
        idle = self._idle[peer.url]
        while idle:
            connection = idle.pop()
            try:
                return self._send_on(connection, peer, body)
            except (OSError, HTTPException):
                connection.close()
        return self._send_on(connect(peer.url), peer, body)

    def _send_on(self, connection: HTTPConnection, peer: Host, body: bytes) -> tuple[HTTPConnection, HTTPResponse, str]:
        path = address(peer.name)
        headers = signed_headers(self._signer, path, digest_of(body)) | {"Content-Type": "application/json"}
        connection.request("POST", urlsplit(peer.url or "").path.rstrip("/") + path, body, headers)
        return connection, connection.getresponse(), headers[SIGNATURE_HEADER]

    def _read(self, answer: HTTPResponse, signature: str) -> tuple[Offered, ...]:
        """The first line of the answer, which the peer has signed for this very request. Raises ValueError."""
        if answer.status != 200:
            raise ValueError(f"it answers {answer.status}: {answer.read(500).decode(errors='replace')}")
        line = answer.readline()
        if not self._signer.signed(answer.headers.get(SIGNATURE_HEADER, ""), signature.encode(), line):
            raise ValueError("what answers there is not of this deployment")
        return tuple(Offered(str(name), int(size), int(offset)) for name, size, offset in json.loads(line))


def signed_headers(signer: Signer, path: str, digest: str) -> dict[str, str]:
    """What proves that a host of the deployment asks this now, with a body of that digest."""
    moment = f"{time.time():.3f}"
    signature = signer.sign(moment.encode(), path.encode(), digest.encode())
    return {TIME_HEADER: moment, DIGEST_HEADER: digest, SIGNATURE_HEADER: signature}


def digest_of(body: bytes) -> str:
    """What stands for the body in a signature."""
    return hashlib.sha256(body).hexdigest()


def address(node: str) -> str:
    """The path of a host's offer. It names the host: whoever else got its address does not answer for it."""
    return f"/api/v1/internal/hosts/{node}/segments"


def connect(url: str) -> HTTPConnection:
    """A connection to a host, made with its first request."""
    parts = urlsplit(url)
    kind = HTTPSConnection if parts.scheme == "https" else HTTPConnection
    return kind(parts.hostname or "", parts.port, timeout=PATIENCE_SECONDS)
