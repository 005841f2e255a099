"""Flask with less to do for each request. docs/decisions/serving.md names what it takes from Flask's inside."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

import orjson
from flask import Flask, Response, request_tearing_down
from flask.globals import request_ctx
from flask.sessions import NullSession, SessionInterface
from werkzeug.datastructures import Headers
from werkzeug.routing import MapAdapter

from serving.flask_app.current import Request, this_request
from serving.flask_app.hooks import Hooks, hooks_of
from serving.flask_app.json_answers import CompactJSON
from serving.flask_app.routing import Routing
from serving.flask_app.stock import StockApplication

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

    @classmethod
    def of_json(cls, content: bytes) -> "Answer":
        """`Answer(content, content_type="application/json")`, in a third of the time."""
        answer = cls.__new__(cls)
        vars(answer).update(_JSON_ANSWER, response=[content], headers=Headers(), _on_close=[])
        answer.headers.add("Content-Type", "application/json")
        answer.headers.add("Content-Length", str(len(content)))
        return answer

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


_JSON_ANSWER: Final = vars(Answer(content_type="application/json"))


class NoSession(SessionInterface):
    """Flask's own sessions are not used: there is one for all requests, which is empty and refuses every change."""

    _none: Final = NullSession()

    def open_session(self, app: Flask, request: Any) -> NullSession:
        return self._none


class FastJSON(CompactJSON):
    """The bytes as orjson makes them, rather than decoded here and encoded again by Flask."""

    def response(self, *args: Any, **kwargs: Any) -> Answer:
        return self.answer(orjson.dumps(self._prepare_response_obj(args, kwargs)))

    def answer(self, content: bytes) -> Answer:
        return Answer.of_json(content)


class Application(StockApplication):
    """Flask for an application whose functions are all synchronous and which serves one map of rules on any host."""

    response_class = Answer
    json_provider_class = FastJSON
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


# By `WEIR_HTTP_STACK`.
APPLICATIONS: Final[Mapping[str, type[Flask]]] = {"fast": Application, "stock": StockApplication}
