"""What is computed for many series at once equals what is computed for one after another."""

import math

import numpy as np
import pytest

from promql import aggregate
from promql.aggregate import aggregated, group
from promql.annotations import Annotations
from promql.labels import labels_of
from promql.ranking import ranked
from promql.series import Matrix


def matrix(seed: int, rows: int = 40, steps: int = 25, *, ties: bool = False) -> Matrix:
    draw = np.random.default_rng(seed)
    values = draw.normal(size=(rows, steps)) * 10.0 ** draw.integers(-9, 9, (rows, steps))
    if ties:
        values = draw.choice([1.0, 2.0, 3.0, np.nan, np.inf, -np.inf, -0.0, 0.0], (rows, steps))
    labels = [labels_of({"job": f"j{row % 3}", "instance": f"{row:03}"}) for row in range(rows)]
    return Matrix(labels, values, draw.random((rows, steps)) < 0.8)


@pytest.mark.parametrize("grouping", [(), ("job",)])
@pytest.mark.parametrize("operation", ["sum", "avg"])
@pytest.mark.parametrize("seed", range(5))
def test_sums_of_many_are_those_term_by_term(monkeypatch, seed, operation, grouping):
    found = matrix(seed, rows=67)
    groups = group(found.labels, grouping, is_without=False)

    paired = aggregated(operation, found, groups, None, Annotations(), 0)
    monkeypatch.setattr(aggregate, "_MANY", 10**9)
    in_order = aggregated(operation, found, groups, None, Annotations(), 0)

    assert np.array_equal(paired.present, in_order.present)
    there = paired.present
    np.testing.assert_allclose(paired.values[there], in_order.values[there], rtol=1e-14)


def test_sum_of_many_is_exact_where_terms_cancel():
    terms = np.array([1e16, 1.0, -1e16, 1.0] * 30)
    found = Matrix([labels_of({"n": f"{n}"}) for n in range(120)], terms[:, None], np.ones((120, 1), dtype=np.bool_))

    total = aggregated("sum", found, group(found.labels, (), is_without=False), None, Annotations(), 0)

    assert total.values.item() == math.fsum(terms) == 60.0


@pytest.mark.parametrize("value", [np.nan, np.inf, 1e308])
def test_sum_of_many_with_what_is_no_plain_number(value):
    values = np.full((40, 1), value)
    found = Matrix([labels_of({"n": f"{n}"}) for n in range(40)], values, np.ones((40, 1), dtype=np.bool_))

    total = aggregated("sum", found, group(found.labels, (), is_without=False), None, Annotations(), 0)

    assert np.array_equal(total.values, [[value * 40]], equal_nan=True)


@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize("grouping", [(), ("job",)])
@pytest.mark.parametrize("operation", ["topk", "bottomk"])
def test_greatest_over_a_range_are_those_of_each_instant(operation, grouping, ties):
    found = matrix(3, ties=ties)
    groups = group(found.labels, grouping, is_without=False)
    k = np.arange(25, dtype=np.float64) % 16 - 1

    over_range = ranked(operation, found, groups, k, Annotations(), (0, 0))

    kept = {labels: over_range.present[row] for row, labels in enumerate(over_range.labels)}
    for step in range(25):
        instant = Matrix(found.labels, found.values[:, [step]], found.present[:, [step]])
        once = ranked(operation, instant.without_empty(), group_of(instant, grouping), k[[step]], Annotations(), (0, 0))
        assert set(once.labels) == {labels for labels, there in kept.items() if there[step]}


def group_of(instant: Matrix, grouping: tuple[str, ...]) -> aggregate.Groups:
    return group(instant.without_empty().labels, grouping, is_without=False)
