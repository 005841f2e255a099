"""No caller keeps the others, and nobody keeps alerts and administrators, from asking: docs/security.md, "Queries"."""

import contextlib
import threading
import time
from collections.abc import Callable

import requests

from tests.running import Service

# Three repetitions beside each other: Python tries every way to share the letters out, for hours.
ENDLESS = "SELECT regexp_split_to_array(repeat('a', 20000) || '!', 'a*a*a*b')"
# Far longer than a process that starts takes on a busy machine: what is not answered by then is kept from it.
PATIENCE = {"WEIR_QUERY_QUEUE_SECONDS": "120"}
LONG_SECONDS = 200


def ask(service: Service, key: str | None, sql: str, timeout: float = LONG_SECONDS) -> requests.Response:
    headers = {} if key is None else {"X-API-Key": key}
    auth = {"auth": ("admin", "correct-horse-battery-staple")} if key is None else {}
    body = {"query": sql}
    return requests.post(f"{service.url}/api/v1/query", json=body, headers=headers, timeout=timeout, **auth)


def keep_busy(service: Service, *keys: str) -> None:
    """An endless query of each key's; who asks them does not wait for long, and they end when it leaves."""
    for key in keys:
        threading.Thread(target=_ask_in_vain, args=(service, key), daemon=True).start()
    deadline = time.monotonic() + 60
    while len(service.call("GET", "/api/v1/queries").json()) < len(keys):
        assert time.monotonic() < deadline
        time.sleep(0.1)


def _ask_in_vain(service: Service, key: str) -> None:
    with contextlib.suppress(requests.RequestException):
        ask(service, key, ENDLESS)


def test_one_reader_stops_nobody_elses_queries(start_service: Callable[..., Service]) -> None:
    """Two slots, as on the smallest machine, and one reader with two queries that do not end."""
    service = start_service(**PATIENCE)
    greedy, modest = (service.make_key(name, {"privilege": "reader"}) for name in ("greedy", "modest"))
    keep_busy(service, greedy, greedy)

    others = [ask(service, key, "SELECT 1").status_code for key in (modest, None)]

    assert others == [200, 200]


def test_readers_together_leave_a_slot_to_administrators(start_service: Callable[..., Service]) -> None:
    service = start_service(**PATIENCE)
    keep_busy(service, *(service.make_key(name, {"privilege": "reader"}) for name in ("ann", "bob", "carl")))

    assert ask(service, None, "SELECT 1").status_code == 200


def test_a_query_that_matches_for_ever_ends_when_it_is_cancelled(start_service: Callable[..., Service]) -> None:
    """Its process holds the lock of the interpreter and is killed from outside."""
    service = start_service(**PATIENCE)
    keep_busy(service, service.make_key("ann", {"privilege": "reader"}))
    (running,) = service.call("GET", "/api/v1/queries").json()

    started = time.monotonic()
    service.call("DELETE", f"/api/v1/queries/{running['id']}").raise_for_status()
    while service.call("GET", "/api/v1/queries").json():
        assert time.monotonic() - started < 60
        time.sleep(0.05)
