"""An answer that is remembered is the answer that would be computed: over new rows, other ranges, other readers."""

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from models import dataset
from query import engine
from query.process.execution import Execution
from query.process.messages import Execute, Parse, Source, Tags
from query.process.protocol import Answer
from query.results.options import Format, Options
from storage.read.snapshot import take_snapshot
from storage.times import to_us
from tests.storage.workbench import NOON, Bench

NOON_NS = to_us(NOON) * 1000
MINUTE_NS = 60 * 10**9


@dataclass
class Kept:
    """What a query process would send."""

    data: bytes = b""
    notes: list[Answer] = field(default_factory=list)

    def __call__(self, content: bytes, /) -> None:
        self.data += content

    def note(self, content: Answer, /) -> None:
        self.notes.append(content)


class Asker:
    """Asks one query process, and counts what it had to compute."""

    def __init__(self, bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
        self.bench, self.computed = bench, 0
        self._execution = Execution()
        lowered = engine.lowered

        def counted(*arguments: Any) -> engine.Compiled:
            self.computed += 1
            return lowered(*arguments)

        monkeypatch.setattr(engine, "lowered", counted)

    def __call__(
        self,
        sql: str = "SELECT count(*) AS n, sum(x) AS s FROM app",
        *,
        minutes: tuple[int, int] = (-5, 5),
        only: Tags | None = None,
        parameters: tuple[Any, ...] = (),
        options: Options = Options(),  # noqa: B008
        now_ns: int = 0,
    ) -> Any:
        start, end = (NOON_NS + minute * MINUTE_NS for minute in minutes)
        snapshot = take_snapshot(self.bench.layout, self.bench.app, *((start, end) if only is None else ()))
        kept = Kept()
        self._execution.handle(Parse(sql, parameters), kept)
        request = Execute({"app": Source(snapshot, start, end, only)}, now_ns, options, "identity", 2**20)
        answer = self._execution.handle(request, kept)
        assert (answer["expired"], answer["coding"]) == (False, "identity")
        assert len(kept.notes) == 1
        return json.loads(kept.data) if options.format is Format.JSON else kept.data


@pytest.fixture
def bench(tmp_path: Path, database: None) -> Iterator[Bench]:
    made = Bench(tmp_path)
    yield made
    made.storage.close()


@pytest.fixture
def ask(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> Asker:
    bench.append(x=[1, 2], level=["info", "error"])
    return Asker(bench, monkeypatch)


def test_the_same_question_over_the_same_rows_is_computed_once(ask: Asker, bench: Bench) -> None:
    assert [ask(), ask()] == [[{"n": 2, "s": 3}]] * 2
    assert ask.computed == 1

    bench.convert()
    assert [ask(), ask()] == [[{"n": 2, "s": 3}]] * 2
    assert ask.computed == 2


def test_a_later_window_over_the_same_rows_is_the_same_question(ask: Asker, bench: Bench) -> None:
    bench.convert()

    assert ask(minutes=(-5, 5)) == ask(minutes=(-4, 6)) == [{"n": 2, "s": 3}]
    assert ask.computed == 1


def test_rows_that_came_since_are_in_the_answer(ask: Asker, bench: Bench) -> None:
    ask()

    bench.append(x=[10])
    assert ask() == [{"n": 3, "s": 13}]
    bench.convert()
    assert ask() == [{"n": 3, "s": 13}]
    bench.append(x=[100])
    assert ask() == [{"n": 4, "s": 113}]


@pytest.mark.parametrize("converted", [False, True])
def test_a_range_that_cuts_through_the_rows_is_computed(converted: bool, ask: Asker, bench: Bench) -> None:
    bench.append(at=NOON + timedelta(minutes=3), x=[10])
    if converted:
        bench.convert()

    assert ask(minutes=(-5, 5)) == [{"n": 3, "s": 13}]
    assert ask(minutes=(-5, 3)) == [{"n": 2, "s": 3}]
    assert ask(minutes=(3, 5)) == [{"n": 1, "s": 10}]
    assert ask(minutes=(-5, 5)) == [{"n": 3, "s": 13}]
    assert ask.computed == 3


def test_rows_of_another_dataset_change_nothing(ask: Asker, bench: Bench) -> None:
    """They are in the same segment, which has grown."""
    ask()
    bench.append(target=dataset.create("default", "other"), x=[5])

    assert ask() == [{"n": 2, "s": 3}]
    assert ask.computed == 1


def test_what_depends_on_the_time_is_computed_again(ask: Asker) -> None:
    sql = "SELECT count(*) AS n FROM app WHERE p_timestamp < now()"

    assert ask(sql, now_ns=NOON_NS + MINUTE_NS) == [{"n": 2}]
    assert ask(sql, now_ns=NOON_NS - MINUTE_NS) == [{"n": 0}]


def test_readers_of_other_rows_get_their_own_answers(ask: Asker) -> None:
    error, info = frozenset({("level", "error")}), frozenset({("level", "info")})

    assert [ask(only=only) for only in (None, error, info, None)] == [
        [{"n": 2, "s": 3}],
        [{"n": 1, "s": 2}],
        [{"n": 1, "s": 1}],
        [{"n": 2, "s": 3}],
    ]


def test_parameters_of_other_types_and_other_forms_are_other_questions(ask: Asker) -> None:
    sql = "SELECT $1 AS v FROM app LIMIT 1"

    assert [ask(sql, parameters=(value,)) for value in (1, True, 1.0, "1")] == [
        [{"v": 1}],
        [{"v": True}],
        [{"v": 1.0}],
        [{"v": "1"}],
    ]
    assert ask(sql, parameters=(1,), options=Options(Format.CSV)) == b"v\n1\n"


def test_a_large_answer_is_not_kept(ask: Asker) -> None:
    sql = "SELECT repeat('x', 20000) AS v FROM app"

    assert ask(sql) == ask(sql)
    assert ask.computed == 2


def test_an_error_is_raised_each_time(ask: Asker) -> None:
    for _ in range(2):
        with pytest.raises(Exception, match="division by zero"):
            ask("SELECT 1 / (x - x) FROM app")
    assert ask.computed == 2
