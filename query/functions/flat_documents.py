"""Members of JSON documents without objects in them, which most attributes of logs and spans are, without parsing.

A document that has one brace, no backslash, and the key's name once in quotes, has the member where the name stands
before a colon, and nowhere else. What is not so simple is parsed (json_members.py).
"""

import re
from collections.abc import Callable
from typing import Final

import polars as pl

_PLAIN_KEY: Final = re.compile(r"[^\"\\\x00-\x1f{]+")
# A number that jsonb shows as it is written, too: no exponent, no negative zero, and no more digits than are exact.
_VALUE: Final = r'\s*:\s*(?:"([^"]*)"|((?:0|-?[1-9][0-9]{0,15})(?:\.[0-9]{1,15})?|true|false)\s*[,}]|(null)\s*[,}])'

Slow = Callable[[pl.Expr, pl.Expr], pl.Expr]


def flat_member(value: pl.Expr, name: object, parsed: Slow, key: pl.Expr, *, as_text: bool) -> pl.Expr:
    """The members that the documents have under the key, whose `name` is the same for all or None: as ->> gives them,
    or with `as_text` False as ->. Documents that have to be parsed are given to `parsed`."""
    if not isinstance(name, str) or not _PLAIN_KEY.fullmatch(name):
        return parsed(value, key)
    quoted = f'"{name}"'
    found = value.str.extract_groups(re.escape(quoted) + _VALUE)
    string, other, null = (found.struct.field(str(number)) for number in (1, 2, 3))
    count = value.str.count_matches(quoted, literal=True)
    has_no_escapes = ~value.str.contains("\\", literal=True)
    is_flat = value.str.starts_with("{") & (value.str.count_matches("{", literal=True) == 1)
    is_there = is_flat & (count == 1) & (string.is_not_null() | other.is_not_null() | null.is_not_null())
    is_known = has_no_escapes & (is_there | (count == 0))
    result = pl.coalesce(string, other) if as_text else pl.coalesce(pl.lit('"') + string + pl.lit('"'), other, null)
    return pl.when(is_known).then(result).otherwise(parsed(pl.when(~is_known).then(value), key))
