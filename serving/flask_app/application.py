"""The application as Flask knows it, and what every request gets: an id, a place in the counts, an answer in JSON."""

import os
import re
from collections.abc import Callable, Iterable
from functools import partial
from time import monotonic
from typing import Any, Final

import orjson
from flask import Flask, Response, request_tearing_down
from flask.globals import request_ctx
from flask.json.provider import JSONProvider
from flask.sessions import NullSession, SessionInterface
from werkzeug.datastructures import Headers
from werkzeug.routing import MapAdapter

import logs
from metrics.meters import Meters
from serving.flask_app.current import Request, this_request
from serving.flask_app.hooks import Hooks, hooks_of
from serving.flask_app.routing import Routing

SANE_ID: Final = re.compile(r"[A-Za-z0-9._:/+=-]{1,128}")
# The route of a request that matched none: what the client sent has no bounds.
UNMATCHED: Final = "unmatched"
NO_BODY: Final = frozenset({204, 304})
# Headers that Werkzeug writes anew as an answer goes out.
REWRITTEN: Final = frozenset({"location", "content-location"})


class Answer(Response):
    """Flask's response, whose body, if it is there as bytes, goes out as it is."""

    def __call__(self, environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        if environ["REQUEST_METHOD"] == "HEAD" or not self._is_plain():
            return super().__call__(environ, start_response)
        start_response(self.status, self.headers.to_wsgi_list())
        return self.response  # type: ignore[return-value]  # _is_plain: a list of bytes

    def _is_plain(self) -> bool:
        """Whether Werkzeug would leave headers and body as they are, and nothing is to be done afterwards."""
        body = self.response
        if type(body) is not list or len(body) != 1 or type(body[0]) is not bytes or self._on_close:
            return False
        names = {name.lower() for name, _ in self.headers}
        return (
            self.status_code >= 200
            and self.status_code not in NO_BODY
            and "content-length" in names
            and names.isdisjoint(REWRITTEN)
        )


def json_answer(content: bytes) -> Answer:
    """`Answer(content, content_type="application/json")`, in a third of the time."""
    answer = Answer.__new__(Answer)
    vars(answer).update(_JSON_ANSWER, response=[content], headers=Headers(), _on_close=[])
    answer.headers.add("Content-Type", "application/json")
    answer.headers.add("Content-Length", str(len(content)))
    return answer


_JSON_ANSWER: Final = vars(Answer(content_type="application/json"))


class NoSession(SessionInterface):
    """Flask's own sessions are not used: there is one for all requests, which is empty and refuses every change."""

    _none: Final = NullSession()

    def open_session(self, app: Flask, request: Any) -> NullSession:
        return self._none


class CompactJSON(JSONProvider):
    """Flask's JSON by orjson: no spaces, keys in the order given, bytes never escaped needlessly."""

    def dumps(self, obj: Any, **_: Any) -> str:
        return orjson.dumps(obj).decode()

    def loads(self, s: str | bytes, **_: Any) -> Any:
        return orjson.loads(s)

    def response(self, *args: Any, **kwargs: Any) -> Answer:
        """The bytes as orjson makes them, rather than decoded here and encoded again by Flask."""
        return json_answer(orjson.dumps(self._prepare_response_obj(args, kwargs)))


class Application(Flask):
    """Flask for an application whose functions are all synchronous and which serves one map of rules on any host."""

    request_class = Request
    response_class = Answer
    json_provider_class = CompactJSON
    session_interface = NoSession()

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._routing = Routing()
        self._hooks: dict[str | None, Hooks] = {}

    def ensure_sync(self, func: Callable[..., Any]) -> Callable[..., Any]:
        """Flask asks of each function of each request whether it is a coroutine's: a twentieth of a small request."""
        return func

    def create_url_adapter(self, request: Any) -> MapAdapter | None:
        """Flask's, without looking at a host again that it has looked at."""
        if request is None:
            return None
        adapter = self._routing.adapter(request, self.url_map)
        if adapter is None and (adapter := super().create_url_adapter(request)):
            self._routing.learn(request, adapter)
        return adapter

    def preprocess_request(self) -> Any:
        """Flask's, which looks the functions up for each request."""
        if self.url_value_preprocessors:
            return super().preprocess_request()
        for function in self._hooks_of(this_request()).before:
            answer = function()
            if answer is not None:
                return answer
        return None

    def process_response(self, response: Any) -> Any:
        """Flask's, which looks the functions up for each request, and asks whether there is a session to keep."""
        if request_ctx._after_request_functions:
            return super().process_response(response)
        for function in self._hooks_of(this_request()).after:
            response = function(response)
        return response

    def do_teardown_request(self, *exc: Any) -> None:
        """Flask's, if anybody waits for it."""
        if self.teardown_request_funcs or request_tearing_down.receivers:
            super().do_teardown_request(*exc)

    def _hooks_of(self, request: Request) -> Hooks:
        endpoint = request.endpoint
        if endpoint not in self._hooks:
            self._hooks[endpoint] = hooks_of(self, request.blueprints)
        return self._hooks[endpoint]


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
