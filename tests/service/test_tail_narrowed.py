"""A narrowed reader's live tail gives exactly what their queries give, and tells nothing of other rows."""

import random
import time
from collections.abc import Callable
from typing import Any

import pytest

from tests.running import Service, wait_until
from tests.tails import ask, follow

SECRET = "CANARY77"
STATEMENTS = (
    "SELECT * FROM app",
    "SELECT n, env, level FROM app WHERE n % 3 <> 0",
    "SELECT n * 2 AS twice, upper(level) AS level FROM app WHERE level IN ('info', 'error')",
    "SELECT 10 / amount AS q, n FROM app",
)


@pytest.fixture
def service(start_service: Callable[..., Service]) -> Service:
    running = start_service(workers=2, WEIR_FLUSH_SECONDS="2")
    running.ingest("app", [{"n": 0, "env": "prod", "level": "info", "amount": 1}]).raise_for_status()
    return running


def events(draw: random.Random, number: int) -> list[dict[str, Any]]:
    """Some events of both kinds. Hidden ones have columns of their own, and an amount of 0, by which none divides."""
    made = []
    for offset in range(draw.randint(1, 5)):
        event: dict[str, Any] = {"n": number * 10 + offset, "level": draw.choice(["info", "error", "debug"])}
        if draw.random() < 0.5:
            event |= {"env": "prod", "amount": draw.randint(1, 5)} | ({"extra": "seen"} if draw.random() < 0.3 else {})
        else:
            event |= {"env": draw.choice(["dev", "test"]), "amount": 0, "secret": SECRET, f"s{draw.randint(1, 3)}": 1}
        made.append(event)
    return made


def without_nulls(rows: list[Any]) -> list[Any]:
    """A query shows a column that came later in every row, a stream from then on."""
    return sorted(({k: v for k, v in row.items() if v is not None} for row in rows), key=repr)


@pytest.mark.parametrize("tags", [("env=prod",), ("env=prod", "env=test")], ids=["one tag", "two tags"])
def test_rows_and_columns_are_those_of_a_query(service: Service, tags: tuple[str, ...]) -> None:
    entries = [{"privilege": "reader", "resource": {"dataset": "app", "tag": tag}} for tag in tags]
    key = service.make_key("narrowed", *entries)
    draw = random.Random(7)
    statements = STATEMENTS if tags == ("env=prod",) else STATEMENTS[:3]
    tails = [follow(service, sql, key=key, **{"from": "1m"}) for sql in statements]

    for number in range(1, 40):
        service.ingest("app", events(draw, number)).raise_for_status()
    for sql, tail in zip(statements, tails, strict=True):
        asked = service.call("POST", "/api/v1/query", json={"query": sql}, headers={"X-API-Key": key}).json()
        assert without_nulls(tail.wait_for(len(asked))) == without_nulls(asked)
        assert tail.named("end") == []
        tail.close()
    if tags == ("env=prod",):
        assert SECRET not in repr([tail.events for tail in tails])


def test_a_column_that_only_hidden_rows_have_does_not_exist(service: Service) -> None:
    key = service.make_key("narrowed", {"privilege": "reader", "resource": {"dataset": "app", "tag": "env=prod"}})
    service.ingest("app", [{"n": 1, "env": "dev", "secret": SECRET}]).raise_for_status()

    hidden, absent = (ask(service, f"SELECT {name} FROM app", key=key).json() for name in ("secret", "nothing"))

    assert (hidden["code"], absent["code"]) == ("invalid_sql", "invalid_sql")
    assert hidden["message"].replace("secret", "nothing") == absent["message"]


def test_hidden_rows_move_nothing_that_a_narrowed_reader_sees(service: Service) -> None:
    """Neither events nor comments come for them; positions are sealed and of a length that does not grow with bytes."""
    key = service.make_key("narrowed", {"privilege": "reader", "resource": {"dataset": "app", "tag": "env=prod"}})
    with follow(service, "SELECT * FROM app", key=key) as tail:
        before = len(tail.events)
        for number in range(20):
            service.ingest("app", [{"n": number, "env": "dev", "text": "x" * 10_000}] * 100).raise_for_status()
        service.ingest("app", [{"n": 1, "env": "prod"}]).raise_for_status()

        wait_until(lambda: len(tail.events) > before)
        time.sleep(0.5)
        assert [each.data["n"] for each in tail.events] == [1]
        assert "text" not in tail.events[0].data
