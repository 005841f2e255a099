"""docs/sql.md is generated from the registry that the compiler uses."""

from itertools import chain

import pytest

from query.functions.registry import AGGREGATES, REGISTRY, SYNTAX, WINDOW_FUNCTIONS, aggregate, syntax
from query.reference import PAGE, Example, example_of, examples, page, tables
from query.syntax.allowlist import ALLOWED
from tests.sql_examples import answer

ROWS = [row for rows in tables().values() for row in rows]


def test_the_page_is_what_the_registry_says() -> None:
    assert PAGE.read_text("utf-8") == page(), "run: python -m query.reference"


def test_every_row_has_an_example() -> None:
    assert [row.forms[0] for row in ROWS if example_of(row) is None] == []


def test_every_example_stands_in_the_page() -> None:
    shown = {example.form for row in ROWS if (example := example_of(row))}

    assert [form for form in examples() if form not in shown] == []


@pytest.mark.parametrize("example", examples().values(), ids=lambda example: example.form)
def test_example_has_the_answer_that_the_page_shows(example: Example) -> None:
    """`python -m tests.sql_examples` writes the answers."""
    assert answer(example) == example.rows


def test_every_example_calls_its_function() -> None:
    shown = [(row.name, example.sql) for row in ROWS if (example := example_of(row))]

    assert [(name, sql) for name, sql in shown if name not in sql] == []


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
