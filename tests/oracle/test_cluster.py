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


EDGES = (
    "SELECT id, row_number() OVER (ORDER BY f DESC NULLS LAST, id) AS a, rank() OVER (PARTITION BY b ORDER BY f) AS r, "
    "dense_rank() OVER (PARTITION BY f, i4 ORDER BY s DESC) AS d FROM scalars ORDER BY id LIMIT 90",
    "SELECT DISTINCT ON (b, f) b, f = 0 AS z, id FROM scalars ORDER BY b, f, id DESC",
    "SELECT id FROM (SELECT id, row_number() OVER (PARTITION BY b ORDER BY s NULLS FIRST, id) AS n FROM scalars) q "
    "WHERE n <= 3",
    "SELECT s ~ 'k$', s ~ '^a', s ~ 'e.b', s ~* '[e-t]+a', s ~* 'I', s ILIKE 'I%', s ~ '[^a-c]', s ~ 'a|x{2,}$|^$', "
    "s SIMILAR TO '(a|st)_*%', s LIKE '%\\\\%', s ILIKE 'STRA#ß%' ESCAPE '#', s ~* 'é', s ~ '^.$', s ILIKE '%É', "
    "count(*) FROM scalars GROUP BY 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 13, 14",
    "SELECT count(*) FROM scalars WHERE s ~ '[\\n-\\x20]' OR s ~ '🙂.' OR s !~ '^[ -~]*$' AND s !~* '^[A-F0-9-]+$'",
    "SELECT date_bin('7 hours', ts, TIMESTAMP '2030-02-28 01:02:03.000004') AS m, ts::date AS day, "
    "date_bin('40 days 1 us', tz, TIMESTAMPTZ '1931-01-01') AS z, count(*) FROM scalars GROUP BY 1, 2, 3",
    "SELECT tz::date, count(*) FROM scalars WHERE ts::date <> DATE '1969-12-31' AND tz > DATE '1900-02-28' GROUP BY 1",
    "SELECT count(*) FROM scalars WHERE tz::timestamp > ts OR ts < TIMESTAMPTZ '1970-01-01'",
    "SELECT min(b::int), max((i2 > 1)::int), bit_xor(i4), bit_and(i8) FILTER (WHERE b), bit_or(i2) FROM scalars",
    "SELECT e.id, (SELECT count(*) FROM scalars x WHERE x.f = e.f), (SELECT max(s) FROM edge) FROM scalars e",
    "SELECT count(*) FROM scalars e WHERE (SELECT max(x.s) FROM scalars x WHERE x.b = e.b) > s",
    "SELECT b, sum(i8), sum(i8) FILTER (WHERE i8 < 0), sum(DISTINCT i8), avg(i8 % 1000), "
    "sum(i8) FILTER (WHERE i8 IS NULL), sum(i4), avg(i2) FROM scalars GROUP BY b",
    "SELECT i4 > 0, sum(CASE WHEN id % 2 = 0 THEN 9223372036854775807 ELSE -9223372036854775807 - 1 END), "
    "sum(-9223372036854775807 - 1), sum(9223372036854775807), sum(4294967296), sum(-1::int8) FROM scalars GROUP BY 1",
    "SELECT s LIKE 'a%', s LIKE '%a', s LIKE '%a%', s LIKE '_', s LIKE '%', s LIKE '', s NOT LIKE '%_%_%', "
    "s LIKE '%!%%' ESCAPE '!', s LIKE '%\\_%', s LIKE 'a!b%' ESCAPE '!', s LIKE '%é_', s LIKE '%.%', s LIKE '%\\\\%', "
    "s LIKE '\\a%' ESCAPE '', count(*) FROM scalars GROUP BY 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14",
    "SELECT count(DISTINCT (b, i4)), array_agg(DISTINCT i4), string_agg(DISTINCT s, '' ORDER BY s) FROM scalars",
    "SELECT id FROM scalars WHERE i8 NOT IN (SELECT i4 FROM scalars WHERE i4 > 1000) ORDER BY id LIMIT 99",
    "SELECT id FROM scalars WHERE f >= ALL (SELECT f FROM edge WHERE f > 0)",
    "SELECT id, sum(i4) OVER (PARTITION BY b ORDER BY id), lag(s, 2) OVER (ORDER BY id) FROM scalars WHERE i4 > 0",
)


@pytest.mark.parametrize("sql", EDGES)
def test_edges_are_those_of_postgresql(session: Session, on_cluster: ClusterSubject, sql: str) -> None:
    """NULLs, NaN, signs of zero, limits of integers, times before 1970, line ends, letters with several cases."""
    finding = judge(session.reference.run(sql), on_cluster.run(sql), ordered=False)

    assert finding.verdict is Verdict.PASS, finding.reason
