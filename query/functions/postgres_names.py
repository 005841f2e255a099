"""The names of PostgreSQL's own functions: what we lack of them is refused, what it lacks itself is an error."""

from functools import cache
from pathlib import Path
from typing import Final

PARTLY_KNOWN: Final = frozenset(
    (
        *("to_char", "quote_literal", "quote_nullable", "regexp_substr", "regexp_instr", "regexp_count", "#-", "->"),
        *("regexp_replace", "regexp_like", "width_bucket", "generate_series", "jsonb_set", "date_trunc", "age"),
        *("regexp_split_to_array", "string_to_array", "encode", "decode", "length", "make_interval", "extract"),
    )
)
"""Functions of which PostgreSQL has more forms than we: another form is refused, not called unknown."""

_NAMES: Final = Path(__file__).with_name("postgresql_names.txt")


@cache
def postgresql_functions() -> frozenset[str]:
    """Names of PostgreSQL 18's built-in functions, without those that only implement types and operators."""
    return frozenset(_NAMES.read_text("ascii").split())
