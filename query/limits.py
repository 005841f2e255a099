"""How large a statement may be. Checked on the bare text before parsing, so that no input can exhaust the parser."""

from typing import Final

from errors import InvalidSQL
from query.fault import PROGRAM_LIMIT, STATEMENT_TOO_COMPLEX, invalid

MAX_STATEMENT_CHARACTERS: Final = 100_000
"""sqlglot takes about a millisecond per hundred characters; longer statements come from generators, not people."""

MAX_NESTING: Final = 40
"""Open brackets at one place. Parser and binder recurse; Python's stack holds several times this."""

MAX_TOKENS: Final = 20_000
"""Bounds the parser's work for text that is all operators."""

MAX_REREAD: Final = 5
REREAD_ANYWAY: Final = 10_000
"""Tokens that the parser may go back over: so many for each of the statement's, and some more.

It goes back wherever one reading fails, people's statements up to twice over a token, and each such step takes about
20 us. Without a limit a few nested words could keep it for ever."""

MAX_CHAIN: Final = 400
"""Operators in one unbracketed chain (a + b + c ...): every one is a level of the tree."""

MAX_SELECT_ITEMS: Final = 1_664
"""PostgreSQL's own limit on the columns of a result."""

MAX_SERIES_ROWS: Final = 1_000_000
"""Rows that generate_series may make from constants: they are made in memory."""

MAX_TEXT_CHARACTERS: Final = 10_000_000
"""Characters that one call (repeat, lpad, rpad) may make from constants."""

MAX_RECURSION_ROUNDS: Final = 1_000
MAX_RECURSION_ROWS: Final = 1_000_000
"""WITH RECURSIVE is evaluated round by round when the statement is compiled; both bounds stop an endless one."""

MAX_GROUPING_SETS: Final = 64
"""Each set is an aggregation of its own. CUBE of six columns is 64."""

MAX_TREE_DEPTH: Final = 1_000
"""Levels of the parsed tree."""


def check_text(sql: str) -> None:
    """Refuses a statement that is too long, nests too deeply or holds a NUL."""
    if len(sql) > MAX_STATEMENT_CHARACTERS:
        raise invalid(
            PROGRAM_LIMIT, f"the statement has {len(sql)} characters; the limit is {MAX_STATEMENT_CHARACTERS}"
        )
    if "\0" in sql:
        raise invalid("22021", "the statement contains a NUL character", sql.index("\0") + 1)
    if not sql.strip():
        raise invalid("42601", "the statement is empty", 1)


MAX_COPIED: Final = 20_000
"""Nodes of an operand that an operator's meaning repeats (`a BETWEEN ...` is two comparisons of a)."""


def too_complex(position: int | None = None) -> InvalidSQL:
    """PostgreSQL's answer to a statement that would overflow its stack."""
    return invalid(STATEMENT_TOO_COMPLEX, "the statement nests too deeply", position, "use fewer levels or fewer terms")
