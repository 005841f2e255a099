"""Log lines: text for people, or one JSON object each for programs; always with the request that they are about."""

import json
import logging
import sys
from contextvars import ContextVar
from datetime import UTC, datetime
from typing import Final

# The request that the current greenlet serves; empty elsewhere.
request_id: ContextVar[str] = ContextVar("request_id", default="")

LEVELS: Final = ("debug", "info", "warning", "error")
FORMATS: Final = ("text", "json")
TEXT: Final = "%(asctime)s [%(process)d] [%(levelname)s] %(name)s: %(message)s%(request)s"
# What every record has; anything else was given by the caller as `extra`.
STANDARD: Final = frozenset(logging.makeLogRecord({}).__dict__) | {"message", "asctime", "request", "taskName"}


def configure(form: str, level: str) -> None:
    """Send all loggers of this process to standard error in this form, from this level on. Safe to call again."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(formatter(form))
    logging.root.handlers[:] = [handler]
    logging.root.setLevel(level.upper())


def formatter(form: str) -> logging.Formatter:
    """The formatter of that name, of FORMATS."""
    return AsJSON() if form == "json" else AsText(TEXT)


class AsText(logging.Formatter):
    """A line, with the request's id at its end."""

    def format(self, record: logging.LogRecord) -> str:
        named = request_id.get()
        record.request = f" (request {named})" if named else ""
        return super().format(record)


class AsJSON(logging.Formatter):
    """One object per line: time, level, logger, message, process, request_id, what the caller added, exception."""

    def format(self, record: logging.LogRecord) -> str:
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
            line["exception"] = self.formatException(record.exc_info)
        return json.dumps(line, ensure_ascii=False, default=str)
