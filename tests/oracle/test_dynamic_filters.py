"""Statements with sides of their joins asked for first, against a real PostgreSQL (docs/decisions/text-index.md)."""

from collections.abc import Iterator
from typing import Any

import pytest

from query import engine
from query.engine import Compiled
from query.process import dynamic_filters
from query.process.dynamic_filters import known_keys
from tests.oracle.harness import corpus, fuzz
from tests.oracle.harness.corpus import Query
from tests.oracle.harness.session import Session
from tests.oracle.harness.verdict import Verdict, judge

UNANSWERED = {*corpus.read_list(corpus.REFUSALS), *corpus.read_list(corpus.KNOWN_WRONG)}
GENERATED = 300
QUERIES = [
    each
    for each in (*corpus.every_query(), *map(fuzz.generated, range(1_000, 1_000 + GENERATED)))
    if each.id not in UNANSWERED and any(word in each.sql.upper() for word in (" JOIN ", " IN (", "EXISTS", "(SELECT"))
]


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """Has the engine ask for every side that it may; the tables of those that it has asked for."""
    found: list[str] = []

    def prepare(statement: Any, tables: Any, *, now: Any, zone: str = "", as_text: bool = False) -> Compiled:
        schemas = {name: engine.table_schema(tables[name]) for name in statement.datasets if name in tables}
        query = engine.bind_statement(statement, schemas, now, zone)
        views: Any = dict.fromkeys(statement.datasets)
        known = known_keys(
            query, views, lambda _: {}, lambda part, _, rows: engine.lower_relation(part, {**tables, **rows})
        )
        found.extend(known.tables)
        return engine.lower_statement(statement, known.query, {**tables, **known.tables}, as_text=as_text)

    monkeypatch.setattr(dynamic_filters, "_bytes", lambda *_: 2**40)
    monkeypatch.setattr(engine, "prepare", prepare)
    return found


@pytest.mark.parametrize("query", QUERIES, ids=lambda query: query.id)
def test_answers_are_those_of_postgresql(session: Session, asked: list[str], query: Query) -> None:
    finding = judge(
        session.reference.run(query.sql, query.zone), session.subject.run(query.sql, query.zone), query.ordered
    )

    assert finding.verdict in (Verdict.PASS, Verdict.REFUSED), f"{finding.reason}\n{query.sql}\n{asked}"
