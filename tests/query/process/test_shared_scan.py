"""Statements that share a scan answer as they do alone, and nothing is read for them again."""

import itertools
import json
import pickle
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import pytest

from errors import WeirError
from query.process.execution import Execution
from query.process.messages import Execute, Parse, Share, Source
from query.process.result_cache import ResultCache
from query.results.options import Options
from storage.read.contents import Snapshot
from tests.query.plan.test_conditions import Kept, ask
from tests.query.process.test_partial_aggregates import FILES, ITEMS, KEYS, within
from tests.query.process.test_whole_files import whole

__all__ = ["whole"]

CONDITIONS: Final = [
    "",
    "WHERE b",
    "WHERE n % 7 = 3 AND x > 0",
    "WHERE d > '2026-01-05' OR late IS NULL",
    "WHERE false",
]
PLAIN: Final = ("", "WHERE b", "WHERE n > 3 AND x > 0", "WHERE d > '2026-01-05' OR late IS NULL")
STATEMENTS: Final = [
    f"SELECT {', '.join(filter(None, (keys, items)))} FROM t {condition}"
    + (f" GROUP BY {', '.join(map(str, range(1, 2 + keys.startswith('b, date'))))}" if keys else "")
    for condition, keys, items in itertools.product(CONDITIONS, KEYS, ITEMS)
]
OTHERS: Final = [
    "SELECT count(DISTINCT n) AS c FROM t",
    "SELECT n FROM t WHERE b ORDER BY n LIMIT 3",
    "SELECT count(*) FROM t WHERE p_timestamp > now() - interval '100 years'",
    "SELECT nothing FROM t",
    "SELECT sum(1 / (n - n)) FROM t",
    "SELECT count(*) FROM t a JOIN t b ON a.n = b.n",
    "SELECT 1 AS one",
    "no statement",
]


@pytest.fixture(autouse=True)
def unremembered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ResultCache, "fingerprint", lambda *_: None)


def share(execution: Execution, source: Source, statements: list[str]) -> Any:
    return execution.handle(Share(tuple(map(Parse, statements)), "t", source, 0), Kept())


def answer(execution: Execution, sql: str, source: Source) -> tuple[Any, int]:
    try:
        return ask(execution, sql, source)
    except WeirError as error:
        return error.message, 0


@pytest.mark.parametrize("minutes", [(None, None), (7, 133)])
def test_statements_answer_as_they_do_alone(whole: Snapshot, minutes: tuple[int | None, int | None]) -> None:
    execution, source = Execution(), within(whole, minutes)
    found = share(execution, source, STATEMENTS)

    answers = [answer(execution, sql, source) for sql in STATEMENTS]

    assert found == {"shared": len(STATEMENTS)}
    assert [read for _, read in answers] == [0] * len(STATEMENTS)
    for sql, (rows, _) in zip(STATEMENTS, answers, strict=True):
        assert rows == answer(Execution(), sql, source)[0], sql


def test_those_that_cannot_share_are_asked_as_ever(whole: Snapshot) -> None:
    execution, source = Execution(), within(whole, (None, None))
    sharing = [f"SELECT count(*) AS n, max(late) AS m, min(t) FROM t {condition}" for condition in PLAIN]
    found = share(execution, source, [*OTHERS, *sharing])

    answers = [answer(execution, sql, source) for sql in (*OTHERS, *sharing)]

    assert found == {"shared": len(sharing)}
    assert [rows for rows, _ in answers] == [answer(Execution(), sql, source)[0] for sql in (*OTHERS, *sharing)]


def test_one_that_fails_spoils_only_those_that_may_fail(whole: Snapshot) -> None:
    """They are asked alone from then on; which of them it was, nobody can tell."""
    execution, source = Execution(), within(whole, (None, None))
    failing, computing = "SELECT sum(1 / (n - n)) AS s FROM t", "SELECT sum(late * 2) AS s FROM t"
    plain = ["SELECT count(*) AS n FROM t WHERE b", "SELECT max(late) AS m FROM t"]

    assert share(execution, source, [failing, computing, *plain]) == {"shared": 2}
    assert share(execution, source, [failing, computing, *plain, "SELECT sum(n / 4) AS s FROM t"]) == {"shared": 3}
    assert [answer(execution, sql, source) for sql in (failing, computing)] == [
        answer(Execution(), sql, source) for sql in (failing, computing)
    ]


def test_other_sources_share_nothing(whole: Snapshot) -> None:
    """A source of equal contents may be that of another reader, or of another moment."""
    execution, source, sql = Execution(), within(whole, (None, None)), "SELECT count(*) AS n FROM t WHERE b"
    share(execution, source, [sql, "SELECT sum(late) FROM t"])

    for other in (within(whole, (20, 200)), replace(source), replace(source, permitted_tags=frozenset({("d", "x")}))):
        assert ask(execution, sql, other) == ask(Execution(), sql, other)
    assert ask(execution, sql, source)[1] == 0


def test_readers_under_row_level_security_share_nothing(whole: Snapshot) -> None:
    narrow = replace(within(whole, (None, None)), permitted_tags=frozenset({("b", "true")}))
    execution, sql = Execution(), "SELECT count(*) AS n FROM t WHERE x > 0"

    assert share(execution, narrow, [sql, "SELECT sum(late) FROM t"]) == {"shared": 0}
    assert ask(execution, sql, narrow) == ask(Execution(), sql, narrow)


def test_the_next_scan_replaces_the_last(whole: Snapshot) -> None:
    execution, source = Execution(), within(whole, (None, None))
    share(execution, source, ["SELECT count(*) AS n FROM t WHERE b", "SELECT sum(late) FROM t"])
    share(execution, source, ["SELECT max(late) FROM t", "SELECT sum(late) FROM t"])

    assert ask(execution, "SELECT count(*) AS n FROM t WHERE b", source)[1] == FILES


def test_selective_statements_are_left_to_what_finds_their_rows(whole: Snapshot) -> None:
    """Their files are chosen by statistics and indexes."""
    rare = "SELECT count(*) AS n FROM t WHERE t = 'cc'"

    assert share(Execution(), within(whole, (None, None)), [rare, *STATEMENTS[:3]]) == {"shared": 3}


def test_a_scan_of_what_has_gone_says_so(whole: Snapshot, tmp_path: Path) -> None:
    gone = Source(replace(whole, root=str(tmp_path)), None, None)

    assert share(Execution(), gone, STATEMENTS[:3]) == {"expired": True}


def test_the_source_of_a_group_is_one_in_the_query_process(whole: Snapshot) -> None:
    """It comes with each of the statements, and is compared by identity."""
    execution, sent = Execution(), within(whole, (None, None))
    first, second = (pickle.loads(pickle.dumps(sent)) for _ in range(2))
    share(execution, first, STATEMENTS[:3])
    kept = Kept()

    execution.handle(Parse(STATEMENTS[0]), kept)
    execution.handle(Execute({"t": second}, 0, Options(), "identity", 2**30), kept)

    assert kept.notes[-1]["files"] == 0
    assert json.loads(kept.data)
