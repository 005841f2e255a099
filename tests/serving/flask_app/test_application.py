"""What our application does more cheaply than Flask has to come out as Flask's does."""

import flask
import pytest
from flask import Blueprint, Flask, Response, jsonify, session
from werkzeug.exceptions import HTTPException
from werkzeug.routing import MapAdapter
from werkzeug.test import create_environ, run_wsgi_app

from metrics.exposition import text
from metrics.meters import Meters
from serving.flask_app import routing
from serving.flask_app.application import Answer, Application, CompactJSON
from serving.flask_app.current import this_request
from serving.flask_app.per_request import install


def with_rules(app: Flask) -> Flask:
    """Rules of each kind: fixed, with a variable, with a slash at the end, with a default, below a blueprint."""
    below = Blueprint("below", __name__, url_prefix="/below")
    below.get("/fixed")(lambda: "below")
    app.register_blueprint(below)
    app.get("/")(lambda: "root")
    app.add_url_rule("/fixed", "fixed", lambda: "fixed", methods=["GET", "POST"])
    app.add_url_rule("/names/<name>", "named", lambda name: name)
    app.add_url_rule("/slash/", "slash", lambda: "slash")
    app.add_url_rule("/pages/", "pages", str, defaults={"page": 1})
    app.add_url_rule("/pages/<int:page>", "pages", str)
    return app


def found(adapter: MapAdapter | None) -> object:
    """What the adapter makes of its request: the rule and the values, or what is answered instead."""
    assert adapter is not None
    try:
        rule, values = adapter.match(return_rule=True)
    except HTTPException as error:
        return type(error), getattr(error, "new_url", None), sorted(getattr(error, "valid_methods", None) or ())
    return rule.rule, rule.endpoint, values


PATHS = [
    "/",
    "/fixed",
    "//fixed",
    "/fixed/",
    "/names/%C3%A4",
    "/names/a%20b",
    "/slash",
    "/slash/",
    "/pages/1",
    "/pages/2",
]
PLACES = [
    pytest.param({}, id="plain"),
    pytest.param({"base_url": "https://Weir.example:8443"}, id="https with a port"),
    pytest.param({"base_url": "http://xn--mnchen-3ya.example"}, id="a name beyond ASCII"),
    pytest.param({"headers": {"Host": "not a host"}}, id="no host's name"),
    pytest.param({"headers": {"Host": "[::1]:80"}}, id="IPv6"),
    pytest.param({"base_url": "http://localhost/below"}, id="below a path"),
    pytest.param({"headers": {"Connection": "Upgrade", "Upgrade": "websocket"}}, id="websocket"),
    pytest.param({"query_string": "a=%C3%A4&b=1%2B1"}, id="with a query"),
    pytest.param({"environ_overrides": {"QUERY_STRING": "a=\xc3\xa4\xff"}}, id="with a query not encoded"),
    pytest.param({"method": "POST"}, id="POST"),
    pytest.param({"method": "OPTIONS"}, id="OPTIONS"),
]


@pytest.mark.parametrize("path", [*PATHS, "/below/fixed", "/none"])
@pytest.mark.parametrize("place", PLACES)
def test_a_request_like_one_before_is_routed_as_flask_routes_it(place: dict, path: str):
    ours, flasks = with_rules(Application("ours")), with_rules(Flask("flask"))

    for _ in range(3):
        mine = ours.request_context(create_environ(path, **place))
        expected = flasks.request_context(create_environ(path, **place))

        assert found(mine.url_adapter) == found(expected.url_adapter)
        assert mine.request.host == expected.request.host
        assert mine.url_adapter.allowed_methods() == expected.url_adapter.allowed_methods()


def test_a_redirect_names_the_host_that_was_asked():
    client = with_rules(Application("ours")).test_client()

    for host in ("one.example", "two.example:8000", "one.example"):
        answer = client.get("/slash?a=1", headers={"Host": host})
        assert (answer.status_code, answer.headers["Location"]) == (308, f"http://{host}/slash/?a=1")


def test_a_view_may_change_its_arguments():
    app = Application("ours")

    @app.before_request
    def add() -> None:
        assert this_request().view_args == {}
        this_request().view_args["name"] = "added"

    app.get("/")(lambda name: name)

    assert [app.test_client().get("/").text for _ in range(3)] == ["added"] * 3


