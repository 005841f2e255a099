"""Joins on few keys read what has one of them, and no answer ever depends on it."""

import json
from contextlib import suppress
from pathlib import Path
from random import Random
from typing import Any, Final

import polars as pl
import pytest

from columns import ColumnType
from errors import WeirError
from models.values.column import Column, Schema
from models.values.dataset import Dataset
from query.process import dynamic_filters
from query.process.dynamic_filters import KnownKeys
from query.process.execution import Execution
from query.process.messages import Execute, Parse, Route, Source
from query.results.options import Options
from storage.context import Layout
from storage.files import parquet
from storage.files.parquet import Origin
from storage.names import partition
from storage.read.contents import Snapshot
from tests.query.plan.test_conditions import Kept
from tests.storage.workbench import NOON

FILES: Final = 8
ROWS: Final = 5_000
TYPES: Final = {
    "p_timestamp": ColumnType.TIMESTAMP_US,
    "trace": ColumnType.UTF8,
    "n": ColumnType.INT64,
    "x": ColumnType.FLOAT64,
    "level": ColumnType.UTF8,
    "message": ColumnType.UTF8,
}
Ask = Any


def logs(number: int) -> pl.DataFrame:
    """Rows of 500 traces that no other file has, and one without any; messages of five rows have a rare word."""
    rows, draw = range(number * ROWS, number * ROWS + ROWS), Random(number)
    return pl.DataFrame(
        {
            "p_timestamp": [NOON] * ROWS,
            "trace": [None if each % 5_000 == 3 else f"trace-{number}-{each % 500}" for each in rows],
            "n": [None if each % 11 == 0 else each for each in rows],
            # What makes a file large enough for an index.
            "x": [each / 4 if each < 9 else draw.random() for each in rows],
            "level": ["error" if each % 997 == 0 else "info" for each in rows],
            "message": [f"declined card {each}" if each % 8_000 == 7 else f"request {each % 10}" for each in rows],
        },
        schema_overrides={"p_timestamp": pl.Datetime("us", "UTC")},
    )


def spans(number: int) -> pl.DataFrame:
    return logs(number).with_columns(message=pl.lit("GET /"), n=pl.col("n") % 1000)


def stored(root: Path, name: str, identifier: int, make: Any) -> Snapshot:
    schema = Schema(identifier, tuple(Column(each, kind) for each, kind in TYPES.items()))
    target = Dataset(identifier, "default", name, "p_timestamp", None, False, "logs", NOON)
    directory = partition("default", name, 0)
    files = tuple(
        parquet.write(Layout(root), directory, make(number), Origin(target, schema, level=3)) for number in range(FILES)
    )
    return Snapshot(str(root), schema, "p_timestamp", None, None, files, (), frozenset(TYPES))


@pytest.fixture(scope="module")
def sources(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Source]:
    root = tmp_path_factory.mktemp("files")
    return {
        "logs": Source(stored(root, "logs", 1, logs), None, None),
        "spans": Source(stored(root, "spans", 2, spans), None, None),
    }


@pytest.fixture
def ask(sources: dict[str, Source], monkeypatch: pytest.MonkeyPatch) -> Ask:
    """Asks; with joins on few keys, which these files are too small for, or without."""

    def asked(sql: str, *, known: bool = True, **changed: Any) -> tuple[Any, int]:
        kept, execution = Kept(), Execution()
        with monkeypatch.context() as patch:
            patch.setattr(dynamic_filters, "LEAST_BYTES", 0 if known else 2**60)
            named = execution.handle(Parse(sql), kept)["datasets"]
            wanted = {name: changed.get(name, sources[name]) for name in named}
            try:
                execution.handle(Execute(wanted, 0, Options(), "identity", 2**30), kept)
            except WeirError as error:
                return error.message, 0
        return sorted(map(repr, json.loads(kept.data))), kept.notes[-1]["files"]

    return asked


