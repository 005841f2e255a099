"""`weirctl tail`: rows of one dataset as they are stored, as lines that people read, or as JSON."""

import json
import re
import sys
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

import click
import requests

from weirctl.client import Refused, Server
from weirctl.printing import note

DATASET: Final = re.compile(r"[A-Za-z0-9_-]+")
TIMES: Final = ("time_unix_nano", "time", "timestamp", "@timestamp", "p_timestamp")
LEVELS: Final = ("severity_text", "level", "severity", "log_level")
MESSAGES: Final = ("body", "message", "msg", "line", "log")
COLORS: Final = {
    **dict.fromkeys(("fatal", "critical", "alert", "emergency", "panic", "error", "err"), "red"),
    **dict.fromkeys(("warning", "warn"), "yellow"),
    **dict.fromkeys(("debug", "trace"), "bright_black"),
}
# What says who sent a row, which nobody looks for in a line.
LEFT_OUT: Final = frozenset({"p_timestamp", "p_src_ip", "p_user_agent"})
RETRY_SECONDS: Final = 1.0
LONGEST_RETRY_SECONDS: Final = 10.0
# A server that is started anew does not answer, or says that it cannot yet.
TRANSIENT: Final = frozenset({None, 429, 503})


@dataclass(frozen=True, slots=True)
class Event:
    """A server-sent event: its name (`message`: a row, `place`: an id alone), its data, and the last id."""

    name: str
    data: Mapping[str, Any]
    id: str


@click.command()
@click.argument("what")
@click.option("--from", "begin", default="now", help="How far back to begin, as 5m.  [now]")
@click.option("--json", "as_json", is_flag=True, help="The rows as lines of JSON.")
@click.pass_obj
def tail(server: Server, what: str, begin: str, as_json: bool) -> None:
    """Follow WHAT, the name of a dataset or a SELECT that filters one, until Ctrl-C.

    A connection that breaks is made again, and goes on where it was.
    """
    sql = f'SELECT * FROM "{what}"' if DATASET.fullmatch(what) else what
    last_id, pause = "", RETRY_SECONDS
    while True:
        try:
            for event in _events(server, sql, begin, last_id):
                last_id, pause = event.id or last_id, RETRY_SECONDS
                _show(event, as_json=as_json)
        except Refused as error:
            if error.status not in TRANSIENT or not last_id:
                raise
        time.sleep(pause)
        pause = min(2 * pause, LONGEST_RETRY_SECONDS)


def _events(server: Server, sql: str, begin: str, last_id: str) -> Iterator[Event]:
    """Until the connection ends. Raises Refused."""
    headers = {"Accept": "text/event-stream"} | ({"Last-Event-ID": last_id} if last_id else {})
    answer = server.call("POST", "/api/v1/tail", json={"query": sql, "from": begin}, headers=headers, stream=True)
    with answer:
        try:
            yield from parse(line.decode() for line in answer.iter_lines(chunk_size=None))
        except requests.RequestException:
            return


def parse(lines: Iterable[str]) -> Iterator[Event]:
    """The events of a stream (WHATWG HTML section 9.2.6).

    >>> [(each.name, each.id, each.data) for each in parse(["id: 1", "", "id: 2", 'data: {"n":1}', "", ": alive", ""])]
    [('place', '1', {}), ('message', '2', {'n': 1})]
    """
    name, identifier, told, data = "message", "", "", ""
    for line in lines:
        field, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if line == "":
            if data or identifier != told:
                yield Event(name if data else "place", json.loads(data or "{}"), identifier)
            told = identifier
            name, data = "message", ""
        elif field == "event":
            name = value
        elif field == "id":
            identifier = value
        elif field == "data":
            data += value


def _show(event: Event, *, as_json: bool) -> None:
    """Print a row; say of anything else what it is. Raises Refused at the end of the stream."""
    if event.name == "place":
        return
    if event.name == "message":
        click.echo(json.dumps(event.data, ensure_ascii=False) if as_json else line_of(event.data, color=_has_colors()))
        return
    message = f"{event.data.get('message')} ({event.name}: {event.data.get('reason') or event.data.get('code')})"
    if event.name == "end":
        raise Refused(message, 503 if "retryAfterSeconds" in event.data else 400, event.data)
    if event.name == "gap":
        message = f"nothing between {event.data.get('from')} and {event.data.get('to')}: {message}"
    note(f"-- {message}")


def _has_colors() -> bool:
    return sys.stdout.isatty()


def line_of(row: Mapping[str, Any], *, color: bool = False) -> str:
    """A row as people read it: time, level, message, and the other members that have a value.

    >>> line_of({"p_timestamp": "2026-01-31T10:00:00.123456Z", "level": "info", "message": "up", "port": 80, "x": None})
    '2026-01-31T10:00:00.123456Z INFO  up port=80'
    """
    time_name, level_name, message_name = (_first(row, names) for names in (TIMES, LEVELS, MESSAGES))
    level = _text(row[level_name]) if level_name else ""
    shown = {time_name, level_name, message_name} | LEFT_OUT
    parts = [_text(row[time_name])] if time_name else []
    if level:
        padded = f"{level.upper():<5}"
        parts.append(click.style(padded, fg=COLORS.get(level.lower())) if color else padded)
    parts += [_text(row[message_name])] if message_name else []
    parts += [f"{name}={_text(value)}" for name, value in row.items() if name not in shown and value is not None]
    return " ".join(parts)


def _first(row: Mapping[str, Any], names: Iterable[str]) -> str | None:
    return next((name for name in names if row.get(name) is not None), None)


def _text(value: Any) -> str:
    """In one line, and without what a terminal would act upon."""
    shown = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return "".join(
        each if each.isprintable() else " " if each.isspace() else "\N{REPLACEMENT CHARACTER}" for each in shown
    )
