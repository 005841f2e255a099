"""gunicorn's gevent worker, except for two things.

A stop does not wait for connections on which nothing is asked. Shippers keep theirs open between batches; gunicorn
counts those as work, waits for them until the graceful time-out, and then kills the worker, so that every restart would
take that long.

And plain HTTP/1.1 is served by `Connection`, at half of the cost for a small request.
"""

import errno
import socket
from collections.abc import Callable
from types import FrameType, TracebackType
from typing import Any, Final

import gevent
from gunicorn import util
from gunicorn.http.errors import NoMoreData
from gunicorn.workers.ggevent import GeventWorker

from serving.gunicorn_worker.connection import Connection
from serving.gunicorn_worker.messages import Constants

GONE: Final = (errno.EPIPE, errno.ECONNRESET, errno.ENOTCONN)


Idle = dict[gevent.Greenlet, gevent.Timeout]
"""The greenlets that wait for a request, and what ends the wait of each."""


class Pause:
    """The wait of a connection for its next request: until the keep-alive time is over, or the worker stops."""

    def __init__(self, idle: Idle, seconds: Callable[[], float]) -> None:
        self._idle = idle
        self._seconds = seconds

    def __enter__(self) -> None:
        self._timeout = gevent.Timeout.start_new(self._seconds(), False)
        self._idle[gevent.getcurrent()] = self._timeout

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, _: TracebackType | None) -> bool:
        """Whether it was this wait that ended; what else went wrong goes on."""
        self._timeout.close()
        del self._idle[gevent.getcurrent()]
        return value is self._timeout


class Worker(GeventWorker):  # type: ignore[misc]  # gunicorn has no types
    alive: bool
    cfg: Any

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.cfg = Constants(self.cfg)
        self._idle: Idle = {}

    def handle(self, listener: Any, client: Any, address: Any) -> None:
        """Serve a connection to its end."""
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
            self.handle_error(connection.request, client, address, error)
        finally:
            util.close(client)

    def _is_plain(self, listener: Any) -> bool:
        """Whether its connections are HTTP/1.1 over TCP and nothing else, which is all that `Connection` can."""
        cfg = self.cfg
        is_http1 = cfg.protocol == "http" and cfg.http2_cleartext == "off" and cfg.proxy_protocol == "off"
        return bool(is_http1 and not cfg.is_ssl and cfg.keepalive and listener.family != socket.AF_UNIX)

    def timeout_ctx(self) -> Pause:
        """gunicorn's name for what a connection waits in."""
        return Pause(self._idle, self._longest_pause)

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
        super().handle_exit(sig, frame)
        for waiting, timeout in self._idle.items():
            gevent.get_hub().loop.run_callback(waiting.throw, timeout)
