"""What a statement is expected to name is a guess from others of its shape, and never more than that."""

from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from errors import DatasetNotFound, Forbidden, InvalidSQL, WeirError
from models import dataset
from query.process.messages import Names, Source
from query.process.recent import Recent
from query.process.statement_names import StatementNames
from query.question import Question
from query.service import QueryService
from storage.read.snapshot import take_snapshot
from tests.storage.workbench import Bench

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
