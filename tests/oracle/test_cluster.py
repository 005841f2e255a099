"""The gate of the cluster: parts of plans on Spark, against a real PostgreSQL (api.md section 10).

A query passes, or stands in cluster_refusals.txt, which may only shrink. The part of the corpus whose topics begin
with `base` is run: a statement on Spark takes most of a second.
"""

from collections.abc import Iterator

import pytest

from tests.oracle.harness import corpus
from tests.oracle.harness.cluster import ClusterSubject
from tests.oracle.harness.corpus import Query
from tests.oracle.harness.session import Session
from tests.oracle.harness.tables import every_table
from tests.oracle.harness.verdict import Verdict, judge
from tests.spark_server import spark_server

REFUSALS = corpus.read_list(corpus.ORACLE / "cluster_refusals.txt")
KNOWN = {*corpus.read_list(corpus.REFUSALS), *corpus.read_list(corpus.KNOWN_WRONG)}
QUERIES = [each for each in corpus.every_query() if each.topic.startswith("base") and each.id not in KNOWN]


@pytest.fixture(scope="module")
def on_cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ClusterSubject]:
    with spark_server(tmp_path_factory.mktemp("spark")) as url:
        yield ClusterSubject(every_table(), url)


@pytest.mark.parametrize("query", QUERIES, ids=lambda query: query.id)
def test_cluster_answers_as_postgresql_does(session: Session, on_cluster: ClusterSubject, query: Query) -> None:
    finding = judge(session.reference.run(query.sql), on_cluster.run(query.sql), query.ordered)

    if query.id in REFUSALS:
        assert finding.verdict is Verdict.REFUSED, f"{finding.verdict}: not refused any more ({finding.reason})"
    else:
        assert finding.verdict is Verdict.PASS, f"{finding.reason}\n{query.sql}"


def test_list_of_refusals_names_queries_that_are_run() -> None:
    assert set(REFUSALS) - {each.id for each in QUERIES} == set()


def test_rows_of_which_no_column_is_read_are_there(session: Session, on_cluster: ClusterSubject) -> None:
    """`SELECT 1 FROM docs` has a row for each of docs."""
    for sql in (
        "SELECT 1 AS a FROM docs",
        "SELECT ARRAY[1]::int8[] AS a FROM docs",
        "SELECT 1 FROM logs GROUP BY level",
    ):
        finding = judge(session.reference.run(sql), on_cluster.run(sql), ordered=False)
        assert finding.verdict is Verdict.PASS, finding.reason
