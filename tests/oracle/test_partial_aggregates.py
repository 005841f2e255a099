"""Aggregations put together from those of parts of the rows, against a real PostgreSQL."""

import random
from collections.abc import Iterator
from typing import Any, Final

import polars as pl
import pytest

from query import engine
from query.engine import Compiled, Table
from query.plan.partial_aggregates import partial_aggregations
from tests.oracle.harness import corpus, fuzz
from tests.oracle.harness.answer import Failure
from tests.oracle.harness.corpus import Query
from tests.oracle.harness.session import Session
from tests.oracle.harness.verdict import Verdict, judge

UNANSWERED: Final = {*corpus.read_list(corpus.REFUSALS), *corpus.read_list(corpus.KNOWN_WRONG)}
GENERATED: Final = 300
WORDS: Final = ("COUNT(", "SUM(", "AVG(", "MIN(", "MAX(", "BOOL_", "EVERY(", "BIT_", "GROUP BY")
CALLS: Final = (
    *("count(*)", "count({0})", "sum({0})", "avg({0})", "min({0})", "max({0})"),
    *("avg({0}) FILTER (WHERE {0} > 10)", "count(*) FILTER (WHERE {0} < 100)", "round(avg({0}), 3)", "sum({0} / 3)"),
)
TABLES: Final = {
    "logs": (("latency", "status", "bytes", "latency - 500"), ("service", "level", "ok", "ts::date", "status % 7")),
    "scalars": (("i4", "i8 / 1000000", "i2", "n", "n * 2", "length(s)"), ("id % 3", "i4 IS NULL", "id", "s")),
}
"""Numbers to aggregate, and columns to group by."""
CONDITIONS: Final = ("", "", " WHERE {} IS NOT NULL", " WHERE {} > 100", " WHERE {} < 0 OR {} > 50", " WHERE false")


def generated(seed: int) -> Query:
    """A statement whose aggregates are all sums of some kind."""
    draw = random.Random(seed)
    table, (numbers, groups) = draw.choice(list(TABLES.items()))
    keys = draw.sample(groups, draw.randrange(min(3, len(groups))))
    calls = [draw.choice(CALLS).format(f"({draw.choice(numbers)})") for _ in range(draw.randrange(1, 4))]
    items = ", ".join(f"{each} AS c{number}" for number, each in enumerate((*keys, *calls)))
    number = draw.choice(numbers)
    where = draw.choice(CONDITIONS).format(number, number)
    grouped = f" GROUP BY {', '.join(str(place + 1) for place in range(len(keys)))}" if keys else ""
    having = draw.choice(("", "", " HAVING count(*) > 1"))
    return Query(f"parts-{seed}", f"SELECT {items} FROM {table}{where}{grouped}{having}", ordered=False)


QUERIES: Final = [
    each
    for each in (
        *corpus.every_query(),
        *map(fuzz.generated, range(2_000, 2_000 + GENERATED)),
        *map(generated, range(GENERATED)),
    )
    if each.id not in UNANSWERED and any(word in each.sql.upper() for word in WORDS)
]


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """Has parts of the rows aggregated by themselves wherever that may be; the tables of which they were."""
    found: list[str] = []

    def prepare(statement: Any, tables: Any, *, now: Any, zone: str = "", as_text: bool = False) -> Compiled:
        schemas = {name: engine.table_schema(tables[name]) for name in statement.datasets if name in tables}
        query = engine.bind_statement(statement, schemas, now, zone)
        relation = query.relation
        for part in partial_aggregations(relation, dict.fromkeys(tables, "ts")):
            if part.spans:
                continue
            name = part.scan.dataset
            rows = tables[name].frame.with_row_index("\0number")
            answers = [
                engine.lower_relation(part.question.of_rows("rows"), {"rows": Table(rows.filter(chosen))}).collect()
                for chosen in (pl.col("\0number") % 3 == 0, pl.col("\0number") % 3 == 1)
            ]
            known = pl.concat(answers)
            known.columns = [field.id for field in part.parts]
            relation = part.with_answers(relation, f"{name}\0answers")
            rest = rows.filter(pl.col("\0number") % 3 == 2).drop("\0number")
            tables = {**tables, name: Table(rest, tables[name].json_columns), f"{name}\0answers": Table(known.lazy())}
            found.append(name)
        query = type(query)(relation, query.outputs, query.repeatable)
        return engine.lower_statement(statement, query, tables, as_text=as_text)

    monkeypatch.setattr(engine, "prepare", prepare)
    return found


@pytest.mark.parametrize("query", QUERIES, ids=lambda query: query.id)
def test_answers_are_those_of_postgresql(session: Session, asked: list[str], query: Query) -> None:
    expected = session.reference.run(query.sql, query.zone)

    finding = judge(expected, session.subject.run(query.sql, query.zone), query.ordered)

    assert finding.verdict in (Verdict.PASS, Verdict.REFUSED), f"{finding.reason}\n{query.sql}\n{asked}"
    assert asked or isinstance(expected, Failure) or not query.id.startswith("parts-"), query.sql
