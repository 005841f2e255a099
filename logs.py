"""Log lines: text for people, or one JSON object each for programs; always with the request that they are about.

No line holds what somebody sent: of an error only those texts are told that cannot quote it, and what libraries write
to standard error by themselves is withheld. Each line has a bound.
"""

import faulthandler
import json
import logging
import os
import socket
import sys
import threading
import traceback
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextvars import ContextVar
from datetime import UTC, datetime
from types import TracebackType
from typing import Any, Final, TextIO

from errors import InternalError, Overloaded, TimedOut, WeirError

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
# A path can have 8 kB, and whoever sends it needs no credential. What a line has in full is its beginning and its end.
LONGEST_MESSAGE: Final = 2_000
LONGEST_TRACE: Final = 6_000
# Faults of ours, whose texts we wrote without what was sent. Other texts of ours are for the client, and may quote it.
OURS: Final = (InternalError, Overloaded, TimedOut)
# Their texts are about files, code and the system. A library that derives its own errors from them is not meant.
SYSTEM: Final = (OSError, ImportError, MemoryError, RecursionError)
SYSTEM_MODULES: Final = frozenset(("builtins", "socket", "ssl"))
# What a terminal obeys, what ends a line, and what turns the direction of writing.
CONTROLS: Final = (*range(0x20), *range(0x7F, 0xA0), 0x2028, 0x2029, *range(0x202A, 0x202F), *range(0x2066, 0x206A))
ESCAPES: Final = {
    code: {10: "\\n", 13: "\\r", 9: "\\t"}.get(code, f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}")
    for code in CONTROLS
}
# JSON escapes the first of them by itself.
JSON_ESCAPES: Final = {code: f"\\u{code:04x}" for code in CONTROLS if code >= 0x7F}

logger = logging.getLogger(__name__)

ExceptionInfo = tuple[type[BaseException], BaseException, TracebackType | None] | tuple[None, None, None]

# A log line as names and values: time, level, logger, message, process, request_id, what the caller added, exception.
Line = Mapping[str, object]


class Outlet(logging.StreamHandler[Any]):
    """The stream of log lines."""

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802  # logging's name
        """Name the place that made the line; Python's own report would show the line's arguments."""
        self.stream.write(f"a log line of {record.pathname}:{record.lineno} cannot be written\n")


def configure(form: str, level: str) -> None:
    """Send all loggers of this process to standard error in this form, from this level on. Safe to call again."""
    handler = Outlet(sys.stderr)
    handler.setFormatter(formatter(form))
    handler.addFilter(_is_shown)
    logging.root.handlers[:] = [handler]
    logging.root.setLevel(level.upper())
    # Handlers that are not ours would show the arguments of a line that they cannot write.
    logging.raiseExceptions = False


def _is_shown(record: logging.LogRecord) -> bool:
    """Libraries' details are not: Peewee's are statements with their values, urllib3's addresses with their secrets."""
    return record.levelno >= logging.INFO or "-packages" not in record.pathname


def withhold() -> None:
    """From here on only log lines leave this process by standard error, and its crashes by the stack alone.

    A library's panic, a thread pool's failed call, an interpreter's last words: they quote what was sent, and nothing
    bounds them. Call it once in each process that handles events or statements, after `configure`.
    """
    lines = os.fdopen(os.dup(2), "w", encoding="utf-8", errors="backslashreplace")
    for handler in _handlers():
        if isinstance(handler, logging.StreamHandler) and handler.stream is sys.stderr:
            handler.setStream(lines)
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 2)
    os.close(nowhere)
    faulthandler.enable(lines)
    take_hooks()


def take_hooks() -> None:
    """Have what nobody caught, and warnings, logged as everything else is."""
    sys.excepthook = _log_uncaught
    threading.excepthook = lambda ended: _log_uncaught(ended.exc_type, ended.exc_value, ended.exc_traceback)
    sys.unraisablehook = lambda found: _log_uncaught(found.exc_type, found.exc_value, found.exc_traceback)
    warnings.showwarning = _log_warning


def outlet() -> int:
    """The descriptor that log lines go to: standard error for a child process, which `withhold` has not emptied."""
    for handler in logging.root.handlers:
        if isinstance(handler, Outlet):
            return int(handler.stream.fileno())
    return 2


def arguments() -> list[str]:
    """Form and level of this process's lines, as a child gets them for `configure`."""
    is_json = any(isinstance(each.formatter, AsJSON) for each in logging.root.handlers)
    return ["json" if is_json else "text", logging.getLevelName(logging.root.level).lower()]


