"""What the hosts of a deployment ask of each other. No user's credential counts here, and no user is meant to look."""

from itertools import chain
from typing import Final, cast

import orjson
from flask import Blueprint, Flask, Response, current_app, request

from auth.peers import PeerKey
from errors import NotFound, TooLarge, Unauthenticated
from schemas.peers import KnownSchema
from schemas.reading import load
from storage.cluster.peer_client import SIGNATURE_HEADER, TIME_HEADER
from storage.cluster.segment_offer import content, headline, offer
from web.services import services

EXTENSION: Final = "weir.peer_key"
# Room for the names of 200,000 segments: days of them, in case the object store is away.
LARGEST_BODY_BYTES: Final = 8 * 1024 * 1024

blueprint = Blueprint("internal", __name__, url_prefix="/api/v1/internal")


def install(app: Flask, key: PeerKey | None) -> None:
    """Let the app answer hosts that have the key; None: a host that is alone answers nobody."""
    app.extensions[EXTENSION] = key


@blueprint.post("/hosts/<node>/segments")
def segments(node: str) -> Response:
    """What this host has not converted yet, beyond the bytes that the asking host knows: a line, then the bytes."""
    key, signature, body = _admitted()
    layout = services().storage.layout
    if node != layout.node:
        raise NotFound(f"this is host {layout.node}")
    asked = load(KnownSchema(), orjson.loads(body))
    offered = offer(layout, cast(dict[str, int], asked["known"]))
    line = headline(offered)
    answer = Response(chain((line,), content(offered)), content_type="application/octet-stream")
    answer.headers["Content-Length"] = str(len(line) + sum(each.staged.size - each.offset for each in offered))
    answer.headers["Cache-Control"] = "no-store"
    answer.headers[SIGNATURE_HEADER] = key.sign(signature.encode(), line)
    return answer


def _admitted() -> tuple[PeerKey, str, bytes]:
    """The key, the signature and the body of a request of another host. Raises Unauthenticated, TooLarge."""
    key: PeerKey | None = current_app.extensions[EXTENSION]
    if key is None:
        raise Unauthenticated("this host is alone: WEIR_ADVERTISE_URL is not set")
    body = request.stream.read(LARGEST_BODY_BYTES + 1)
    if len(body) > LARGEST_BODY_BYTES:
        raise TooLarge("too many segments are known", limit=LARGEST_BODY_BYTES)
    signature = request.headers.get(SIGNATURE_HEADER, "")
    key.admit(signature, request.headers.get(TIME_HEADER, ""), request.path.encode(), body)
    return key, signature, body
