"""The functions and operators of PostgreSQL itself: what we lack of them is refused, what it lacks is an error.

`postgresql_forms.txt` has a line for each name, with the types of each form's arguments: `-` none, `...` repeated,
`=2` two that may be left out. From pg_proc and pg_operator of PostgreSQL 18.
"""

import re
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Final

from query.pg.types import SIMPLE, PgType, array_of, implicit

_FORMS: Final = Path(__file__).with_name("postgresql_forms.txt")
_BY_GRAMMAR: Final = (
    *("json_value", "json_query", "json_exists", "json_table", "json_scalar", "json_serialize", "json_array"),
    *("json_objectagg", "json_arrayagg", "xmlelement", "xmlforest", "xmlconcat", "xmlparse", "xmlexists", "xmltable"),
)
"""Functions that PostgreSQL's grammar knows and no catalogue has."""
_FORM: Final = re.compile(r"(.*?)(\.\.\.)?(?:=(\d+))?")
_ANY: Final = ("any", "anyelement", "anycompatible")
_SCALARS: Final = ("anynonarray", "anycompatiblenonarray")
_ARRAYS: Final = ("anyarray", "anycompatiblearray")


@cache
def postgresql_functions() -> frozenset[str]:
    """Names of PostgreSQL 18's built-in functions and operators."""
    return frozenset((*_forms(), *_BY_GRAMMAR))


@cache
def _forms() -> dict[str, list[str]]:
    lines = (line.split() for line in _FORMS.read_text("ascii").splitlines())
    return {name: forms for name, *forms in lines}


def has_form(name: str, pg_types: Sequence[PgType]) -> bool:
    """True if PostgreSQL has a function or an operator of this name for arguments of these types.

    >>> has_form("md5", [SIMPLE["bytea"]]), has_form("md5", [SIMPLE["int4"]])
    (True, False)
    """
    return any(_accepts(form, pg_types) for form in _forms().get(name, ()))


def _accepts(form: str, pg_types: Sequence[PgType]) -> bool:
    match = _FORM.fullmatch(form)
    listed, repeats, defaults = match.groups() if match is not None else (form, None, None)
    words = [] if listed == "-" else listed.split(",")
    least, most = len(words) - int(defaults or 0), len(pg_types) if repeats else len(words)
    if not (len(words) if repeats else least) <= len(pg_types) <= most:
        return False
    return all(_takes(words[min(index, len(words) - 1)], pg_type) for index, pg_type in enumerate(pg_types))


def _takes(word: str, pg_type: PgType) -> bool:
    if pg_type.name == "unknown" or word in _ANY:
        return True
    if word in _SCALARS:
        return pg_type.element is None
    if word in _ARRAYS:
        return pg_type.element is not None
    named = _named(word)
    return named is not None and implicit(pg_type, named)


def _named(word: str) -> PgType | None:
    if word.endswith("[]"):
        element = _named(word[:-2])
        return None if element is None else array_of(element)
    return SIMPLE.get(word)