def _handlers() -> Iterator[logging.Handler]:
    """Of every logger."""
    for each in (logging.root, *logging.root.manager.loggerDict.values()):
        yield from getattr(each, "handlers", ())


def _log_uncaught(kind: type[BaseException], error: BaseException | None, trace: TracebackType | None) -> None:
    if issubclass(kind, KeyboardInterrupt | SystemExit):
        return
    logger.critical("nobody caught this", exc_info=(kind, error or kind(), trace))


def _log_warning(
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    file: TextIO | None = None,
    line: str | None = None,
) -> None:
    """Without the text, which may quote a value."""
    logger.warning("%s at %s:%d", category.__name__, filename, lineno)


def formatter(form: str) -> logging.Formatter:
    """The formatter of that name, of FORMATS."""
    return AsJSON() if form == "json" else AsText(TEXT)


def told(error: BaseException) -> str:
    """What a line may say of an error: its type, and its text if that cannot quote what somebody sent.

    >>> told(KeyError("what was sent"))
    'KeyError'
    >>> told(FileNotFoundError(2, "No such file or directory"))
    'FileNotFoundError: [Errno 2] No such file or directory'
    """
    kind = type(error)
    if isinstance(error, OURS):
        return f"{kind.__name__}: {error.message}"
    if isinstance(error, WeirError):
        return f"{kind.__name__}: {error.code}"
    if isinstance(error, SYSTEM) and kind.__module__ in SYSTEM_MODULES:
        return f"{kind.__name__}: {error}"
    return kind.__name__ + _told_of_postgres(error)


def _told_of_postgres(error: BaseException) -> str:
    """Its code; the text, which may quote a value, only if the server was not reached."""
    if not hasattr(error, "sqlstate"):
        return ""
    if error.sqlstate is None:
        return f": {error}" if type(error).__name__ == "OperationalError" else ""
    return f": SQLSTATE {error.sqlstate}"


def trace(error: BaseException | None) -> str:
    """The error's chain with the places that it came by, the cause first, without texts that may quote somebody."""
    links: list[str] = []
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        links.append("".join(traceback.format_tb(error.__traceback__)) + one_line(told(error)))
        error = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    return shortened("\nwhich led to\n".join(reversed(links)), LONGEST_TRACE)


def one_line(text: str) -> str:
    r"""The text with its control characters escaped, shortened.

    >>> one_line("a\n\x1b[31mb")
    'a\\n\\x1b[31mb'
    """
    return shortened(text, LONGEST_MESSAGE).translate(ESCAPES)


def shortened(text: str, most: int) -> str:
    """
    >>> shortened("abcdefgh", 4)
    'ab[4 characters left out]gh'
    """
    if len(text) <= most:
        return text
    half = most // 2
    return f"{text[:half]}[{len(text) - 2 * half} characters left out]{text[-half:]}"


def message(record: logging.LogRecord) -> str:
    """The record's text, in which errors say only what may be told of them."""
    if isinstance(record.args, tuple):
        record.args = tuple(told(each) if isinstance(each, BaseException) else each for each in record.args)
    return shortened(
        told(record.msg) if isinstance(record.msg, BaseException) else record.getMessage(), LONGEST_MESSAGE
    )


def members(record: logging.LogRecord) -> dict[str, object]:
    """The record as a line."""
    line: dict[str, object] = {
        "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="microseconds"),
        "level": record.levelname.lower(),
        "logger": record.name,
        "message": message(record),
        "process": record.process,
    }
    if named := request_id.get():
        line["request_id"] = named
    line |= {name: _bounded(value) for name, value in vars(record).items() if name not in STANDARD}
    if record.exc_info:
        line["exception"] = trace(record.exc_info[1])
    return line


def _bounded(value: object) -> object:
    if isinstance(value, BaseException):
        return told(value)
    if value is None or isinstance(value, bool | int | float):
        return value
    return shortened(str(value), LONGEST_MESSAGE)


class AsText(logging.Formatter):
    """A line, with the request's id at its end, and below it the trace."""

    def format(self, record: logging.LogRecord) -> str:
        named = request_id.get()
        record.request = f" (request {one_line(named)})" if named else ""
        record.message = one_line(message(record))
        record.asctime = self.formatTime(record)
        text = self.formatMessage(record)
        return f"{text}\n{trace(record.exc_info[1])}" if record.exc_info else text


class AsJSON(logging.Formatter):
    """One object per line."""

    def format(self, record: logging.LogRecord) -> str:
        return json.dumps(members(record), ensure_ascii=False, default=str).translate(JSON_ESCAPES)


class RelayHandler(logging.Handler):
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
            self._put(members(record))
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

    logging.root.addHandler(RelayHandler(put))
