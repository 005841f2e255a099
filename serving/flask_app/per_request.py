"""What every request gets, whichever Flask serves it: an id, a place in the counts, its log line kept or not."""

import os
from functools import partial
from time import monotonic
from typing import Final

from flask import Flask, Response

import logs
from metrics.meters import Meters
from serving.flask_app.current import this_request
from serving.sane_id import SANE_ID

# The route of a request that matched none: what the client sent has no bounds.
UNMATCHED: Final = "unmatched"


def install(app: Flask, meters: Meters, self_dataset: str | None = None) -> None:
    """Give every request an id, echoed if the client sent a sane one (api.md section 1), and count it.

    What is logged of requests that name `self_dataset` is not kept in it: else a shipper that sends Weir's log lines
    there, and is refused, would make a new line of every one that it sends.
    """
    app.before_request(_begin)
    if self_dataset is not None:
        app.before_request(partial(_keep_unless_named, self_dataset))
    app.after_request(partial(_end, meters))


def _begin() -> None:
    request = this_request()
    request.started = monotonic()
    sent = request.environ.get("HTTP_X_REQUEST_ID", "")
    request.id = sent if SANE_ID.fullmatch(sent) else os.urandom(16).hex()
    # A kept-alive connection is one greenlet: the next request on it sets its own.
    logs.request_id.set(request.id)


def _keep_unless_named(dataset: str) -> None:
    request = this_request()
    named = (request.environ.get("HTTP_X_P_STREAM", "").strip(), (request.view_args or {}).get("name"))
    logs.is_kept.set(dataset not in named)


def _end(meters: Meters, answer: Response) -> Response:
    request = this_request()
    rule = request.url_rule
    method, route = (request.method, rule.rule) if rule else (UNMATCHED, UNMATCHED)
    meters.answered(method, route, answer.status_code, monotonic() - request.started)
    if request.error_code is not None:
        meters.refused(request.error_code)
    answer.headers.add("X-Request-Id", request.id)
    return answer
