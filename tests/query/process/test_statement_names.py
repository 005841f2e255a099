"""What a statement is expected to name is a guess from others of its shape, and never more than that."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from config import Settings
from errors import DatasetNotFound, Forbidden, InvalidSQL, WeirError
from models import dataset
from query.process.messages import Names, Source
from query.process.metric_messages import Expression, Reach
from query.process.recent import Recent
from query.process.statement_names import Reaches, StatementNames
from query.service import QueryService, Question, ReadOptions
from storage.read.snapshot import take_snapshot
from tests.storage.workbench import NOON, Bench

APP = Names(("app",), ("x",))


def never() -> bool:
    return False


@pytest.mark.parametrize(
    "sql",
    ["SELECT * FROM app WHERE x = 12", "SELECT * FROM app WHERE x = 1.5", "SELECT * FROM app WHERE x = 'it''s 3'"],
    ids=["integer", "decimal", "text"],
)
def test_statements_that_differ_in_their_literals_are_of_one_shape(sql: str) -> None:
    names = StatementNames()

    names.learn(sql.replace("12", "7").replace("1.5", "22").replace("it''s 3", "a''b"), APP)

    assert names.expected(sql) == APP


@pytest.mark.parametrize(
    "sql", ["SELECT * FROM app2", 'SELECT * FROM "1"', "SELECT * FROM app WHERE x2 = 1", "SELECT * FROM app"]
)
def test_another_name_is_another_shape(sql: str) -> None:
    names = StatementNames()
    names.learn("SELECT * FROM app1", APP)
    names.learn('SELECT * FROM "2"', APP)
    names.learn("SELECT * FROM app WHERE x1 = 1", APP)

    assert names.expected(sql) is None


def test_what_was_used_last_is_kept() -> None:
    kept: Recent[str, int] = Recent(2)
    kept.put("a", 1)
    kept.put("b", 2)
    kept.get("a")

    kept.put("c", 3)

    assert [kept.get(each) for each in "abc"] == [1, None, 3]


class Asker:
    """Asks a query service, and says what was authorised on the way."""

    def __init__(self, queries: QueryService, bench: Bench) -> None:
        self.queries, self.bench = queries, bench
        self.resolved: list[Names] = []
        self.refuses: WeirError | None = None

    def resolve(self, datasets: tuple[str, ...], columns: tuple[str, ...]) -> Mapping[str, Source]:
        self.resolved.append(Names(datasets, columns))
        if "secret" in datasets and self.refuses is not None:
            raise self.refuses
        return {name: self._source(name, columns) for name in datasets}

    def _source(self, name: str, columns: tuple[str, ...]) -> Source:
        found = dataset.find("default", name)
        return Source(take_snapshot(self.bench.layout, found, columns=columns), None, None)

    def ask(self, sql: str) -> bytes:
        return b"".join(self.queries.run(Question("default", "native:ann", sql, 0), self.resolve, never))

    def expect(self, sql: str, names: Names) -> None:
        self.queries._statement_names.learn(sql, names)


@pytest.fixture(scope="module")
def queries(tmp_path_factory: pytest.TempPathFactory) -> Iterator[QueryService]:
    made = QueryService(Settings(data_dir=tmp_path_factory.mktemp("queries"), query_concurrency=1))
    yield made
    made.close()


@pytest.fixture
def asker(queries: QueryService, tmp_path: Path, database: None, monkeypatch: pytest.MonkeyPatch) -> Iterator[Asker]:
    monkeypatch.setattr(queries, "_statement_names", StatementNames())
    bench = Bench(tmp_path)
    bench.append(x=[1, 2])
    dataset.create("default", "secret")
    yield Asker(queries, bench)
    bench.storage.close()


def test_the_second_of_a_shape_is_asked_at_once_and_answered_alike(asker: Asker) -> None:
    assert asker.ask("SELECT x FROM app WHERE x = 1") == b'[{"x":1}]'
    assert asker.ask("SELECT x FROM app WHERE x = 2") == b'[{"x":2}]'
    assert asker.resolved == [APP, APP]


@pytest.mark.parametrize(
    "expected",
    [Names(("secret",), ()), Names((), ()), Names(("app", "secret"), ("x",)), Names(("app",), ())],
    ids=["another dataset", "none", "one more", "other columns"],
)
def test_a_wrong_guess_changes_no_answer(asker: Asker, expected: Names) -> None:
    asker.expect("SELECT x FROM app WHERE x = 1", expected)

    assert asker.ask("SELECT x FROM app WHERE x = 2") == b'[{"x":2}]'
    assert asker.resolved == [expected, APP]
    assert asker.ask("SELECT x FROM app WHERE x = 1") == b'[{"x":1}]'
    assert asker.resolved[2:] == [APP]


@pytest.mark.parametrize("error", [Forbidden("no"), DatasetNotFound("none")], ids=["forbidden", "not there"])
def test_an_error_about_what_was_only_guessed_is_nobodys(asker: Asker, error: WeirError) -> None:
    asker.refuses = error
    asker.expect("SELECT x FROM app WHERE x = 1", Names(("secret",), ()))

    assert asker.ask("SELECT x FROM app WHERE x = 2") == b'[{"x":2}]'


def test_what_is_named_is_refused_whatever_was_guessed(asker: Asker) -> None:
    asker.refuses = Forbidden("no")
    asker.expect("SELECT x FROM secret", APP)

    with pytest.raises(Forbidden):
        asker.ask("SELECT x FROM secret")
    asker.expect("SELECT x FROM secret", Names(("secret",), ()))
    with pytest.raises(Forbidden):
        asker.ask("SELECT x FROM secret")


def test_what_is_no_statement_is_refused_as_that(asker: Asker) -> None:
    asker.refuses = Forbidden("no")
    asker.expect("SELECT x FROM (secret", Names(("secret",), ()))

    with pytest.raises(InvalidSQL):
        asker.ask("SELECT x FROM (secret")


def test_a_segment_that_went_meanwhile_is_looked_for_again(asker: Asker) -> None:
    """Between the snapshot and the reading its segment is converted and deleted."""
    asker.ask("SELECT x FROM app ORDER BY x")
    real, gone = asker.resolve, []

    def resolve(datasets: tuple[str, ...], columns: tuple[str, ...]) -> Mapping[str, Source]:
        sources = real(datasets, columns)
        if not gone:
            asker.bench.convert()
            gone.extend(each.path for each in sources["app"].snapshot.segments)
            for path in gone:
                Path(path).unlink()
        return sources

    asker.resolve = resolve  # type: ignore[method-assign]

    assert asker.ask("SELECT x FROM app ORDER BY x") == b'[{"x":1},{"x":2}]'
    assert gone


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

    def __init__(self, asker: Asker) -> None:
        self.asker = asker
        self.reached: list[Reach] = []

    def resolve(self, start_ms: int | None, end_ms: int | None) -> Source:
        self.reached.append(Reach(start_ms, end_ms))
        found = dataset.find("default", "samples")
        return Source(take_snapshot(self.asker.bench.layout, found), None, None)

    def ask(self, text: str, at_ms: int) -> list[float]:
        expression = Expression(text, at_ms, at_ms, 1, is_range=False, lookback_ms=300_000)
        question = Question("default", "native:ann", text, 0)
        result = self.asker.queries.evaluate(expression=expression, question=question, **self._rest())
        data = json.loads(b"".join(result))["data"]["result"]
        return [float(each["value"][1]) for each in data]

    def _rest(self) -> dict[str, Any]:
        return {"wanted": ReadOptions(10_000, 1_000), "resolve": self.resolve, "is_gone": never}


@pytest.fixture
def metrics(asker: Asker, monkeypatch: pytest.MonkeyPatch) -> MetricAsker:
    monkeypatch.setattr(asker.queries, "_reaches", Reaches())
    target = dataset.create("default", "samples")
    names = {"metric_name": ["up", "up"], "data_point_value": [1.0, 2.0], "time_unix_nano": [NOON, NOON]}
    asker.bench.append(target=target, **names, **{"job": ["a", "b"]})
    return MetricAsker(asker)


NOON_MS = int(NOON.timestamp() * 1000)


def test_the_second_time_an_expression_is_asked_at_once(metrics: MetricAsker) -> None:
    assert metrics.ask("up", NOON_MS) == metrics.ask("up", NOON_MS + 1_000) == [1.0, 2.0]
    assert len(metrics.reached) == 2


def test_a_wrong_guess_of_a_range_changes_no_answer(metrics: MetricAsker) -> None:
    expression = Expression("up", NOON_MS, NOON_MS, 1, is_range=False, lookback_ms=300_000)
    metrics.asker.queries._reaches.learn(expression, Reach(0, 1))

    assert metrics.ask("up", NOON_MS) == [1.0, 2.0]
    assert metrics.reached[0] == Reach(0, 1)
    assert len(metrics.reached) == 2
