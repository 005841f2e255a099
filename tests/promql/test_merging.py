"""Samples of several places as one: each series in the order of time, as if they had come from one place."""

import numpy as np
import pytest

from promql.histogram import Histogram
from promql.labels import labels_of
from promql.merging import merged
from promql.series import Samples
from promql.tree import Matcher
from tests.promql.memory_source import STALE, MemorySource

EVERY = (Matcher("__name__", "=~", ".+"),)


def samples(*points: tuple[str, int, float | str]) -> Samples:
    source = MemorySource()
    for name, time, value in points:
        source.add(labels_of({"__name__": "up", "job": name}), time, value)
    return source.select(EVERY, -(10**9), 10**9)


def points(found: Samples | None) -> list[tuple[str, int, float | str]]:
    assert found is not None
    jobs = [dict(found.labels[row])["job"] for row in found.series_index.tolist()]
    stale = np.zeros(len(jobs), dtype=np.bool_) if found.stale is None else found.stale
    values = [STALE if gone else value for gone, value in zip(stale.tolist(), found.values.tolist(), strict=True)]
    return list(zip(jobs, found.times.tolist(), values, strict=True))


@pytest.mark.parametrize("seed", range(20))
def test_parts_are_as_one(seed: int) -> None:
    draw = np.random.default_rng(seed)
    every = [(f"j{draw.integers(6)}", int(time), float(draw.integers(9))) for time in draw.permutation(60)]
    parts = [samples(*every[first : first + 15]) for first in range(0, 60, 15)]

    assert points(merged(parts)) == points(samples(*every)) == sorted(every)


def test_parts_that_follow_each_other_and_have_the_same_series() -> None:
    parts = samples(("a", 3, 4.0), ("b", 4, 5.0)), samples(("a", 1, 1.0), ("a", 2, 2.0), ("b", 1, 3.0))

    assert points(merged(parts)) == [("a", 1, 1.0), ("a", 2, 2.0), ("a", 3, 4.0), ("b", 1, 3.0), ("b", 4, 5.0)]


def test_staleness_stays_with_its_sample() -> None:
    parts = samples(("a", 1, 1.0)), samples(("a", 2, STALE), ("b", 1, 2.0))

    assert points(merged(parts)) == [("a", 1, 1.0), ("a", 2, STALE), ("b", 1, 2.0)]


def test_two_samples_of_one_time_are_no_matter_of_merging() -> None:
    """Section 7 of the contract: the first acknowledged counts, and samples do not tell which that was."""
    assert merged([samples(("a", 1, 1.0)), samples(("a", 1, 2.0))]) is None


def test_native_histograms_are_not_merged() -> None:
    native = MemorySource()
    native.add(labels_of({"__name__": "up", "job": "a"}), 1, Histogram(count=1.0, sum=1.0))

    assert merged([native.select(EVERY, 0, 9), samples(("a", 2, 2.0))]) is None


def test_nothing_and_something_is_something() -> None:
    assert points(merged([samples(), samples(("a", 1, 1.0)), samples()])) == [("a", 1, 1.0)]
    assert points(merged([samples(), samples()])) == []


def test_samples_between_times_with_the_series_that_have_any() -> None:
    every = samples(("a", 1, 1.0), ("a", 5, 2.0), ("b", 9, 3.0), ("c", 5, 4.0))

    assert points(every.between(2, 8)) == [("a", 5, 2.0), ("c", 5, 4.0)]
    assert [dict(each)["job"] for each in every.between(2, 8).labels] == ["a", "c"]
    assert points(every.between(1, 9)) == points(every)
    assert points(every.between(2, 3)) == []
