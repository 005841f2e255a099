"""What an expression is expected to read is a guess from the times before, and never more than that."""

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from models import dataset
from query.metric_queries import MetricQueries, Reaches, ReadOptions
from query.process.messages import Source
from query.process.metric_messages import Expression, Reach
from query.question import Question
from query.service import QueryService
from storage.read.snapshot import take_snapshot
from tests.storage.workbench import NOON, Bench


def never() -> bool:
    return False


EXPRESSION = Expression("rate(up[5m])", 1_000_000, 2_000_000, 15_000, is_range=True, lookback_ms=300_000)


def test_the_same_expression_later_reaches_as_far_back() -> None:
    reaches = Reaches()

    reaches.learn(EXPRESSION, Reach(400_000, 2_000_000))

    later = replace(EXPRESSION, start_ms=1_015_000, end_ms=2_030_000)
    assert reaches.expected(later) == Reach(415_000, 2_030_000)
    assert reaches.expected(replace(EXPRESSION, lookback_ms=1)) is None
    assert reaches.expected(replace(EXPRESSION, text="rate(up[6m])")) is None


def test_an_expression_that_needs_nothing_never_does() -> None:
    reaches = Reaches()

    reaches.learn(EXPRESSION, Reach(None, None))

    assert reaches.expected(replace(EXPRESSION, start_ms=0)) == Reach(None, None)


@pytest.mark.parametrize("text", ["up @ 12", "up @ start()", "max_over_time(up[1h:5m])"])
def test_nothing_is_expected_where_the_range_follows_from_the_time(text: str) -> None:
    reaches = Reaches()

    reaches.learn(replace(EXPRESSION, text=text), Reach(1, 2))

    assert reaches.expected(replace(EXPRESSION, text=text)) is None


class MetricAsker:
    """Asks for samples, and says which ranges were taken."""

    def __init__(self, queries: MetricQueries, bench: Bench) -> None:
        self.queries, self.bench = queries, bench
        self.reached: list[Reach] = []

    def resolve(self, start_ms: int | None, end_ms: int | None) -> Source:
        self.reached.append(Reach(start_ms, end_ms))
        found = dataset.find("default", "samples")
        return Source(take_snapshot(self.bench.layout, found), None, None)

    def ask(self, text: str, at_ms: int) -> list[float]:
        expression = Expression(text, at_ms, at_ms, 1, is_range=False, lookback_ms=300_000)
        question = Question("default", "native:ann", text, 0)
        result = self.queries.evaluate(expression=expression, question=question, **self._rest())
        data = json.loads(b"".join(result))["data"]["result"]
        return [float(each["value"][1]) for each in data]

    def _rest(self) -> dict[str, Any]:
        return {"wanted": ReadOptions(10_000, 1_000), "resolve": self.resolve, "is_gone": never}


@pytest.fixture
def metrics(
    queries: QueryService, tmp_path: Path, database: None, monkeypatch: pytest.MonkeyPatch
) -> Iterator[MetricAsker]:
    monkeypatch.setattr(queries.metrics, "_reaches", Reaches())
    bench = Bench(tmp_path)
    target = dataset.create("default", "samples")
    names = {"metric_name": ["up", "up"], "data_point_value": [1.0, 2.0], "time_unix_nano": [NOON, NOON]}
    bench.append(target=target, **names, **{"job": ["a", "b"]})
    yield MetricAsker(queries.metrics, bench)
    bench.storage.close()


NOON_MS = int(NOON.timestamp() * 1000)


def test_the_second_time_an_expression_is_asked_at_once(metrics: MetricAsker) -> None:
    assert metrics.ask("up", NOON_MS) == metrics.ask("up", NOON_MS + 1_000) == [1.0, 2.0]
    assert len(metrics.reached) == 2


def test_a_wrong_guess_of_a_range_changes_no_answer(metrics: MetricAsker) -> None:
    expression = Expression("up", NOON_MS, NOON_MS, 1, is_range=False, lookback_ms=300_000)
    metrics.queries._reaches.learn(expression, Reach(0, 1))

    assert metrics.ask("up", NOON_MS) == [1.0, 2.0]
    assert metrics.reached[0] == Reach(0, 1)
    assert len(metrics.reached) == 2