def test_hosts_beyond_the_limit_are_served_and_not_kept(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(routing, "MOST_HOSTS", 2)
    app = with_rules(Application("ours"))

    answers = [app.test_client().get("/fixed", headers={"Host": f"h{number}"}) for number in range(5)]

    assert [answer.text for answer in answers] == ["fixed"] * 5
    assert len(app._routing._hosts) == 2


ANSWERS = [
    pytest.param(lambda of: of(b"body", mimetype="text/plain"), id="bytes"),
    pytest.param(lambda of: of("Zürich", 400, {"X-A": "1"}), id="text"),
    pytest.param(lambda of: of(b"", 200), id="empty"),
    pytest.param(lambda of: of(status=204), id="204"),
    pytest.param(lambda of: of(b"not sent", 304, {"ETag": '"1"', "Expires": "0"}), id="304"),
    pytest.param(lambda of: of(["one", "two"]), id="pieces of text"),
    pytest.param(lambda of: of(iter([b"one", b"two"]), headers={"X-A": "1"}), id="stream"),
    pytest.param(lambda of: of(["Zürich"], headers={"Content-Length": "7"}), id="text whose length is given"),
    pytest.param(lambda of: of(b"moved", 302, {"Location": "/\u00e4 b"}), id="location"),
    pytest.param(lambda of: of(b"here", headers={"content-location": "/\u00e4"}), id="content location"),
]


@pytest.mark.parametrize("method", ["GET", "HEAD"])
@pytest.mark.parametrize("make", ANSWERS)
def test_an_answer_goes_out_as_flasks_does(make, method: str):
    environ = create_environ("/", method=method)

    (body, status, headers), (other, *expected) = (run_wsgi_app(make(of), environ) for of in (Answer, Response))

    assert (b"".join(body), status, headers) == (b"".join(other), *expected)


def test_what_is_to_happen_after_an_answer_happens():
    answer, closed = Answer(b"body"), []
    answer.call_on_close(lambda: closed.append(True))

    body, _, _ = run_wsgi_app(answer, create_environ("/"))
    assert b"".join(body) == b"body"
    body.close()

    assert closed == [True]


def test_json_is_answered_as_flask_would_answer_it():
    app = Application("ours")

    with app.app_context():
        mine, flasks = (
            jsonify({"a": [1, None]}),
            flask.json.provider.JSONProvider.response(CompactJSON(app), {"a": [1, None]}),
        )

    assert (mine.data, mine.headers) == (flasks.data, flasks.headers)


def test_an_answer_in_json_is_all_that_werkzeug_would_make_of_it_and_nobody_elses():
    first = Answer.of_json(b"[1]")
    first.headers["X-A"] = "1"
    first.status_code = 201
    first.call_on_close(lambda: None)

    assert vars(Answer.of_json(b"[2]")) == vars(Answer(b"[2]", content_type="application/json"))


def test_flasks_own_session_refuses_changes():
    app = Application("ours")

    @app.get("/")
    def change() -> str:
        with pytest.raises(RuntimeError, match="session is unavailable"):
            session["a"] = 1
        return str(dict(session))

    assert app.test_client().get("/").text == "{}"


def test_each_request_has_its_own_id_and_is_counted_once():
    app, meters = Application("ours"), Meters()
    install(app, meters)
    app.get("/fixed")(lambda: "fixed")
    client = app.test_client()

    ids = {client.get("/fixed").headers["X-Request-Id"] for _ in range(3)}
    sent = client.get("/fixed", headers={"X-Request-Id": "mine-1"}).headers["X-Request-Id"]
    insane = client.get("/fixed", headers={"X-Request-Id": "no spaces"}).headers["X-Request-Id"]

    assert len(ids) == 3
    assert sent == "mine-1"
    assert insane not in {"no spaces", *ids}
    shown = text(meters.registry, [], lambda tenant, dataset: True)
    assert b'weir_requests_total{method="GET",route="/fixed",status="200"} 5.0' in shown
    assert b'weir_request_duration_seconds_count{route="/fixed"} 5.0' in shown


def with_hooks(app: Flask, called: list[str]) -> Flask:
    """An application, a blueprint and one inside it, each with functions around a view; `?stop=` lets one answer."""

    def note(text: str):
        return lambda *given: called.append(text) or (given[0] if given else None)

    def surround(scope: Flask | Blueprint, name: str) -> None:
        scope.before_request(note(f"first before {name}"))
        scope.before_request(lambda: f"stopped by {name}" if flask.request.args.get("stop") == name else None)
        scope.before_request(note(f"second before {name}"))
        scope.after_request(note(f"first after {name}"))
        scope.after_request(note(f"second after {name}"))
        scope.add_url_rule("/view", "view", lambda: f"view of {name}")

    outer, inner = Blueprint("outer", __name__, url_prefix="/outer"), Blueprint("inner", __name__, url_prefix="/inner")
    surround(app, "app")
    surround(outer, "outer")
    surround(inner, "inner")
    outer.register_blueprint(inner)
    app.register_blueprint(outer)
    return app


def nothing(app: Flask, called: list[str]) -> None:
    """No more than the functions around the views."""


def values_are_looked_at(app: Flask, called: list[str]) -> None:
    app.url_value_preprocessor(lambda endpoint, values: called.append(f"values of {endpoint}"))


def a_view_asks_for_more(app: Flask, called: list[str]) -> None:
    app.before_request(
        lambda: flask.after_this_request(lambda answer: called.append("after this one") or answer) and None
    )


def the_end_is_waited_for(app: Flask, called: list[str]) -> None:
    app.teardown_request(lambda error: called.append("the end"))


def the_end_is_signalled(app: Flask, called: list[str]) -> None:
    flask.request_tearing_down.connect(lambda sender, **_: called.append("the signal"), sender=app, weak=False)


@pytest.mark.parametrize(
    "path",
    ["/view", "/outer/view", "/outer/inner/view", "/none", "/outer/view?stop=app", "/outer/inner/view?stop=outer"],
)
@pytest.mark.parametrize(
    "more", [nothing, values_are_looked_at, a_view_asks_for_more, the_end_is_waited_for, the_end_is_signalled]
)
def test_the_functions_around_a_view_are_called_as_flask_calls_them(more, path: str):
    ours: list[str] = []
    flasks: list[str] = []
    mine, expected = with_hooks(Application("ours"), ours), with_hooks(Flask("flask"), flasks)
    more(mine, ours)
    more(expected, flasks)

    for _ in range(2):
        assert mine.test_client().get(path).status == expected.test_client().get(path).status

    assert ours == flasks
    assert len(ours) > 4
