"""What files answered is kept for a question that comes again, and no answer ever depends on it."""

import ast
import itertools
from collections.abc import Iterator
from dataclasses import replace
from typing import Final

import pytest

from query.process import partial_aggregates
from query.process.execution import Execution
from query.process.messages import Execute, Parse, Source
from query.process.result_cache import ResultCache
from query.results.options import Format, Options
from storage.read.contents import Snapshot
from tests.query.plan.test_conditions import Kept, ask
from tests.query.process.test_whole_files import FILES as ALL_FILES
from tests.query.process.test_whole_files import MINUTE_NS, START_NS, whole

__all__ = ["whole"]

FILES: Final = ALL_FILES - 1

ITEMS: Final = [
    "count(*), sum(n / 1000000), avg(n / 1000000)",
    "count(late), count(*) FILTER (WHERE b), min(t), max(at)",
    "bool_and(b), every(x > 0), bit_and(late), max(wide)",
    "sum(late), sum(late * 1.5), avg(late * 1.5), avg(late) FILTER (WHERE b)",
    "round(avg(late), 2) AS r, max(d) - min(d) AS days",
    "max(p_timestamp) - min(p_timestamp) AS took, count(doc), count(list)",
]
KEYS: Final = [
    "",
    "b",
    "t",
    "d",
    "date_trunc('hour', p_timestamp)",
    "b, date_bin('20 minutes', at, '2026-01-01Z')",
    "x > 0",
]
CONDITIONS: Final = [
    "",
    "WHERE b",
    "WHERE n % 7 = 3 AND p_timestamp >= '2026-01-01T00:40:00Z' AND p_timestamp < '2026-01-01T02:00:00Z'",
    "WHERE b AND p_timestamp > now() - interval '100 years'",
    "WHERE t LIKE 'c%' AND date_trunc('hour', p_timestamp) = '2026-01-01T01:00:00Z'",
    "WHERE p_timestamp <> '2026-01-01T00:40:00Z' AND d IN ('2026-01-03', '2026-01-04')",
    "WHERE false",
]
RANGES: Final = [(None, None), (20, 200), (7, 133)]


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Files of any size answer by themselves, and whole answers are not kept."""
    monkeypatch.setattr(partial_aggregates, "LEAST_ROWS", 1)
    monkeypatch.setattr(ResultCache, "fingerprint", lambda *_: None)


def within(whole: Snapshot, minutes: tuple[int | None, int | None]) -> Source:
    start, end = (None if each is None else START_NS + each * MINUTE_NS for each in minutes)
    # A file without statistics of a column would be one without the column.
    known = replace(whole, files=tuple(each for each in whole.files if each.stats))
    return Source(known.within(start, end), start, end)


def statements(condition: str) -> Iterator[str]:
    for items, keys in itertools.product(ITEMS, KEYS):
        grouped = f" GROUP BY {', '.join(str(number + 1) for number in range(keys.count(', ') + 1))}" if keys else ""
        shown = ", ".join(filter(None, (keys, items)))
        yield f"SELECT {shown} FROM t {condition}{grouped if not keys.startswith('b, date') else ' GROUP BY 1, 2'}"


@pytest.mark.parametrize("condition", CONDITIONS)
def test_no_answer_depends_on_what_files_answered(small: None, whole: Snapshot, condition: str) -> None:
    """Asked three times, of ranges that move on; the third time of what was asked before."""
    execution, spared = Execution(), 0
    for sql in statements(condition):
        first = {minutes: ask(Execution(), sql, within(whole, minutes)) for minutes in RANGES}
        for minutes in (*RANGES, *RANGES):
            found, read = ask(execution, sql, within(whole, minutes))
            assert found == first[minutes][0], sql
            spared += first[minutes][1] - read
    assert spared > 0


QUERIES: Final = {
    "SELECT count(*) AS n, avg(x) AS m FROM t WHERE n % 7 = 3": 0,
    "SELECT b, sum(late) FROM (SELECT * FROM t WHERE n > 0) AS q GROUP BY 1 HAVING count(*) > 1 ORDER BY 2 LIMIT 3": 0,
    "WITH q AS (SELECT b, count(*) AS c FROM t WHERE x > 0 GROUP BY 1) SELECT max(c) FROM q": 0,
    "SELECT (SELECT sum(late) FROM t WHERE b) + 1 AS s": 0,
    # Neither follows from those of parts, nor of rows that are read twice, nor of other numbers at each call.
    "SELECT count(DISTINCT n) FROM t WHERE b": FILES,
    "SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY x) AS p FROM t WHERE b": FILES,
    "SELECT array_agg(n ORDER BY n) FROM t WHERE b": FILES,
    "SELECT count(*) FROM t a JOIN t b ON a.n = b.n WHERE a.x > 0": FILES,
    "SELECT count(*) FROM (SELECT * FROM t WHERE b LIMIT 3) AS q": FILES,
    "SELECT count(*) FROM t WHERE random() < 2": FILES,
}


@pytest.mark.parametrize(("sql", "files"), QUERIES.items())
def test_files_that_answered_are_not_read_again(small: None, whole: Snapshot, sql: str, files: int) -> None:
    execution, source = Execution(), within(whole, (None, None))

    read = [ask(execution, sql, source)[1] for _ in range(3)]

    assert read == [read[0], read[0], files]


def test_only_what_is_new_is_read(small: None, whole: Snapshot) -> None:
    execution, sql = Execution(), "SELECT b, sum(late) AS s FROM t WHERE x > 0 GROUP BY 1"
    ranges = [(0, 100), (7, 100), (7, 140), (20, 160), (20, 160)]

    read = [ask(execution, sql, within(whole, each))[1] for each in ranges]

    # Of the third, the first file is not all in the range, and those from 100 on are new.
    assert read[2] < ask(Execution(), sql, within(whole, ranges[2]))[1]
    assert read[3] <= 3


def test_statements_that_ask_the_same_share_what_files_answered(small: None, whole: Snapshot) -> None:
    execution, source = Execution(), within(whole, (None, None))
    ask(execution, "SELECT b, count(*) AS n FROM t WHERE x > 0 GROUP BY 1", source)
    ask(execution, "SELECT count(*) * 2 AS twice, b FROM t WHERE x > 0 GROUP BY b ORDER BY 1", source)

    _, read = ask(
        execution, "WITH q AS (SELECT x AS y, b FROM t) SELECT b, count(*) FROM q WHERE y > 0 GROUP BY 1", source
    )

    assert read == 0


def test_constants_of_other_types_are_other_questions(small: None, whole: Snapshot) -> None:
    execution, source = Execution(), within(whole, (None, None))
    texts = [f"SELECT max({each}) AS m FROM t WHERE b" for each in ("n + 1", "n + 1.0", "n + 1.00", "n + true::int")]

    for sql in [*texts, *texts, *texts]:
        assert ask(execution, sql, source)[0] == ask(Execution(), sql, source)[0]


def test_sums_of_floats_are_those_of_another_order_of_rows(small: None, whole: Snapshot) -> None:
    execution, sql = Execution(), "SELECT sum(late::float8 / 7) AS s, avg(late::float8 / 7) AS m FROM t"

    found = [ask(execution, sql, within(whole, (None, None))) for _ in range(3)]

    first, last = (ast.literal_eval(each[0][0]) for each in (found[0], found[2]))
    assert last == pytest.approx(first, rel=1e-12)
    assert found[2][1] == 0


def test_questions_with_too_many_groups_are_answered_as_ever(
    small: None, whole: Snapshot, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(partial_aggregates, "MOST_GROUPS", 3)
    execution, source = Execution(), within(whole, (None, None))

    found = [ask(execution, "SELECT t, sum(late) AS s FROM t GROUP BY 1", source) for _ in range(4)]

    assert found[0][0] == found[3][0]
    assert found[3][1] == FILES


def test_an_error_is_that_of_the_statement(small: None, whole: Snapshot) -> None:
    execution, source = Execution(), within(whole, (None, None))

    found = [ask(execution, "SELECT sum(1 / (n - n)) AS s FROM t WHERE b", source)[0] for _ in range(4)]

    assert found == ["division by zero"] * 4


def test_readers_under_row_level_security_learn_nothing(small: None, whole: Snapshot) -> None:
    source = within(whole, (None, None))
    narrow = replace(source, permitted_tags=frozenset({("b", "true")}))
    execution, sql = Execution(), "SELECT count(*) AS n, avg(late) AS m FROM t WHERE x > 0"

    found = [ask(execution, sql, each) for each in (source,) * 3 + (narrow,) * 3]

    assert found[2][1] == 0
    assert len({read for _, read in found[3:]}) == 1 < found[3][1]
    assert found[5][0] == ask(Execution(), sql, narrow)[0] != found[2][0]


def test_descriptions_and_plans_ask_no_file(small: None, whole: Snapshot, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(partial_aggregates.PartialAggregates, "_answer", None)
    execution, sql = Execution(), "SELECT count(*) AS n FROM t WHERE b"
    for text, options in (*((f"EXPLAIN {sql}", Options()),) * 3, *((sql, Options(format=Format.DESCRIPTION)),) * 3):
        execution.handle(Parse(text), Kept())
        execution.handle(Execute({"t": within(whole, (None, None))}, 0, options, "identity", 2**30), Kept())


def test_memory_is_bounded_and_the_oldest_question_goes_first(
    small: None, whole: Snapshot, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(partial_aggregates, "MOST_BYTES", 4 * FILES * partial_aggregates.OVERHEAD_BYTES)
    execution, source = Execution(), within(whole, (None, None))
    for number in (1, 2, 3, 4, 5, 6):
        for _ in range(2):
            ask(execution, f"SELECT count(*) AS n FROM t WHERE n % 9 = {number}", source)
    kept = execution._partial_aggregates._kept

    assert sum(each.bytes for each in kept.values()) <= partial_aggregates.MOST_BYTES
    assert 0 < len(kept) < 4
    assert list(kept)[-1].question.predicates != next(iter(kept)).question.predicates


def test_small_files_are_read(small: None, whole: Snapshot, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(partial_aggregates, "LEAST_ROWS", 16)
    execution, source = Execution(), within(whole, (None, None))

    assert [ask(execution, "SELECT count(*) AS n FROM t WHERE b", source)[1] for _ in range(3)] == [FILES] * 3