RARE: Final = "message LIKE '%declined card 7%'"
# What is asked, and how many files are read at most for it; a dataset has eight.
QUERIES: Final = {
    f"SELECT * FROM logs WHERE trace IN (SELECT trace FROM logs WHERE {RARE})": 2,
    f"SELECT * FROM spans WHERE trace IN (SELECT trace FROM logs WHERE {RARE}) AND level = 'info'": 2,
    f"SELECT s.* FROM logs l JOIN spans s ON s.trace = l.trace WHERE l.{RARE}": 2,
    f"SELECT s.* FROM logs l JOIN spans s USING (trace) WHERE l.{RARE} AND s.n > 5": 2,
    f"SELECT s.* FROM spans s JOIN logs l USING (trace) WHERE l.{RARE}": 2,
    f"SELECT s.n, l.n FROM logs l, spans s WHERE s.trace = l.trace AND l.{RARE}": 2,
    f"SELECT * FROM spans s WHERE EXISTS (SELECT 1 FROM logs l WHERE l.trace = s.trace AND l.{RARE})": 2,
    f"SELECT l.n, s.* FROM logs l LEFT JOIN spans s ON s.trace = l.trace WHERE l.{RARE}": 2,
    f"SELECT l.n FROM logs l WHERE l.{RARE} AND NOT EXISTS (SELECT 1 FROM spans s WHERE s.trace = l.trace)": 2,
    f"SELECT * FROM spans WHERE trace = (SELECT max(trace) FROM logs WHERE {RARE})": 2,
    f"SELECT * FROM spans WHERE trace = (SELECT trace FROM logs WHERE {RARE} LIMIT 1)": 2,
    f"SELECT l.n, (SELECT count(*) FROM spans s WHERE s.trace = l.trace) FROM logs l WHERE {RARE}": 3,
    f"WITH bad AS (SELECT DISTINCT trace FROM logs WHERE {RARE}) SELECT s.n, count(*) FROM spans s JOIN bad USING "
    "(trace) GROUP BY 1": 2,
    f"SELECT * FROM spans WHERE (trace, n) IN (SELECT trace, n FROM logs WHERE {RARE})": 2,
    "SELECT s.* FROM spans s JOIN (VALUES ('trace-3-7'), ('trace-5-9'), (NULL)) AS k(trace) USING (trace)": 2,
    "SELECT s.* FROM spans s JOIN (VALUES ('nowhere')) AS k(trace) USING (trace)": 0,
    "SELECT * FROM spans WHERE trace IN (SELECT trace FROM logs WHERE message LIKE '%no such word%')": 0,
    f"SELECT a.n, b.n, c.n FROM logs a JOIN spans b USING (trace) JOIN logs c ON c.trace = b.trace WHERE a.{RARE}": 3,
    f"SELECT a.n, b.n, c.n FROM logs a JOIN spans b USING (trace) JOIN logs c ON c.trace = a.trace WHERE a.{RARE}": 3,
}


@pytest.mark.parametrize(("sql", "most"), QUERIES.items())
def test_only_files_that_have_a_key_are_read(sql: str, most: int, ask: Ask) -> None:
    found, read = ask(sql)
    expected, every = ask(sql, known=False)

    assert found == expected
    assert read <= most < every


