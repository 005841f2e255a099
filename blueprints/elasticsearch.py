"""What Elasticsearch's senders ask before they send: who answers, its licence, health, templates and policies.

All that they would set up is said to be there already: a dataset needs none of it.
"""

from typing import Any, Final

from flask import Blueprint, Flask, Response, jsonify

from ingest.elasticsearch.answers import BANNER, HEADERS, key_of
from web.authentication import protect_by_scheme
from web.services import Services

PREFIX: Final = "/elasticsearch"
KINDS: Final = (
    "_index_template",
    "_template",
    "_component_template",
    "_ilm/policy",
    "_ingest/pipeline",
    "_data_stream",
)


def register(app: Flask, services: Services) -> None:
    """Serve the probes, also without the prefix where that is not the address of something else."""
    app.register_blueprint(_blueprint("elasticsearch_probes", PREFIX, with_root=True))
    app.register_blueprint(_blueprint("elasticsearch_probes_at_root", "", with_root=False))


def _blueprint(name: str, prefix: str, *, with_root: bool) -> Blueprint:
    blueprint = protect_by_scheme(Blueprint(name, __name__), key_of)
    blueprint.after_request(_add_product)
    if with_root:
        blueprint.add_url_rule(prefix, "root", root, methods=["GET"])
        blueprint.add_url_rule(f"{prefix}/", "root_slash", root, methods=["GET"])
    blueprint.add_url_rule(f"{prefix}/_license", "licence", licence, methods=["GET"])
    blueprint.add_url_rule(f"{prefix}/_xpack", "features", features, methods=["GET"])
    blueprint.add_url_rule(f"{prefix}/_cluster/health", "cluster_health", cluster_health, methods=["GET"])
    for kind in KINDS:
        endpoint = kind.strip("_").replace("/", "_")
        view = _existing(kind)
        blueprint.add_url_rule(f"{prefix}/{kind}/<name>", endpoint, view, methods=["GET"])
        blueprint.add_url_rule(f"{prefix}/{kind}/<name>", f"put_{endpoint}", acknowledge, methods=["PUT", "POST"])
    return blueprint


def _add_product(response: Response) -> Response:
    response.headers.extend(HEADERS)
    return response


def root() -> Response:
    """What clients recognise Elasticsearch by."""
    return jsonify(BANNER)


def licence() -> Response:
    """The one that Beats and Logstash need to start."""
    return jsonify({"license": {"status": "active", "uid": "weir", "type": "basic", "mode": "basic"}})


def features() -> Response:
    """No more than index management."""
    return jsonify(
        {"build": {}, "license": {"status": "active", "type": "basic"}, "features": {"ilm": {"enabled": True}}}
    )


def cluster_health() -> Response:
    """Green: whether events can be stored is asked at /api/v1/readiness."""
    return jsonify({"cluster_name": "weir", "status": "green", "timed_out": False, "number_of_nodes": 1})


def _existing(kind: str) -> Any:
    def show(name: str) -> Response:
        """It is there, whatever its name is, and says nothing."""
        return jsonify(_description(kind, name))

    return show


def _description(kind: str, name: str) -> dict[str, Any]:
    if kind == "_index_template":
        return {"index_templates": [{"name": name, "index_template": {"index_patterns": [name], "priority": 0}}]}
    if kind == "_component_template":
        return {"component_templates": [{"name": name, "component_template": {"template": {}}}]}
    if kind == "_data_stream":
        return {"data_streams": [{"name": name, "status": "GREEN", "indices": []}]}
    return {name: {"version": 1, "policy": {"phases": {}}} if kind == "_ilm/policy" else {}}


def acknowledge(name: str) -> Response:
    """Taken note of, and not needed."""
    return jsonify({"acknowledged": True})
