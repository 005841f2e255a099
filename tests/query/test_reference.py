"""docs/sql.md is generated from the registry that the compiler uses."""

from itertools import chain

import pytest

from query.functions.registry import AGGREGATES, REGISTRY, SYNTAX, WINDOW_FUNCTIONS, aggregate, syntax
from query.reference import PAGE, page
from query.syntax.allowlist import ALLOWED


def test_the_page_is_what_the_registry_says() -> None:
    assert PAGE.read_text("utf-8") == page(), "run: python -m query.reference"


def test_every_function_has_a_meaning() -> None:
    entries = [*REGISTRY.all(), *chain(*AGGREGATES.values()), *chain(*WINDOW_FUNCTIONS.values())]
    entries += [construct for construct in SYNTAX.values() if construct.form]

    assert [entry for entry in entries if not entry.summary.endswith(".")] == []


def test_every_registered_node_may_stand_in_a_statement() -> None:
    """A binder of a node that the allow-list refuses would never be asked."""
    assert {key for key in SYNTAX if isinstance(key, type)} - ALLOWED.keys() == set()


def test_a_construct_has_one_binder() -> None:
    with pytest.raises(ValueError, match="registered twice"):
        syntax("coalesce")(lambda node, block: None)


def test_a_signature_that_is_none_is_refused() -> None:
    with pytest.raises(ValueError, match="bad signature"):
        aggregate("sum int4", "Sum.")(lambda inputs: None)
