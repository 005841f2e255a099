"""How a peer is asked over HTTP, and what is not taken for its answer."""

import json
import threading
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from auth.peers import PeerKey
from auth.secrets import Secrets
from models.host import Host
from storage.cluster.peer_client import (
    DIGEST_HEADER,
    SIGNATURE_HEADER,
    TIME_HEADER,
    Offered,
    PeerClient,
    Unreachable,
    digest_of,
)
from tests.running import free_port

KEY = PeerKey(Secrets(b"one key for all the hosts"))
NAME = "01ARZ3NDEKTSV4RRFFQ69G5FAV"


class Peer(ThreadingHTTPServer):
    """Answers with `data` for one segment; `spoil` may change the headers or the body of an answer."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.data = b"the bytes of a segment"
        self.key = KEY
        self.status = 200
        self.announced = 0
        self.closes = False
        self.connections = 0
        self.asked: list[object] = []

    @property
    def host(self) -> Host:
        moment = datetime(2026, 1, 2, tzinfo=UTC)
        return Host(NAME, f"http://127.0.0.1:{self.server_port}/below", moment, moment, None, None, True)


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Peer

    def setup(self) -> None:
        super().setup()
        self.server.connections += 1

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        path = self.path.removeprefix("/below")
        digest = self.headers[DIGEST_HEADER]
        KEY.admit(self.headers[SIGNATURE_HEADER], self.headers[TIME_HEADER], path.encode(), digest.encode())
        assert digest == digest_of(body)
        self.server.asked.append((path, json.loads(body)["known"]))
        data = self.server.data
        line = json.dumps([(NAME, len(data), 0)] if data else []).encode() + b"\n"
        self.send_response(self.server.status)
        self.send_header(SIGNATURE_HEADER, self.server.key.sign(self.headers[SIGNATURE_HEADER].encode(), line))
        self.send_header("Content-Length", str(len(line) + len(data) + self.server.announced))
        self.end_headers()
        self.wfile.write(line + data)
        self.close_connection = bool(self.server.announced) or self.server.closes

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def peer() -> Iterator[Peer]:
    with Peer() as made:
        threading.Thread(target=made.serve_forever, daemon=True).start()
        yield made
        made.shutdown()


@pytest.fixture
def exchange() -> PeerClient:
    return PeerClient(KEY)


def read(exchange: PeerClient, host: Host, known: dict[str, int] | None = None) -> tuple[tuple[Offered, ...], bytes]:
    with exchange.ask(host, known or {}) as offer:
        return offer.segments, offer.stream.read(sum(each.size - each.offset for each in offer.segments))


def test_peer_is_asked_by_its_name_for_what_is_not_known(exchange: PeerClient, peer: Peer) -> None:
    assert read(exchange, peer.host, {NAME: 3}) == ((Offered(NAME, len(peer.data), 0),), peer.data)
    assert peer.asked == [(f"/api/v1/internal/hosts/{NAME}/segments", {NAME: 3})]


def test_connection_is_kept_and_made_anew_when_the_peer_has_closed_it(exchange: PeerClient, peer: Peer) -> None:
    read(exchange, peer.host)
    peer.data = b""
    read(exchange, peer.host)
    assert peer.connections == 1

    # It says nothing of closing, as a peer that is stopped says nothing.
    peer.closes = True
    read(exchange, peer.host)
    peer.closes = False
    assert read(exchange, peer.host) == ((), b"")
    assert peer.connections == 2


def spoil_key(peer: Peer) -> None:
    """A proxy's page, or a server of another deployment at the address."""
    peer.key = PeerKey(Secrets(b"another deployment's key"))


def spoil_status(peer: Peer) -> None:
    peer.status = 503


@pytest.mark.parametrize(("spoil", "reason"), [(spoil_key, "not of this deployment"), (spoil_status, "503")])
def test_answer_that_is_not_the_peers_is_none(
    exchange: PeerClient, peer: Peer, spoil: Callable[[Peer], None], reason: str
) -> None:
    spoil(peer)

    with pytest.raises(Unreachable, match=reason):
        read(exchange, peer.host)


def test_answer_that_breaks_off_is_none(exchange: PeerClient, peer: Peer) -> None:
    peer.announced = 5

    with pytest.raises(Unreachable), exchange.ask(peer.host, {}) as offer:
        offer.stream.read()


def test_peer_that_is_not_there_is_unreachable(exchange: PeerClient) -> None:
    moment = datetime(2026, 1, 2, tzinfo=UTC)

    with pytest.raises(Unreachable, match="refused"):
        read(exchange, Host(NAME, f"http://127.0.0.1:{free_port()}", moment, moment, None, None, True))
    with pytest.raises(Unreachable, match="WEIR_ADVERTISE_URL"):
        read(exchange, Host(NAME, None, moment, moment, None, None, True))
