"""The manual is complete: settings, error codes and generated pages."""

import inspect
from dataclasses import fields
from pathlib import Path

import pytest

import errors
from config import Settings, variable
from docs import generate

DOCS = Path(__file__).parent.parent / "docs"


@pytest.mark.parametrize("name", [variable(each.name) for each in fields(Settings)])
def test_setting_is_documented(name: str):
    assert f"| `{name}` |" in (DOCS / "configuration.md").read_text("utf-8")


@pytest.mark.parametrize("page", sorted(generate.pages()), ids=lambda page: page.name)
def test_generated_part_is_fresh(page: Path):
    """`make docs` writes it."""
    assert page.read_text("utf-8") == generate.pages()[page]


def test_every_error_has_a_sentence_and_a_code_of_its_own():
    leaves = [each for _, each in inspect.getmembers(errors, inspect.isclass) if issubclass(each, errors.WeirError)]

    assert [each.__name__ for each in leaves if "code" not in vars(each) or not vars(each).get("__doc__")] == []
    assert len({each.code for each in leaves}) == len(leaves)
