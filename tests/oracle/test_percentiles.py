"""Percentiles found by counting, against a real PostgreSQL (orderedsetaggs.c)."""

import random
from collections.abc import Iterator
from typing import Any, Final

import pytest

from query import engine
from query.engine import Compiled
from query.process import percentiles
from query.process.percentiles import known_percentiles
from tests.oracle.harness import corpus
from tests.oracle.harness.corpus import Query
from tests.oracle.harness.session import Session
from tests.oracle.harness.verdict import Verdict, judge

UNANSWERED: Final = {*corpus.read_list(corpus.REFUSALS), *corpus.read_list(corpus.KNOWN_WRONG)}
GENERATED: Final = 200
TABLES: Final = {
    "logs": (("latency", "status", "bytes", "latency - 500", "bytes % 7"), ("service", "level", "ok", "ts::date")),
    "scalars": (("f", "i4", "i8", "i2", "f / 3", "-f", "n"), ("id % 3", "i4 IS NULL", "id")),
    "metrics": (("value", "value * -1"), ("metric_name", "job", "ts")),
}
"""Numbers to take percentiles of, and columns to group by."""
CONDITIONS: Final = ("", "", " WHERE {} IS NOT NULL", " WHERE {} > 100", " WHERE {} < 0", " WHERE false")


def generated(seed: int) -> Query:
    """A statement with percentiles."""
    draw = random.Random(seed)
    table, (numbers, groups) = draw.choice(list(TABLES.items()))
    keys = draw.sample(groups, draw.randrange(min(3, len(groups))))
    calls = [call(draw, draw.choice(numbers)) for _ in range(draw.randrange(1, 4))]
    others = draw.sample(("count(*)", f"max({numbers[0]})", f"count(DISTINCT {numbers[1]})"), draw.randrange(3))
    items = ", ".join(f"{each} AS c{number}" for number, each in enumerate((*keys, *calls, *others)))
    where = draw.choice(CONDITIONS).format(draw.choice(numbers))
    grouped = f" GROUP BY {', '.join(str(number + 1) for number in range(len(keys)))}" if keys else ""
    having = draw.choice(("", "", " HAVING count(*) > 1"))
    return Query(f"percentiles-{seed}", f"SELECT {items} FROM {table}{where}{grouped}{having}", ordered=False)


def call(draw: random.Random, number: str) -> str:
    fraction = draw.choice(("0.5", "0.95", "0.99", "0", "1", "0.333", "ARRAY[0.5, 0.9, 0.99]", "ARRAY[0, 1]"))
    order = draw.choice(("", "", " DESC"))
    condition = draw.choice(("", "", f" FILTER (WHERE {number} > 10)"))
    return f"percentile_{draw.choice(('cont', 'disc'))}({fraction}) WITHIN GROUP (ORDER BY {number}{order}){condition}"


QUERIES: Final = [
    each
    for each in (*corpus.every_query(), *map(generated, range(GENERATED)))
    if each.id not in UNANSWERED and "percentile" in each.sql.lower()
]


@pytest.fixture(params=[0, 500_000], ids=["counted", "kept"])
def counted(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> Iterator[list[str]]:
    """Has every percentile counted that may be; the tables of those that were."""
    found: list[str] = []

    def prepare(statement: Any, tables: Any, *, now: Any, zone: str = "", as_text: bool = False) -> Compiled:
        schemas = {name: engine.table_schema(tables[name]) for name in statement.datasets if name in tables}
        query = engine.bind_statement(statement, schemas, now, zone)
        known = known_percentiles(query, {}, {}, lambda part, _, rows: engine.lower_relation(part, {**tables, **rows}))
        found.extend(known.tables)
        return engine.lower_statement(statement, known.query, {**tables, **known.tables}, as_text=as_text)

    monkeypatch.setattr(percentiles, "_row_count", lambda *_: 2**40)
    monkeypatch.setattr(percentiles, "MOST_KEPT", request.param)
    monkeypatch.setattr(percentiles, "LEAST_ROWS_OF_GROUP", 0)
    monkeypatch.setattr(engine, "prepare", prepare)
    return found


@pytest.mark.parametrize("query", QUERIES, ids=lambda query: query.id)
def test_answers_are_those_of_postgresql(session: Session, counted: list[str], query: Query) -> None:
    finding = judge(
        session.reference.run(query.sql, query.zone), session.subject.run(query.sql, query.zone), query.ordered
    )

    assert finding.verdict in (Verdict.PASS, Verdict.REFUSED), f"{finding.reason}\n{query.sql}\n{counted}"
    assert finding.verdict is Verdict.PASS or not query.id.startswith("percentiles-"), query.sql
