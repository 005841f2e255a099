"""A client of live tails: reads server-sent events or lines of JSON in a thread, as they come (WHATWG HTML 9.2.6)."""

import json
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import requests

from tests.running import ADMIN, Service, wait_until


@dataclass
class Event:
    """One event: its name (message: a row), data, the id that was the last when it came, and when it came."""

    name: str
    data: Any
    id: str
    at: float


@dataclass
class Tail:
    """An open tail. `comments` and `places` count what is no event; `ended` is set when the stream is over."""

    response: requests.Response
    events: list[Event] = field(default_factory=list)
    comments: int = 0
    last_id: str = ""
    ended: threading.Event = field(default_factory=threading.Event)
    paused: threading.Event = field(default_factory=threading.Event)

    def __post_init__(self) -> None:
        threading.Thread(target=self._read, daemon=True).start()

    @property
    def rows(self) -> list[Any]:
        return [each.data for each in self.events if each.name == "message"]

    def named(self, name: str) -> list[Any]:
        return [each.data for each in self.events if each.name == name]

    def wait_for(self, rows: int, seconds: float = 30) -> list[Any]:
        """The rows, once there are so many; a moment later, so that more would show."""
        wait_until(lambda: len(self.rows) >= rows or self.ended.is_set(), seconds)
        time.sleep(0.3)
        return self.rows

    def close(self) -> None:
        # The response's own close waits for the reader, which waits for the server.
        connection = self.response.raw.connection
        if connection is not None and connection.sock is not None:
            connection.sock.shutdown(2)
        self.ended.wait(10)

    def __enter__(self) -> "Tail":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _read(self) -> None:
        try:
            is_sse = self.response.headers["Content-Type"].startswith("text/event-stream")
            (self._read_events if is_sse else self._read_lines)()
        except (requests.RequestException, OSError, AttributeError):
            pass
        finally:
            self.ended.set()

    def _lines(self) -> Iterator[str]:
        for line in self.response.iter_lines(chunk_size=None):
            while self.paused.is_set():
                time.sleep(0.05)
            yield line.decode()

    def _read_events(self) -> None:
        name, data = "message", ""
        for line in self._lines():
            key, _, value = line.partition(":")
            value = value.removeprefix(" ")
            if line == "":
                if data:
                    self.events.append(Event(name, json.loads(data), self.last_id, time.time()))
                name, data = "message", ""
            elif key == "":
                self.comments += 1
            elif key == "id":
                self.last_id = value
            elif key == "event":
                name = value
            elif key == "data":
                data += value

    def _read_lines(self) -> None:
        for line in self._lines():
            if line:
                told = json.loads(line)
                about = told.get("_weir")
                name = about["event"] if about else "message"
                self.events.append(Event(name, about or told, "", time.time()))


def follow(service: Service, sql: str, last_id: str | None = None, **options: Any) -> Tail:
    """An open tail; options: `key`, `accept`, `method`, and members of the body."""
    answer = ask(service, sql, last_id, **options)
    assert answer.status_code == 200, answer.text
    return Tail(answer)


def ask(service: Service, sql: str, last_id: str | None = None, **options: Any) -> requests.Response:
    """The answer, whose body has not been read."""
    key, accept = options.pop("key", None), options.pop("accept", "text/event-stream")
    headers = {"Accept": accept} | ({"X-API-Key": key} if key else {})
    headers |= {"Last-Event-ID": last_id} if last_id else {}
    return requests.request(
        options.pop("method", "POST"),
        f"{service.url}/api/v1/tail",
        auth=None if key else ADMIN,
        headers=headers,
        json={"query": sql, **options},
        stream=True,
        timeout=60,
    )
