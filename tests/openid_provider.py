"""A real OpenID provider on loopback: discovery, consent, tokens, keys."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from io import BytesIO
from typing import Any
from urllib.parse import parse_qs

import oidc_provider_mock
import requests
from werkzeug.serving import make_server


@dataclass
class Running:
    """The provider, what its token endpoint was sent, and ways to change what it answers."""

    url: str
    forms: list[dict[str, list[str]]] = field(default_factory=list)

    def set_claims(self, subject: str, **claims: Any) -> None:
        requests.put(f"{self.url}/users/{subject}", json={"email": subject, **claims}, timeout=5).raise_for_status()

    def revoke(self, subject: str) -> None:
        requests.post(f"{self.url}/users/{subject}/revoke-tokens", timeout=5).raise_for_status()


@contextmanager
def running_provider(**options: Any) -> Iterator[Running]:
    app = oidc_provider_mock.app(**options)
    found = Running("")
    inner = app.wsgi_app

    def recording(environ: dict[str, Any], start_response: Any) -> Any:
        if environ["PATH_INFO"] == "/oauth2/token":
            body = environ["wsgi.input"].read(int(environ["CONTENT_LENGTH"]))
            found.forms.append(parse_qs(body.decode()))
            environ["wsgi.input"] = BytesIO(body)
        return inner(environ, start_response)

    server = make_server("127.0.0.1", 0, recording, threaded=True)
    found.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield found
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
