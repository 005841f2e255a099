"""docs/sql.md is generated from the registry that the compiler uses."""

from query.functions.registry import REGISTRY
from query.reference import PAGE, page


def test_the_page_is_what_the_registry_says() -> None:
    assert PAGE.read_text("utf-8") == page(), "run: python -m query.reference"


def test_every_function_has_a_meaning() -> None:
    assert [function.key for function in REGISTRY.all() if not function.summary.endswith(".")] == []
