"""One reading of a statement: what is authorized is what is run, however the text is written.

Only the tree of `parse` is ever authorized, bound and run; no text of the user's is rendered and read again. Should two
readings of one text ever differ, rendering a tree and reading the result would show it.
"""

import json
from pathlib import Path

import pytest

from errors import WeirError
from query.syntax.dialect import WeirPostgres
from query.syntax.parse import Statement, parse

CORPUS = sorted((Path(__file__).parent.parent / "oracle" / "corpus").glob("*.jsonl"))


def _statements(path: Path) -> list[Statement]:
    found = []
    for line in path.read_text("utf-8").splitlines():
        try:
            found.append(parse(json.loads(line)["sql"]))
        except WeirError:
            continue
    return found


@pytest.mark.parametrize("path", CORPUS, ids=lambda path: path.stem)
def test_a_rendered_tree_is_read_as_the_same_statement(path: Path):
    for statement in _statements(path):
        try:
            again = parse(statement.tree.sql(dialect=WeirPostgres()))
        except WeirError:
            # The renderer writes some things as this dialect does not take them; then there is no second reading.
            continue

        assert again.datasets == statement.datasets
        assert _rendered(again) == _rendered(statement)


def _rendered(statement: Statement) -> str:
    """Without white space, which the renderer puts before some brackets and not before others."""
    return "".join(statement.tree.sql(dialect=WeirPostgres()).split())
