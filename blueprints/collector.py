"""What Splunk's senders ask of a collector besides taking events: whether it is healthy, what is acknowledged."""

from flask import Blueprint, Response

from errors import Overloaded
from ingest.decoded import Answer
from ingest.splunk import codes
from ingest.splunk.answers import answer, key_of
from web.authentication import protect_by_scheme
from web.services import services

PATH = "/services/collector"
health = Blueprint("collector_health", __name__, url_prefix=PATH)
blueprint = protect_by_scheme(Blueprint("collector", __name__, url_prefix=PATH), key_of)


@health.get("/health")
@health.get("/health/1.0")
def check() -> Response:
    """Whether events can be stored. Open to all, as Splunk's is: load balancers ask."""
    try:
        services().storage.check_ready()
    except Overloaded:
        return _response(answer("HEC is unhealthy", codes.UNHEALTHY, 503))
    return _response(answer("HEC is healthy", codes.HEALTHY))


@blueprint.post("/ack")
@blueprint.post("/ack/1.0")
def acknowledge() -> Response:
    """There is nothing to ask for later: a success says that the events are durable."""
    return _response(answer("ACK is disabled", codes.ACK_DISABLED, 400))


def _response(made: Answer) -> Response:
    return Response(made.body, made.status, content_type=made.media_type)
