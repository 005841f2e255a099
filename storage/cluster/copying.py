"""The second copy, on the side of who takes events: what is appended to a segment is on another host, too.

One host keeps the copy of a whole segment; when it cannot, the segment ends. So there is never a copy with a hole.
docs/decisions/several-hosts.md has the protocol and why nothing is lost or doubled by it.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from http.client import HTTPConnection, HTTPException, HTTPResponse
from time import monotonic
from typing import Final
from urllib.parse import urlsplit

from models import host, segment_copy
from models.host import Host
from storage.cluster.peer_client import SIGNATURE_HEADER, Signer, connect, digest_of, signed_headers
from storage.wal.records import Buffer
from storage.write.committer import CopyFailed

# A host that failed is not chosen for so long, if there is another.
AVOIDED_SECONDS: Final = 10.0
# What a holder signs together with the request: only it can tell that the bytes are durable.
STORED: Final = b"stored"


@dataclass(frozen=True, slots=True)
class Piece:
    """Bytes to append, and what stands for them in a signature."""

    body: bytes
    digest: str


def address(holder: str, owner: str, segment: str, offset: int) -> str:
    """The path of an append. It names the host that is asked, as that of an offer does."""
    return f"/api/v1/internal/hosts/{holder}/copies/{owner}/{segment}/{offset}"


class Copier:
    """Has copies kept of the segments of host `node`. For one thread."""

    def __init__(self, node: str, signer: Signer) -> None:
        self._node, self._signer = node, signer
        self._failed_at: dict[str, float] = {}

    def encoded(self, buffers: Sequence[Buffer]) -> Piece:
        """The buffers as a piece to send. Takes time, for a copy and a digest."""
        body = b"".join(buffers)
        return Piece(body, digest_of(body))

    def begin(self, segment: str) -> "CopyStream":
        """Have another host keep a copy of a new segment. Raises CopyFailed, StorageUnavailable."""
        holder = self._holder()
        segment_copy.begin(segment, self._node, holder.name)
        return CopyStream(self, holder, segment)

    def end(self, segment: str, size: int) -> None:
        """Nothing beyond these bytes counts, wherever a copy of the segment is. Raises StorageUnavailable."""
        segment_copy.end_at(segment, size)

    def sign(self, holder: Host, segment: str, offset: int, digest: str) -> tuple[str, dict[str, str]]:
        """The path of an append and its headers."""
        path = address(holder.name, self._node, segment, offset)
        return path, signed_headers(self._signer, path, digest) | {"Content-Type": "application/octet-stream"}

    def has_stored(self, headers: dict[str, str], signature: str) -> bool:
        """Whether the holder says, for the request with these headers, that the bytes are durable."""
        return self._signer.signed(signature, headers[SIGNATURE_HEADER].encode(), STORED)

    def avoid(self, holder: Host) -> None:
        """Choose others for a while."""
        self._failed_at[holder.name] = monotonic()

    def _holder(self) -> Host:
        """The next living host by name, so that copies are spread. Raises CopyFailed."""
        others = [each for each in host.present() if each.name != self._node and each.is_living and each.url]
        if not others:
            raise CopyFailed("no second host lives that could keep a copy of the events")
        return min(others, key=lambda each: (self._is_avoided(each), each.name < self._node, each.name))

    def _is_avoided(self, each: Host) -> bool:
        failed_at = self._failed_at.get(each.name)
        return failed_at is not None and monotonic() - failed_at < AVOIDED_SECONDS


class CopyStream:
    """The copy of one segment while it grows: `send`, then `wait`, then the next."""

    def __init__(self, copier: Copier, holder: Host, segment: str) -> None:
        self._copier, self._holder, self._segment = copier, holder, segment
        self._connection: HTTPConnection | None = None
        self._headers: dict[str, str] = {}
        self._again: Callable[[], None] | None = None

    def send(self, offset: int, added: Piece) -> None:
        """Send bytes that follow the first `offset` ones. Raises CopyFailed, as `wait`."""
        self._again = partial(self._request, offset, added)
        with self._failing():
            self._request(offset, added)

    def wait(self) -> None:
        """Return when the bytes are durable at the holder. Raises CopyFailed, after which the segment has to end."""
        with self._failing():
            self._read()

    def close(self) -> None:
        """Let go of the connection."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    @contextmanager
    def _failing(self) -> Iterator[None]:
        try:
            yield
        except (OSError, HTTPException) as error:
            self.close()
            self._copier.avoid(self._holder)
            raise CopyFailed(f"host {self._holder.name} ({self._holder.url}) keeps no copy: {error}") from error

    def _request(self, offset: int, added: Piece) -> None:
        """On the connection that there is, which the holder may have closed meanwhile, or on a new one."""
        path, self._headers = self._copier.sign(self._holder, self._segment, offset, added.digest)
        path = urlsplit(self._holder.url or "").path.rstrip("/") + path
        if self._connection is not None:
            with suppress(OSError, HTTPException):
                self._connection.request("POST", path, added.body, self._headers)
                return
            self.close()
        self._connection = connect(self._holder.url or "")
        self._connection.request("POST", path, added.body, self._headers)

    def _read(self) -> None:
        try:
            answer = self._response()
        except ConnectionError:
            # Closed as the request came: to append the same again is nothing.
            self.close()
            if self._again is not None:
                self._again()
            answer = self._response()
        told = answer.read(1000)
        if answer.status != 200:
            raise HTTPException(f"it answers {answer.status}: {told.decode(errors='replace')}")
        if not self._copier.has_stored(self._headers, answer.headers.get(SIGNATURE_HEADER, "")):
            raise HTTPException("what answers there is not of this deployment")

    def _response(self) -> HTTPResponse:
        if self._connection is None:
            raise HTTPException("nothing was sent")
        return self._connection.getresponse()
