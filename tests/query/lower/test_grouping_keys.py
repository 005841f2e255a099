"""Rows that count as equal though their values differ in form (api.md section 5: PostgreSQL's answers)."""

from datetime import UTC, datetime

import pytest

from query.engine import compile

INTERVALS = "(VALUES (interval '1 mon', 1), (interval '30 days', 2), (interval '2 days', 3)) t(i, n)"
DOCUMENTS = "(VALUES ('{\"a\": 1}'::jsonb, 1), ('{\"a\":1.0}', 2), ('[]', 3)) t(i, n)"


def count(query: str) -> int:
    (rows,) = compile(query, {}, now=datetime(2025, 1, 1, tzinfo=UTC)).collect().row(0)
    return int(rows)


@pytest.mark.parametrize("source", [INTERVALS, DOCUMENTS], ids=["interval", "jsonb"])
@pytest.mark.parametrize(
    "query",
    [
        "SELECT count(*) FROM (SELECT DISTINCT i FROM {}) s",
        "SELECT count(*) FROM (SELECT i FROM {} GROUP BY i) s",
        "SELECT count(DISTINCT i) FROM {}",
        "SELECT count(*) FROM (SELECT i FROM {0} UNION SELECT i FROM {0}) s",
        "SELECT count(*) FROM (SELECT i FROM {0} INTERSECT SELECT i FROM {0}) s",
        "SELECT max(r) FROM (SELECT dense_rank() OVER (ORDER BY i) AS r FROM {}) s",
        "SELECT count(*) - 3 FROM {0} JOIN (SELECT i AS j FROM {0}) u ON i = j",
        "SELECT count(*) FROM (SELECT DISTINCT ON (i) i, n FROM {} ORDER BY i, n) s",
    ],
)
def test_equal_values_of_different_form_are_one(query: str, source: str) -> None:
    assert count(query.format(source)) == 2