# Nothing is left out of these, or the engine does what it does.
OTHERS: Final = [
    f"SELECT l.n, s.n FROM spans s LEFT JOIN logs l ON l.trace = s.trace AND l.{RARE}",
    f"SELECT l.n, s.n FROM spans s LEFT JOIN logs l ON l.trace = s.trace WHERE l.{RARE} OR l.n IS NULL",
    f"SELECT l.n, s.n FROM spans s FULL JOIN logs l ON l.trace = s.trace AND l.{RARE}",
    f"SELECT n FROM spans WHERE trace NOT IN (SELECT trace FROM logs WHERE {RARE})",
    f"SELECT n FROM spans WHERE trace NOT IN (SELECT trace FROM logs WHERE {RARE} AND trace IS NOT NULL)",
    f"SELECT n FROM spans s WHERE NOT EXISTS (SELECT 1 FROM logs l WHERE l.trace = s.trace AND l.{RARE})",
    f"SELECT n FROM spans WHERE trace IN (SELECT trace FROM logs WHERE {RARE}) OR n < 5",
    f"SELECT * FROM spans WHERE n IN (SELECT n FROM logs WHERE {RARE})",
    f"SELECT n FROM spans WHERE trace = ANY (ARRAY(SELECT trace FROM logs WHERE {RARE}))",
    f"SELECT trace, trace IN (SELECT trace FROM logs WHERE {RARE}) FROM spans",
    f"SELECT s.n FROM logs l JOIN spans s ON s.trace IS NOT DISTINCT FROM l.trace WHERE l.{RARE}",
    f"SELECT s.n FROM logs l JOIN spans s ON s.x = l.n WHERE l.{RARE}",
    f"SELECT s.n FROM logs l JOIN spans s ON s.trace = upper(l.trace) WHERE l.{RARE}",
    "SELECT count(*), sum(s.n) FROM logs l JOIN spans s ON s.trace = l.trace",
    "SELECT count(*) FROM logs l JOIN spans s USING (n) WHERE l.level = 'error'",
    "SELECT n FROM spans WHERE trace IN (SELECT trace FROM logs WHERE level = 'error')",
    "SELECT n FROM spans WHERE trace IN (SELECT trace FROM logs GROUP BY 1 HAVING count(*) > 7)",
    "SELECT n FROM spans WHERE trace = (SELECT trace FROM logs WHERE level = 'error')",
    "SELECT n FROM spans WHERE trace IN (SELECT trace FROM logs WHERE 1 / (n - 5) > 0)",
    f"SELECT n FROM spans WHERE trace IN (SELECT trace FROM logs WHERE {RARE} AND 1 / (n - n) > 0)",
    f"WITH q AS (SELECT trace FROM logs WHERE {RARE}) SELECT (SELECT count(*) FROM q), count(*) FROM spans JOIN q "
    "USING (trace)",
    f"WITH q AS (SELECT s.* FROM spans s JOIN logs l USING (trace) WHERE l.{RARE}) SELECT a.n, b.n FROM q a JOIN q b "
    "USING (n)",
    f"SELECT n FROM logs WHERE {RARE} UNION SELECT n FROM spans WHERE trace IN (SELECT trace FROM logs WHERE {RARE})",
    "WITH RECURSIVE r AS (SELECT 'trace-1-7' AS trace, 1 AS i UNION ALL SELECT s.trace, i + 1 FROM r JOIN spans s "
    "USING (trace) WHERE i < 2) SELECT count(*) FROM r",
    f"SELECT s.n FROM spans s JOIN (SELECT trace FROM logs WHERE {RARE} ORDER BY n DESC LIMIT 2) l USING (trace)",
    f"SELECT s.n, rank() OVER (ORDER BY s.n) FROM spans s JOIN logs l USING (trace) WHERE l.{RARE} LIMIT 3",
    f"SELECT s.n FROM spans s, LATERAL (SELECT l.trace FROM logs l WHERE l.n = s.n AND l.{RARE}) q "
    "WHERE q.trace = s.trace",
]


@pytest.mark.parametrize("sql", [*OTHERS, *QUERIES])
@pytest.mark.parametrize("most", [{}, {"MOST_ROWS": 3}, {"MOST_KEYS": 1}, {"MOST_SHARE": 2.0}], ids=str)
def test_no_answer_depends_on_what_is_asked_first(
    sql: str, most: dict[str, Any], ask: Ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in most.items():
        monkeypatch.setattr(dynamic_filters, name, value)

    assert ask(sql)[0] == ask(sql, known=False)[0]


def test_volatile_sides_are_not_asked_apart(ask: Ask) -> None:
    """The rows of a statement are those of one computation."""
    sql = f"SELECT n FROM spans WHERE trace IN (SELECT trace FROM logs WHERE {RARE} AND random() >= 0)"

    assert ask(sql)[1] == ask(sql, known=False)[1]


def test_readers_under_row_level_security_learn_nothing(ask: Ask, sources: dict[str, Source]) -> None:
    sql = f"SELECT n FROM spans WHERE trace IN (SELECT trace FROM logs WHERE {RARE})"
    narrowed = Source(sources["logs"].snapshot, None, None, frozenset({("level", "info")}))

    assert ask(sql, logs=narrowed)[1] == ask(sql, known=False, logs=narrowed)[1] > FILES


def test_nothing_is_asked_for_explain_or_the_cluster(
    sources: dict[str, Source], monkeypatch: pytest.MonkeyPatch
) -> None:
    sql = f"SELECT n FROM spans WHERE trace IN (SELECT trace FROM logs WHERE {RARE})"
    asked: list[str] = []

    def known_keys(query: Any, views: Any, *_: Any) -> KnownKeys:
        asked.append("asked")
        return KnownKeys(query, views)

    monkeypatch.setattr("query.process.execution.known_keys", known_keys)
    for text, route in ((f"EXPLAIN {sql}", Route()), (sql, Route("sc://localhost:1", 0, 1.0, "spark"))):
        kept, execution = Kept(), Execution()
        execution.handle(Parse(text), kept)
        with suppress(WeirError):
            execution.handle(Execute(sources, 0, Options(), "identity", 2**30, route=route), kept)

    assert not asked
