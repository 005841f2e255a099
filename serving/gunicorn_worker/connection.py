"""A client's connection: its requests to the application, one after the other (PEP 3333)."""

import os
from datetime import datetime
from typing import Any, Final

from gunicorn.http.errors import ConfigurationProblem
from gunicorn.http.wsgi import base_environ
from gunicorn.util import unquote_to_wsgi_str

from serving.gunicorn_worker.messages import Parser, Request, Response
from serving.gunicorn_worker.waiting import SEND_SECONDS, Sending, Wait, send

CGI_NAMES: Final = {"CONTENT-TYPE": "CONTENT_TYPE", "CONTENT-LENGTH": "CONTENT_LENGTH"}
"""The headers whose variables do not begin with HTTP_."""

KNOWN: Final = "weir.known"
"""The application sets it in the environment of a request whose credential is good. Strangers give way to others."""

Environ = dict[str, Any]


class Connection:
    """One TCP connection of a worker. `listener` and `client` are sockets, `address` is the client's."""

    def __init__(self, worker: Any, listener: Any, client: Any, address: Any) -> None:
        self.request: Request | None = None
        self._worker = worker
        self._client = client
        self._is_known = False
        self._requests = Parser(worker.cfg, client, address)
        self._script_name = os.environ.get("SCRIPT_NAME", "")
        server = listener.getsockname()
        self._constant = _of_worker(worker) | {
            "gunicorn.socket": client,
            "REMOTE_ADDR": address[0],
            "REMOTE_PORT": str(address[1]),
            "SERVER_NAME": server[0],
            "SERVER_PORT": str(server[1]),
        }

    def serve(self) -> None:
        """Answer requests until one side closes the connection, the client stays silent, or the worker stops.

        Raises what gunicorn's parser, the socket and the application raise; `request` is then what it is about.
        """
        while True:
            self.request = None
            with self._worker.pause(is_known=self._is_known):
                self.request = next(self._requests)
            if self.request is None or not self._answer(self.request):
                return

    def sending(self) -> Wait:
        """The wait for the client to take more of an answer."""
        return Sending(self._worker.waits, _send_seconds, is_known=self._is_known)

    def _answer(self, request: Request) -> bool:
        """Whether the connection can be used for another request."""
        worker, environ = self._worker, Environ()
        response = Response(request, self._client, worker.cfg, self.sending)
        try:
            worker.cfg.pre_request(worker, request)
            environ = self._environ(request)
            if not worker.goes_on_after_this():
                response.force_close()
            self._run(environ, response)
        except OSError:
            raise
        except Exception:
            if not response.headers_sent:
                raise
            worker.log.exception("the answer to %s %s ended early", request.method, request.path)
            return False
        finally:
            self._is_known = self._is_known or KNOWN in environ
            worker.cfg.post_request(worker, request, environ, response)
        return not response.should_close()

    def _run(self, environ: Environ, response: Response) -> None:
        started = datetime.now()
        pieces = self._worker.wsgi(environ, response.start_response)
        try:
            for piece in pieces:
                response.write(piece)
            response.close()
        finally:
            self._worker.log.access(response, response.req, environ, datetime.now() - started)
            if hasattr(pieces, "close"):
                pieces.close()

    def _environ(self, request: Request) -> Environ:
        if request._expected_100_continue:
            send(self._client, b"HTTP/1.1 100 Continue\r\n\r\n", self.sending)
        environ = self._constant | {
            "wsgi.input": request.body,
            "wsgi.url_scheme": request.scheme,
            "REQUEST_METHOD": request.method,
            "RAW_URI": request.uri,
            "QUERY_STRING": request.query,
            "SERVER_PROTOCOL": f"HTTP/{request.version[0]}.{request.version[1]}",
        }
        script_name = self._script_name
        for name, value in request.headers:
            if name == "SCRIPT_NAME":  # the parser leaves it only to a trusted proxy
                script_name = value
            variable = CGI_NAMES.get(name) or f"HTTP_{name.replace('-', '_')}"
            environ[variable] = f"{environ[variable]},{value}" if variable in environ else value
        environ["SCRIPT_NAME"] = script_name
        environ["PATH_INFO"] = unquote_to_wsgi_str(_below(request.path, script_name))
        return environ


def _send_seconds() -> float:
    return SEND_SECONDS


def _of_worker(worker: Any) -> Environ:
    environ: Environ = base_environ(worker.cfg) | {"wsgi.multithread": True}
    # Files go out in pieces, as other bodies do.
    del environ["wsgi.file_wrapper"]
    return environ


def _below(path: str, script_name: str) -> str:
    """The rest of a path, below where the application is mounted."""
    if not path.startswith(script_name):
        raise ConfigurationProblem(f"Request path {path!r} does not start with SCRIPT_NAME {script_name!r}")
    return path[len(script_name) :]
