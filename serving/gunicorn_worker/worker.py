"""gunicorn's gevent worker, except for three things.

A stop does not wait for connections on which nothing is asked. Shippers keep theirs open between batches; gunicorn
counts those as work, waits for them until the graceful time-out, and then kills the worker, so that every restart would
take that long.

Plain HTTP/1.1 is served by `Connection`, at half of the cost for a small request.

And nobody holds a connection by doing nothing: an answer that is not taken has its time, and where connections get
scarce, those of strangers give way.
"""

import errno
import os
import socket
from types import FrameType, SimpleNamespace
from typing import Any, Final

import gevent
from gunicorn import util
from gunicorn.http.errors import NoMoreData
from gunicorn.workers.ggevent import GeventWorker

from serving.gunicorn_worker.connection import Connection
from serving.gunicorn_worker.messages import Constants
from serving.gunicorn_worker.waiting import Pause, Waits

# For requests that are being answered when somebody presses Ctrl-C.
QUICK_SECONDS: Final = 2
GONE: Final = (errno.EPIPE, errno.ECONNRESET, errno.ENOTCONN)


class Worker(GeventWorker):  # type: ignore[misc]  # gunicorn has no types
    alive: bool
    booted: bool
    cfg: Any

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.cfg = Constants(self.cfg)
        self.waits = Waits(lambda: int(self.cfg.worker_connections))

    def handle(self, listener: Any, client: Any, address: Any) -> None:
        """Serve a connection to its end."""
        self.waits.open += 1
        try:
            self._handle(listener, client, address)
        finally:
            self.waits.open -= 1

    def _handle(self, listener: Any, client: Any, address: Any) -> None:
        if not self._is_plain(listener):
            super().handle(listener, client, address)
            return
        client.setblocking(1)
        connection = Connection(self, listener, client, address)
        try:
            connection.serve()
        except (NoMoreData, StopIteration, gevent.GreenletExit):
            pass  # closed: by the client, by what was said in a header, by us
        except OSError as error:
            if error.errno not in GONE:
                self.log.exception("Socket error processing request.")
        except Exception as error:
            self._refuse(connection, client, address, error)
        finally:
            util.close(client)

    def _is_plain(self, listener: Any) -> bool:
        """Whether its connections are HTTP/1.1 over TCP and nothing else, which is all that `Connection` can."""
        cfg = self.cfg
        is_http1 = cfg.protocol == "http" and cfg.http2_cleartext == "off" and cfg.proxy_protocol == "off"
        return bool(is_http1 and not cfg.is_ssl and cfg.keepalive and listener.family != socket.AF_UNIX)

    def _refuse(self, connection: Connection, client: Any, address: Any, error: Exception) -> None:
        """gunicorn's answer to what is no request. Its log lines would show what was sent: of a header, a secret."""
        request = connection.request
        if request is None:
            self.log.info("a request of %s is refused: %s", address[0], type(error).__name__)
        else:
            self.log.error("%s %s failed", request.method, request.path, exc_info=error)
        answering = SimpleNamespace(cfg=self.cfg, log=Unheard(self.log))
        GeventWorker.handle_error(answering, request, client, address, error)

    def timeout_ctx(self) -> Pause:
        """The same where gunicorn serves the connection. It does not tell who has been known."""
        return self.pause(is_known=True)

    def pause(self, *, is_known: bool) -> Pause:
        """What a connection waits for its next request in. `is_known`: it has brought a good credential."""
        return Pause(self.waits, self._longest_pause, is_known=is_known)

    def _longest_pause(self) -> float:
        """In seconds. A worker that is stopping, maybe since it answered the last request, waits for no other."""
        return float(self.cfg.keepalive) if self.alive else 0

    def goes_on_after_this(self) -> bool:
        """Count a request; whether the connection may bring another one."""
        self.nr += 1
        if self.nr >= self.max_requests and self.alive:
            self.log.info("Autorestarting worker after current request.")
            self.alive = False
        return bool(self.alive)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """SIGTERM: take no more requests. What is being answered is answered to its end."""
        self._end_if_booting()
        super().handle_exit(sig, frame)
        self.waits.end_pauses()

    def handle_quit(self, sig: int, frame: FrameType | None) -> None:
        """SIGINT and SIGQUIT: the same, with little time for what is being answered.

        gunicorn's way, an exit from a greenlet, is a traceback on standard error and leaves segments unsealed.
        """
        self._end_if_booting()
        self.cfg.graceful_timeout = min(self.cfg.graceful_timeout, QUICK_SECONDS)
        super().handle_exit(sig, frame)
        self.waits.end_pauses()

    def _end_if_booting(self) -> None:
        """Nothing has been taken yet, so nothing is to be finished. An exception would end half-done imports loudly."""
        if not self.booted:
            os._exit(0)


class Unheard:
    """gunicorn's logger without the lines about errors."""

    def __init__(self, log: Any) -> None:
        self.access = log.access

    def warning(self, *_: object) -> None:
        """Not this one."""

    exception = debug = warning
