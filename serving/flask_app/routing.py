"""Which view a request is for, found as Werkzeug finds it, once for each address that has no variable part."""

from collections.abc import Mapping
from typing import Any, Final

from werkzeug.routing import Map, MapAdapter, Rule

from serving.flask_app.current import Request

# Clients choose the name they call us by; each further one costs its requests what Flask takes to look at it.
MOST_HOSTS: Final = 1000


class Routing:
    """What requests before this one have shown: of a host its names, of an address its rule."""

    def __init__(self) -> None:
        self._hosts: dict[tuple[object, ...], tuple[str, str]] = {}
        self._rules: dict[tuple[str, str], Rule] = {}

    def adapter(self, request: Request, rules: Map) -> MapAdapter | None:
        """The adapter that Flask would make; None for a request like none before, or an unusual one."""
        environ = request.environ
        names = self._hosts.get(_address(environ))
        if names is None or _is_unusual(environ):
            return None
        request.host, server_name = names
        return _Adapter(self._rules, rules, server_name, request)

    def learn(self, request: Request, adapter: MapAdapter) -> None:
        """Keep what Flask has found out of the request's host."""
        if len(self._hosts) < MOST_HOSTS and not _is_unusual(request.environ):
            self._hosts[_address(request.environ)] = (request.host, adapter.server_name)


def _address(environ: Mapping[str, Any]) -> tuple[object, ...]:
    """All that Werkzeug takes a host's names from."""
    return (
        environ["wsgi.url_scheme"],
        environ.get("HTTP_HOST"),
        environ.get("SERVER_NAME"),
        environ.get("SERVER_PORT"),
    )


def _is_unusual(environ: Mapping[str, Any]) -> bool:
    """A change of protocol, an application below a path, or no path."""
    return "HTTP_UPGRADE" in environ or bool(environ.get("SCRIPT_NAME")) or not environ.get("PATH_INFO")


class _Adapter(MapAdapter):
    """Knows the rules of addresses that were matched before and have no variable part."""

    def __init__(self, known: dict[tuple[str, str], Rule], rules: Map, server_name: str, request: Request) -> None:
        query = request.query_string.decode(errors="replace")
        super().__init__(rules, server_name, "/", "", request.scheme, request.path, request.method, query)
        self._known = known

    def match(self, *args: Any, **options: Any) -> Any:
        """As Flask asks for it, for the request's own method and path; anything else as ever."""
        if args or options != {"return_rule": True}:
            return super().match(*args, **options)
        address = (self.default_method, self.path_info)
        rule = self._known.get(address)
        if rule is not None:
            return rule, {}
        rule, values = super().match(return_rule=True)
        if not values:
            self._known[address] = rule
        return rule, values
