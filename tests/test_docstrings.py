"""The examples in the docstrings of the product say what the code does."""

import doctest
import importlib

import pytest

from tests.test_layering import FILES, ROOT

WITH_EXAMPLES = [path for path in FILES if ">>> " in path.read_text("utf-8")]


@pytest.mark.parametrize("path", WITH_EXAMPLES, ids=lambda path: str(path.relative_to(ROOT)))
def test_examples_of_the_module_are_true(path):
    module = importlib.import_module(".".join(path.relative_to(ROOT).with_suffix("").parts))

    outcome = doctest.testmod(module)

    assert outcome.attempted
    assert not outcome.failed
