"""What the hosts of a deployment ask of each other. No user's credential counts here, and no user is meant to look."""

from collections.abc import Iterator
from contextlib import contextmanager
from hmac import compare_digest
from itertools import chain
from typing import Final, cast

import orjson
from flask import Blueprint, Response, request

from auth.peers import PeerKey
from errors import InvalidJSON, NotFound, Unauthenticated
from runtime import Pool
from schemas.peers import KnownSchema
from schemas.reading import load
from serving.flask_app.current import this_request
from storage.cluster import copies
from storage.cluster.copying import STORED
from storage.cluster.peer_client import DIGEST_HEADER, SIGNATURE_HEADER, TIME_HEADER, digest_of
from storage.cluster.segment_offer import content, manifest_line, offer
from web.services import services

# Room for the names of 200,000 segments: days of them, in case the object store is away.
LARGEST_BODY_BYTES: Final = 8 * 1024 * 1024
# A commit, of which one request alone may be larger than what commits are gathered to (storage/write/committer.py).
LARGEST_COPY_BYTES: Final = 512 * 1024 * 1024

# Copies are synced beside this host's own commits, and do not queue behind decoding.
_appends: Final = Pool(2)
blueprint = Blueprint("internal", __name__, url_prefix="/api/v1/internal")


@blueprint.post("/hosts/<node>/segments")
def segments(node: str) -> Response:
    """What this host has not converted yet, beyond the bytes that the asking host knows: a line, then the bytes."""
    key, signature = _admitted()
    layout = services().storage.layout
    if node != layout.node:
        raise NotFound(f"this is host {layout.node}")
    asked = load(KnownSchema(), _body())
    offered = offer(layout, cast(dict[str, int], asked["known"]), cast(str | None, asked["after"]))
    line = manifest_line(offered)
    answer = Response(chain((line,), content(offered)), content_type="application/octet-stream")
    answer.headers["Content-Length"] = str(len(line) + sum(each.segment.size - each.offset for each in offered))
    answer.headers["Cache-Control"] = "no-store"
    answer.headers[SIGNATURE_HEADER] = key.sign(signature.encode(), line)
    return answer


@blueprint.post("/hosts/<node>/copies/<owner>/<segment>/<int:offset>")
def append_to_copy(node: str, owner: str, segment: str, offset: int) -> Response:
    """Keep bytes of another host's segment. The answer is signed: it says that they are on the disk."""
    key, signature = _admitted()
    storage = services().storage
    if node != storage.layout.node:
        raise NotFound(f"this is host {storage.layout.node}")
    storage.check_disk()
    with _signed_body(LARGEST_COPY_BYTES) as body:
        if not offset:
            copies.begin(storage.layout, owner, segment)
        _appends.run(copies.append, storage.layout, owner, segment, offset, body)
    return Response(headers={SIGNATURE_HEADER: key.sign(signature.encode(), STORED)})


def _admitted() -> tuple[PeerKey, str]:
    """The key and the signature of a request of another host, by its headers alone. Raises Unauthenticated."""
    key = services().peer_key
    if key is None:
        raise Unauthenticated("this host is alone: WEIR_ADVERTISE_URL is not set")
    moment, digest, signature = (
        request.headers.get(name, "") for name in (TIME_HEADER, DIGEST_HEADER, SIGNATURE_HEADER)
    )
    key.admit(signature, moment, request.path.encode(), digest.encode())
    return key, signature


@contextmanager
def _signed_body(limit_bytes: int) -> Iterator[bytes]:
    """The body of an admitted request, which has to be the one that was signed. Raises Unauthenticated."""
    with services().bodies.receive_plain(this_request(), limit_bytes) as body:
        if not compare_digest(digest_of(body).encode(), request.headers[DIGEST_HEADER].encode()):
            raise Unauthenticated("another body than this was signed")
        yield body


def _body() -> object:
    """What an admitted request says. Raises Unauthenticated, InvalidJSON."""
    with _signed_body(LARGEST_BODY_BYTES) as body:
        try:
            return orjson.loads(body)
        except orjson.JSONDecodeError as error:
            raise InvalidJSON("the body is not JSON") from error
