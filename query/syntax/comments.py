"""Comments as blanks: PostgreSQL takes them for white space, sqlglot not within keywords of two words (`ORDER BY`).

PostgreSQL documentation, "Lexical Structure": block comments nest, and no quotation has any.
"""

import re
from typing import Final

_PIECE: Final = re.compile(
    r"(?<![\w$])[eE]'(?:[^'\\]|\\.|'')*'|'(?:[^']|'')*'"  # texts
    r'|"(?:[^"]|"")*"'
    r"|(?<![\w$])(?P<tag>\$(?:[^\W\d]\w*)?\$)"
    r"|(?P<open>['\"])"
    r"|(?P<line>--[^\r\n]*)"
    r"|(?P<block>/\*)",
    re.DOTALL,
)
_EDGE: Final = re.compile(r"/\*|\*/")
_BLANKED: Final = re.compile(r"[^\r\n]")


def without_comments(sql: str) -> str:
    """The statement with blanks in the place of comments, so that everything else stands where it stood.

    A comment or quotation that does not end stays as it is.

    >>> without_comments("SELECT 1 -- one")
    'SELECT 1       '
    """
    if "--" not in sql and "/*" not in sql:
        return sql
    parts, copied, at = [], 0, 0
    while (piece := _PIECE.search(sql, at)) and (end := _end(sql, piece)) is not None:
        at = end
        if piece["line"] is not None or piece["block"] is not None:
            parts += [sql[copied : piece.start()], _BLANKED.sub(" ", sql[piece.start() : at])]
            copied = at
    return "".join([*parts, sql[copied:]])


def _end(sql: str, piece: re.Match[str]) -> int | None:
    """Where the quotation or comment ends that begins with the piece; None: nowhere."""
    if piece["open"] is not None:
        return None
    if piece["tag"] is not None:
        closing = sql.find(piece["tag"], piece.end())
        return None if closing < 0 else closing + len(piece["tag"])
    return piece.end() if piece["block"] is None else _end_of_block(sql, piece.end())


def _end_of_block(sql: str, at: int) -> int | None:
    """Where the block comment that has begun before `at` ends."""
    depth = 1
    while depth:
        edge = _EDGE.search(sql, at)
        if edge is None:
            return None
        depth += 1 if edge[0] == "/*" else -1
        at = edge.end()
    return at
