"""PromQL by cases of our own, which are always there: tests/promql/cases."""

from pathlib import Path

import pytest

from tests.promql.promqltest import run_file

CASES = sorted((Path(__file__).parent / "cases").glob("*.test"))


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.stem)
def test_case_is_answered_as_it_says(path: Path):
    outcome = run_file(path)

    assert (outcome.differing, dict(outcome.refused)) == ([], {})
    assert outcome.equal > 0
