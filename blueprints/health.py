"""Whether the service lives, is ready, and what it is."""

from flask import Blueprint, Response, jsonify, request

import version
from models import base
from web.authentication import protect
from web.services import services

public = Blueprint("health", __name__)
about = protect(Blueprint("about", __name__))


@public.get("/")
def root() -> Response:
    """Grafana's data sources probe the base address and want exactly 200."""
    return jsonify({"service": "weir", "documentation": "/api/v1/openapi.json"})


@public.get("/api/v1/liveness")
def liveness() -> Response:
    """200 as long as the worker answers at all."""
    return jsonify({"status": "alive"})


@public.get("/api/v1/readiness")
def readiness() -> Response:
    """200 when events can be stored and queried; else the error says what is missing (503).

    `?for=ingestion` asks for the first alone: a host whose peer is missing still stores.
    """
    with base.connection():
        base.database.execute_sql("SELECT 1")
    peers = services().storage.layout.peers
    if peers is not None and request.args.get("for") != "ingestion":
        peers.listing()
    return jsonify({"status": "ready"})


@about.get("/api/v1/about")
def describe() -> Response:
    """What runs here. `license` and `mode` are read by Parseable's clients."""
    settings = services().settings
    store = "S3 bucket" if settings.storage_url else "Local drive"
    return jsonify(
        {
            "version": f"v{version.VERSION}",
            "commit": "",
            "mode": "Standalone",
            "staging": str(settings.data_dir / "staging"),
            "store": {"type": store, "path": settings.storage_url or str(settings.data_dir)},
            "oidcActive": settings.oidc_issuer is not None,
            "updateAvailable": False,
            "latestVersion": None,
        }
    )
