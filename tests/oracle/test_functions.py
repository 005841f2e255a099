"""Every function of the registry against PostgreSQL, with NULL and the edges of its types at every place.

What a function answers, its type and its SQLSTATE are PostgreSQL's, or it is refused (api.md section 5).
"""

import psycopg
import pytest

from query.functions.registry import REGISTRY, Function
from tests.oracle.harness import functions
from tests.oracle.harness.session import Session

ROWS = 8
CONSTANTS = 2
SAME_TYPES = {
    "any": {"any", '"any"'},
    "anyarray": {"anyarray", "anycompatiblearray"},
    "anyelement": {"anyelement", "anycompatible"},
    "anynonarray": {"anynonarray", "anycompatiblenonarray"},
}
CATALOG = """
SELECT name, proisstrict, ARRAY(SELECT typname FROM unnest(types) WITH ORDINALITY AS u (o, n)
                                JOIN pg_type ON pg_type.oid = o ORDER BY n)
FROM (SELECT proname AS name, proisstrict, proargtypes AS types FROM pg_proc
      UNION ALL SELECT oprname, proisstrict, proargtypes FROM pg_operator JOIN pg_proc p ON p.oid = oprcode) AS f
"""


@pytest.mark.parametrize("function", functions.callables(), ids=lambda function: function.key)
def test_function_answers_as_postgresql_does(session: Session, function: Function) -> None:
    found = functions.check(session, function, ROWS, CONSTANTS)

    assert not found, "\n".join(found[:10])


def test_functions_are_strict_where_those_of_postgresql_are(postgres: str) -> None:
    """The registry's flag against pg_proc.proisstrict, for every function that has one of the same types there."""
    with psycopg.connect(postgres) as connection:
        catalog = connection.execute(CATALOG).fetchall()

    strict = {
        function.key: flag
        for function in REGISTRY.all()
        for name, flag, types in catalog
        if name == function.name and _has_types(function, types)
    }
    different = [key for key, flag in strict.items() if REGISTRY.get(key).strict is not flag]

    assert different == []
    assert len(strict) > 300


def _has_types(function: Function, types: list[str]) -> bool:
    words = [parameter.type for parameter in function.parameters]
    return len(words) == len(types) and all(map(_is_type, words, types))


def _is_type(word: str, name: str) -> bool:
    return name in SAME_TYPES.get(word, {word}) or (word.endswith("[]") and name == f"_{word[:-2]}")
