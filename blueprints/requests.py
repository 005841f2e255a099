"""What every request gets: an id, answers in compact JSON."""

import os
import re
from collections.abc import Callable
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


def install(app: Flask) -> None:
    """Give every request an id, echoed if the client sent a sane one (api.md section 1)."""
    app.json = CompactJSON(app)
    app.before_request(_identify)
    app.after_request(_echo)


def _identify() -> None:
    sent = request.headers.get("X-Request-Id", "")
    g.request_id = sent if SANE_ID.fullmatch(sent) else os.urandom(16).hex()
    # A kept-alive connection is one greenlet: the next request on it sets its own.
    logs.request_id.set(g.request_id)


def _echo(answer: Response) -> Response:
    answer.headers["X-Request-Id"] = g.request_id
    return answer
