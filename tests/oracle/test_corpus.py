"""The gate: our engine against a real PostgreSQL, query by query (api.md section 5; docs/decisions/sql-oracle.md).

A query passes, or stands in refusals.txt (we say that we do not support it) or in known_wrong.txt. A query that stands
in a list and passes fails its test, so the lists cannot keep what is done; a new refusal fails, so they do not grow.
"""

import pytest

from tests.oracle.harness import corpus, fuzz
from tests.oracle.harness.corpus import Query
from tests.oracle.harness.fuzz import GENERATED
from tests.oracle.harness.session import Session, contradiction
from tests.oracle.harness.verdict import Verdict

CORPUS = corpus.every_query()
QUERIES = [*CORPUS, *map(fuzz.generated, range(GENERATED))]
REFUSALS = corpus.read_list(corpus.REFUSALS)
KNOWN_WRONG = corpus.read_list(corpus.KNOWN_WRONG)


@pytest.mark.parametrize("query", QUERIES, ids=lambda query: query.id)
def test_engine_answers_as_postgresql_does(session: Session, query: Query) -> None:
    """Same values, types, names and order; the same SQLSTATE where PostgreSQL fails."""
    finding = session.ask(query)

    if query.id in REFUSALS:
        assert finding.verdict is Verdict.REFUSED, f"{finding.verdict}: remove it from refusals.txt ({finding.reason})"
    elif query.id in KNOWN_WRONG:
        assert finding.verdict is not Verdict.PASS, "it passes: remove it from known_wrong.txt"
        assert finding.verdict is not Verdict.REFUSED, "it is refused now: move it to refusals.txt"
    else:
        assert finding.verdict is Verdict.PASS, f"{finding.reason}\n{query.sql}"


def test_postgresql_does_as_the_corpus_says(session: Session) -> None:
    """Every query fails with the SQLSTATE it is written for, or answers: else it tests nothing."""
    outcomes = ((query, session.reference.run(query.sql, query.zone)) for query in CORPUS)

    contradictions = {query.id: text for query, outcome in outcomes if (text := contradiction(query, outcome))}

    assert contradictions == {}


def test_queries_are_named_once() -> None:
    ids = [query.id for query in QUERIES]

    assert len(ids) == len(set(ids))


def test_lists_name_queries_of_the_corpus() -> None:
    unknown = {*REFUSALS, *KNOWN_WRONG} - {query.id for query in QUERIES}

    assert unknown == set()


def test_a_query_is_refused_or_wrong_but_not_both() -> None:
    assert REFUSALS.keys() & KNOWN_WRONG.keys() == set()
