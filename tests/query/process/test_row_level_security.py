"""Narrowed readers: api.md section 2, attacks.md 5. What they see is a dataset that holds only their rows."""

import math
import re
from dataclasses import replace
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from columns import ColumnType
from models.column import Column, Schema
from models.file import File
from query import engine
from query.process.messages import Tags
from query.process.row_level_security import RowLevelSecurity, permitted_rows
from storage.read.snapshot import Snapshot
from storage.read.unconverted_rows import UnconvertedRows
from tests.oracle.harness import corpus, tables
from tests.oracle.harness.answer import Answer, Failure, Outcome
from tests.oracle.harness.subject import Subject

NOW = datetime(2026, 1, 15, 12, tzinfo=UTC)
HOUR_NS = 3_600 * 10**9
FIELDS = {
    "p_timestamp": ColumnType.TIMESTAMP_US,
    "env": ColumnType.UTF8,
    "n": ColumnType.INT64,
    "secret": ColumnType.UTF8,
    "p_src_ip": ColumnType.UTF8,
}
PROD: Tags = frozenset({("env", "prod")})


def snapshot(root: Path, *files: list[dict[str, Any]]) -> Snapshot:
    """A dataset of one file for each list of rows; the n-th file is of the n-th hour since 1970."""
    schema = Schema(7, tuple(Column(name, kind) for name, kind in FIELDS.items()))
    found = []
    for hour, rows in enumerate(files):
        path = f"{hour}.parquet"
        frame = pl.DataFrame(rows, schema={"env": pl.String, "n": pl.Int64, "secret": pl.String, "p_src_ip": pl.String})
        times = pl.Series([hour * HOUR_NS // 1000] * len(rows)).cast(pl.Datetime("us", "UTC"))
        frame.with_columns(p_timestamp=times).write_parquet(root / path)
        found.append(File(path, 7, hour * HOUR_NS, hour * HOUR_NS, len(rows), 1))
    return Snapshot(str(root), schema, "p_timestamp", None, None, tuple(found), ())


def seen(row_level_security: RowLevelSecurity, whole: Snapshot, only: Tags = PROD, **sides: int) -> pl.DataFrame:
    """The rows and columns that a narrowed reader sees of `[start, end)`."""
    columns = row_level_security.visible(whole, only)
    rows = row_level_security.scan(whole.within(sides.get("start"), sides.get("end")), only)
    return rows.select(name for name in FIELDS if name in columns).collect()


@pytest.fixture
def row_level_security() -> RowLevelSecurity:
    return RowLevelSecurity(UnconvertedRows())


def test_only_permitted_rows_and_their_columns_are_seen(row_level_security: RowLevelSecurity, tmp_path: Path) -> None:
    whole = snapshot(tmp_path, [{"env": "prod", "n": 1}, {"env": "dev", "secret": "x"}, {"n": 3, "secret": "y"}])

    found = seen(row_level_security, whole)

    assert found.columns == ["p_timestamp", "env", "n", "p_src_ip"]
    assert found["n"].to_list() == [1]


def test_a_column_of_a_permitted_row_is_seen_whatever_the_range(
    row_level_security: RowLevelSecurity, tmp_path: Path
) -> None:
    """As in a dataset of those rows alone, whose schema does not depend on the range of a query either."""
    whole = snapshot(tmp_path, [{"env": "prod", "secret": "mine"}], [{"env": "prod", "n": 2}])

    found = seen(row_level_security, whole, start=HOUR_NS, end=2 * HOUR_NS)

    assert "secret" in found.columns
    assert found["n"].to_list() == [2]


def test_a_column_appears_with_its_first_permitted_row(row_level_security: RowLevelSecurity, tmp_path: Path) -> None:
    """What was learnt about files is kept, and new files are searched."""
    first = snapshot(tmp_path, [{"env": "prod"}])
    assert "n" not in seen(row_level_security, first).columns

    second = snapshot(tmp_path, [{"env": "prod"}], [{"env": "prod", "n": 2}])

    assert "n" in seen(row_level_security, second).columns


def test_what_one_tag_shows_another_does_not(row_level_security: RowLevelSecurity, tmp_path: Path) -> None:
    whole = snapshot(tmp_path, [{"env": "prod", "n": 1}, {"env": "dev", "secret": "x"}])
    seen(row_level_security, whole, frozenset({("env", "dev")}))

    assert "secret" not in seen(row_level_security, whole).columns
    assert seen(row_level_security, whole, PROD | {("env", "dev")}).height == 2


@pytest.mark.parametrize("only", [frozenset(), frozenset({("absent", "x")}), frozenset({("p_timestamp", "1970")})])
def test_a_tag_that_no_row_can_bear_shows_nothing(
    row_level_security: RowLevelSecurity, tmp_path: Path, only: Tags
) -> None:
    whole = snapshot(tmp_path, [{"env": "prod", "n": 1}])

    found = seen(row_level_security, whole, only)

    assert (found.height, found.columns) == (0, ["p_timestamp", "p_src_ip"])


@pytest.mark.parametrize(
    ("values", "value", "expected"),
    [
        (["a", "A", "a ", None], "a", ["a"]),
        (["", None], "", [""]),
        ([True, False, None], "true", [True]),
        ([True, False, None], "1", []),
        ([1, 2, None], "1", [1]),
        ([1, 2, None], "1.0", [1]),
        ([1, 2, None], "one", []),
        ([2**53 + 1, 2**53], str(2**53), [2**53]),
        ([0.5, float("nan"), None], "0.5", [0.5]),
        ([["a"], []], "a", []),
    ],
    ids=str,
)
def test_a_tag_is_compared_as_the_type_of_its_column(values: list[Any], value: str, expected: list[Any]) -> None:
    found = permitted_rows(pl.LazyFrame({"v": values}), frozenset({("v", value)})).collect()

    assert found["v"].to_list() == expected


def test_no_condition_of_the_user_runs_on_a_hidden_row() -> None:
    """attacks.md 5: `1/0` on hidden rows."""
    frame = pl.LazyFrame({"env": ["prod", "dev"], "n": [1, 0]})
    table = engine.Table(permitted_rows(frame, PROD))
    sql = "SELECT count(*) FROM t WHERE 10 / n > 1"

    assert engine.compile(sql, {"t": table.frame}, now=NOW).collect().item() == 1


def test_the_condition_stays_below_the_users() -> None:
    """The plan itself: the user's condition is not part of the one at the scan."""
    frame = permitted_rows(pl.LazyFrame({"env": ["prod", "dev"], "n": [1, 0]}), PROD).filter(pl.col("n") > 0)

    plan = frame.explain()

    conditions = [line for line in plan.splitlines() if "FILTER" in line]
    assert len(conditions) == 2
    assert not any("prod" in condition and '"n"' in condition for condition in conditions)


TAGGED = {"logs": ("level", "ERROR"), "hits": ("isrefresh", "1"), "metrics": ("job", "api"), "spans": ("error", "true")}


def _subject(folder: Path, with_tag: bool) -> Subject:
    """Our engine over the oracle's tables, of which one row in a few is permitted: behind the predicate, or alone."""
    folder.mkdir()
    loaded = [table if with_tag else _permitted(table) for table in tables.every_table()]
    subject = Subject(loaded, folder)
    if with_tag:
        for table in loaded:
            if table.name in TAGGED:
                whole = subject._tables[table.name]
                rows = permitted_rows(whole.frame, frozenset({TAGGED[table.name]}))
                subject._tables = {**subject._tables, table.name: engine.Table(rows, whole.json_columns)}
    return subject


def _permitted(table: tables.Table) -> tables.Table:
    if table.name not in TAGGED:
        return table
    field, value = TAGGED[table.name]
    return tables.Table(table.name, table.frame.filter(pl.col(field).cast(pl.String) == value), table.json_columns)


def test_an_error_shows_a_narrowed_reader_values_of_permitted_rows_alone(tmp_path: Path) -> None:
    with_tag, alone = _subject(tmp_path / "narrow", True), _subject(tmp_path / "alone", False)

    failure = with_tag.run("SELECT sum(user_id::int) FROM logs")

    assert isinstance(failure, Failure)
    (shown,) = re.findall(r'"([^"]*)"', failure.message)
    found = alone.run(f"SELECT count(*) FROM logs WHERE user_id = '{shown}'")
    assert isinstance(found, Answer)
    assert found.rows[0][0] > 0


def _alike(left: Outcome, right: Outcome, ordered: bool) -> bool:
    """The same outcome, but for what may differ between two runs of one query: order, the last digits of sums."""
    if isinstance(left, Failure) and isinstance(right, Failure):
        return _masked(left) == _masked(right)
    if not (isinstance(left, Answer) and isinstance(right, Answer)):
        return left == right
    if (left.names, left.types, len(left.rows)) != (right.names, right.types, len(right.rows)):
        return False
    rows = [found.rows if ordered else sorted(found.rows, key=_coarse) for found in (left, right)]
    return all(_close(*values) for pair in zip(*rows, strict=True) for values in zip(*pair, strict=True))


def _masked(failure: Failure) -> Failure:
    """Without the value that it shows, as an example of several: the next test looks at that."""
    return replace(failure, message=re.sub(r'"[^"]*"', '""', failure.message))


def _coarse(row: tuple[object, ...]) -> str:
    return repr([f"{value:.3g}" if isinstance(value, float | Decimal) else value for value in row])


def _close(left: object, right: object) -> bool:
    if isinstance(left, float | Decimal) and isinstance(right, float | Decimal):
        return math.isclose(left, right, rel_tol=1e-9) or (math.isnan(left) and math.isnan(right))
    return left == right


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_narrowed_reader_gets_what_a_dataset_of_the_permitted_rows_would_give(tmp_path: Path) -> None:
    """Differentially, over every query of the SQL corpus that reads a narrowed table."""
    with_tag, alone = _subject(tmp_path / "narrow", True), _subject(tmp_path / "alone", False)
    queries = [query for query in corpus.every_query() if any(name in query.sql for name in TAGGED)]

    different = [
        query.id for query in queries if not _alike(with_tag.run(query.sql), alone.run(query.sql), query.ordered)
    ]

    assert len(queries) > 300
    assert different == []
