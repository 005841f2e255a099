"""Log lines: text for people, or one JSON object each for programs; always with the request that they are about."""

import json
import logging
import socket
import sys
from collections.abc import Callable, Mapping
from contextvars import ContextVar
from datetime import UTC, datetime
from typing import Final

# The request that the current greenlet serves; empty elsewhere.
request_id: ContextVar[str] = ContextVar("request_id", default="")
# Whether Weir may keep in its own dataset what the current greenlet logs (docs/operations.md says what it may not).
is_kept: ContextVar[bool] = ContextVar("is_kept", default=True)

LEVELS: Final = ("debug", "info", "warning", "error")
FORMATS: Final = ("text", "json")
TEXT: Final = "%(asctime)s [%(process)d] [%(levelname)s] %(name)s: %(message)s%(request)s"
# What every record has; anything else was given by the caller as `extra`.
STANDARD: Final = frozenset(logging.makeLogRecord({}).__dict__) | {"message", "asctime", "request", "taskName"}
# Detailed lines stay out of the dataset: reading a table logs one, and so would storing it.
LEAST_KEPT: Final = logging.INFO
# A line is one packet between two processes, and a cell of a table: a traceback can be long.
LONGEST_TEXT: Final = 8_000

# A log line as names and values: time, level, logger, message, process, request_id, what the caller added, exception.
Line = Mapping[str, object]


def configure(form: str, level: str) -> None:
    """Send all loggers of this process to standard error in this form, from this level on. Safe to call again."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(formatter(form))
    logging.root.handlers[:] = [handler]
    logging.root.setLevel(level.upper())


def formatter(form: str) -> logging.Formatter:
    """The formatter of that name, of FORMATS."""
    return AsJSON() if form == "json" else AsText(TEXT)


def members(record: logging.LogRecord) -> dict[str, object]:
    """The record as a line."""
    line: dict[str, object] = {
        "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="microseconds"),
        "level": record.levelname.lower(),
        "logger": record.name,
        "message": record.getMessage(),
        "process": record.process,
    }
    if named := request_id.get():
        line["request_id"] = named
    line |= {name: value for name, value in vars(record).items() if name not in STANDARD}
    if record.exc_info:
        line["exception"] = logging.Formatter().formatException(record.exc_info)
    return line


class AsText(logging.Formatter):
    """A line, with the request's id at its end."""

    def format(self, record: logging.LogRecord) -> str:
        named = request_id.get()
        record.request = f" (request {named})" if named else ""
        return super().format(record)


class AsJSON(logging.Formatter):
    """One object per line."""

    def format(self, record: logging.LogRecord) -> str:
        return json.dumps(members(record), ensure_ascii=False, default=str)


class Keeper(logging.Handler):
    """Hands on the lines that are to be kept. `put` must not wait."""

    def __init__(self, put: Callable[[Line], None]) -> None:
        super().__init__(LEAST_KEPT)
        self._put = put

    def handle(self, record: logging.LogRecord) -> bool:
        """Without the lock that a handler has, since nothing here is shared: a greenlet must not wait for a thread."""
        self.emit(record)
        return True

    def emit(self, record: logging.LogRecord) -> None:
        if not is_kept.get():
            return
        try:
            self._put({name: _shortened(value) for name, value in members(record).items()})
        except Exception:
            self.handleError(record)


def relay(descriptor: int) -> None:
    """Hand the lines of this process on to the one at the other end of a socket of packets, which keeps them.

    What does not fit into the socket is left out: it is on standard error all the same.
    """
    other_end = socket.socket(fileno=descriptor)
    other_end.setblocking(False)

    def put(line: Line) -> None:
        try:
            other_end.send(json.dumps(line, ensure_ascii=False, default=str).encode())
        except (BlockingIOError, BrokenPipeError, ConnectionError):
            return

    logging.root.addHandler(Keeper(put))


def _shortened(value: object) -> object:
    return value[:LONGEST_TEXT] if isinstance(value, str) else value
