"""Whether the service lives, is ready, and what it is."""

from flask import Blueprint, Response, jsonify, request

import version
from auth.privileges import Action, may
from config import Settings
from errors import HostMissing
from ingest.elasticsearch.answers import BANNER, HEADERS, is_client
from web.authentication import protect
from web.caller import caller
from web.console_page import page
from web.services import services

public = Blueprint("health", __name__)
about = protect(Blueprint("about", __name__))


@public.get("/")
def root() -> Response:
    """The console for browsers, Elasticsearch's banner for its clients.

    Grafana's data sources probe the base address and want exactly 200.
    """
    if _is_elasticsearch_client():
        return _banner()
    pointer = {"service": "weir", "documentation": "/api/v1/openapi.json"}
    answer = page() if _is_browser() else jsonify(pointer)
    answer.headers["Vary"] = "Accept"
    return answer


def _is_browser() -> bool:
    """Whether HTML is asked for by name, and liked better than JSON: `*/*` alone is a program's."""
    accepted = request.accept_mimetypes
    return bool(services().console.page) and accepted["text/html"] > accepted["application/json"]


def _is_elasticsearch_client() -> bool:
    sent = request.headers
    return is_client(sent.get("User-Agent", ""), sent.get("Accept", ""), sent.get("X-Elastic-Client-Meta"))


def _banner() -> Response:
    answer = jsonify(BANNER)
    answer.headers.extend(HEADERS)
    return answer


@public.get("/api/v1/liveness")
def liveness() -> Response:
    """200 as long as the worker answers at all."""
    return jsonify({"status": "alive"})


@public.get("/api/v1/readiness")
def readiness() -> Response:
    """200 when events can be stored and queried; else the error says what is missing (503).

    `?for=ingestion` asks for the first alone: a host whose peer is missing still stores.
    """
    storage = services().storage
    storage.check_ready()
    peers = storage.layout.peers
    if peers is not None and request.args.get("for") != "ingestion":
        try:
            peers.listing()
        except HostMissing as error:
            # Anybody may ask here; which host it is, and why, stands in the log and in the answers to queries.
            raise HostMissing("a host of this deployment cannot be asked; the log names it") from error
    return jsonify({"status": "ready"})


@about.get("/api/v1/about")
def describe() -> Response:
    """What runs here: to readers; where it keeps things, to administrators. Parseable's clients read `mode`."""
    settings = services().settings
    members: dict[str, object] = {
        "commit": "",
        "mode": "Standalone",
        "oidcActive": settings.oidc_issuer is not None,
        "updateAvailable": False,
        "latestVersion": None,
    }
    if may(caller(), Action.LIST):
        members |= {"version": f"v{version.VERSION}", "store": _store(settings)}
    if may(caller(), Action.ADMINISTER):
        members |= {"staging": str(settings.data_dir / "staging")}
    return jsonify(members)


def _store(settings: Settings) -> dict[str, str]:
    store = {"type": "S3 bucket" if settings.storage_url else "Local drive"}
    if not may(caller(), Action.ADMINISTER):
        return store
    return {**store, "path": settings.storage_url or str(settings.data_dir)}
