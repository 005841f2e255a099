"""The generator and its minimiser: the same seed gives the same query, and a failure is cut down to what shows it."""

from tests.oracle.harness.generate import generate
from tests.oracle.harness.minimise import minimise
from tests.oracle.harness.tree import EMPTY, Node, fill, sequence, smaller, text


def test_a_seed_stands_for_one_query() -> None:
    assert [generate(seed).sql for seed in range(50)] == [generate(seed).sql for seed in range(50)]


def test_seeds_give_different_queries() -> None:
    assert len({generate(seed).sql for seed in range(200)}) == 200


def test_a_labelled_hole_takes_one_node_for_all_its_places() -> None:
    numbers = iter("123")

    node = fill("text", "f({text:a}, {text:a}, {int4})", lambda kind: text(kind, next(numbers)))

    assert node.sql() == "f(1, 1, 2)"


def test_cuts_drop_clauses_items_and_operands() -> None:
    items = sequence([text("int4", "a"), text("int4", "b")])
    where = Node("optional", (" WHERE ", 0), (text("bool", "c"),))
    query = Node("query", ("SELECT ", 0, 1), (items, where))

    cuts = {cut.sql() for cut in smaller(query, {"bool": "true"})}

    assert cuts == {"SELECT a WHERE c", "SELECT b WHERE c", "SELECT a, b", "SELECT a, b WHERE true"}


def test_an_empty_clause_is_not_cut_again() -> None:
    assert list(smaller(EMPTY, {})) == []


def test_minimised_query_still_shows_the_failure() -> None:
    """A fault of `upper` hides in generated queries of some size; what is left is little more than the call."""
    tree = next(made.tree for made in map(generate, range(500)) if "upper(" in made.sql and len(made.sql) > 500)

    small = minimise(tree, lambda candidate: "upper(" in candidate.sql())

    assert "upper(" in small.sql()
    assert len(small.sql()) < len(tree.sql()) / 3
