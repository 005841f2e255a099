"""What every request gets: an id, answers in compact JSON."""

import os
import re
from collections.abc import Callable
from functools import partial
from typing import Any, Final

import orjson
from flask import Flask, Response, g, request
from flask.json.provider import JSONProvider

import logs

SANE_ID: Final = re.compile(r"[A-Za-z0-9._:/+=-]{1,128}")


class Application(Flask):
    """Flask for an application whose functions are all synchronous."""

    def ensure_sync(self, func: Callable[..., Any]) -> Callable[..., Any]:
        """Flask asks of each function of each request whether it is a coroutine's: a twentieth of a small request."""
        return func


class CompactJSON(JSONProvider):
    """Flask's JSON by orjson: no spaces, keys in the order given, bytes never escaped needlessly."""

    def dumps(self, obj: Any, **_: Any) -> str:
        return orjson.dumps(obj).decode()

    def loads(self, s: str | bytes, **_: Any) -> Any:
        return orjson.loads(s)

    def response(self, *args: Any, **kwargs: Any) -> Response:
        """The bytes as orjson makes them, rather than decoded here and encoded again by Flask."""
        content = orjson.dumps(self._prepare_response_obj(args, kwargs))
        return Response(content, mimetype="application/json")


def install(app: Flask, self_dataset: str | None = None) -> None:
    """Give every request an id, echoed if the client sent a sane one (api.md section 1).

    What is logged of requests that name `self_dataset` is not kept in it: else a shipper that sends Weir's log lines
    there, and is refused, would make a new line of every one that it sends.
    """
    app.json = CompactJSON(app)
    app.before_request(_identify)
    if self_dataset is not None:
        app.before_request(partial(_keep_unless_named, self_dataset))
    app.after_request(_echo)


def _identify() -> None:
    sent = request.headers.get("X-Request-Id", "")
    g.request_id = sent if SANE_ID.fullmatch(sent) else os.urandom(16).hex()
    # A kept-alive connection is one greenlet: the next request on it sets its own.
    logs.request_id.set(g.request_id)


def _keep_unless_named(dataset: str) -> None:
    named = (request.headers.get("X-P-Stream", "").strip(), (request.view_args or {}).get("name"))
    logs.is_kept.set(dataset not in named)


def _echo(answer: Response) -> Response:
    answer.headers["X-Request-Id"] = g.request_id
    return answer
