"""`$1,$2` as two placeholders. sqlglot takes `$1,$` for the beginning of a quoted text, of which PostgreSQL allows no
tag that begins with a digit (PostgreSQL documentation, "Dollar-Quoted String Constants").

A blank behind each placeholder tells it otherwise; the tokens get back the places that they have without.
"""

import re
from bisect import bisect_left
from typing import Final

from sqlglot.tokenizer_core import Token

from query.syntax.dialect import WeirPostgres

_QUOTED: Final = re.compile(
    r"""[eE]'(?:[^'\\]|\\.|'')*'|'(?:[^']|'')*'|"(?:[^"]|"")*"|\$([^\W\d]\w*)?\$.*?\$\1\$|--[^\n]*|/\*.*?\*/"""
    r"""|(?<![\w$])\$\d+(?=[^\s\w])""",
    re.DOTALL,
)


def tokenize(dialect: WeirPostgres, sql: str) -> list[Token]:
    """The tokens of a statement, with their places in it. Raises sqlglot's TokenError."""
    ends = [match.end() for match in _QUOTED.finditer(sql) if match[0][:1] == "$" and match[0][1:].isdigit()]
    if not ends:
        return dialect.tokenize(sql)
    parts = [sql[start:end] for start, end in zip([0, *ends], [*ends, len(sql)], strict=True)]
    tokens = dialect.tokenize(" ".join(parts))
    blanks = [end + number for number, end in enumerate(ends)]
    for token in tokens:
        before = bisect_left(blanks, token.start)
        line_start = sql.rfind("\n", 0, token.start - before) + 1
        token.col -= before - bisect_left(ends, line_start)
        token.start -= before
        token.end -= bisect_left(blanks, token.end)
    return tokens
