"""Prometheus' own tests of its language; PROMQLTEST_DIR names its promql/promqltest/testdata."""

import os
from pathlib import Path

import pytest

from tests.promql.promqltest import run_file

_DIRECTORY = os.environ.get("PROMQLTEST_DIR", "")
_FILES = sorted(Path(_DIRECTORY).glob("*.test")) if _DIRECTORY else []


@pytest.mark.skipif(not _FILES, reason="PROMQLTEST_DIR names no directory of promqltest files")
@pytest.mark.parametrize("path", _FILES or [Path("none.test")], ids=lambda path: path.stem)
def test_file_of_promqltest_is_answered_as_upstream_answers_it(path: Path):
    outcome = run_file(path)

    assert outcome.differing == []
