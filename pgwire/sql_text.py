"""The text of a query within the statement around it: after DECLARE ... FOR, PREPARE ... AS, and in COPY's brackets.

Only for statements that PostgreSQL's parser has taken.
"""

import re
from typing import Final

_SPACE: Final = r"(?:\s|--[^\n]*(?:\n|$)|/\*.*?\*/)"
_NAME: Final = r'(?:"(?:[^"]|"")*"|[^\s"(;]+)'
_TYPES: Final = r"\((?:[^()]|\([^()]*\))*\)"
_DECLARE: Final = re.compile(
    rf"{_SPACE}*declare{_SPACE}+{_NAME}{_SPACE}+(?:[a-z]+{_SPACE}+)*?cursor{_SPACE}+"
    rf"(?:with(?:out)?{_SPACE}+hold{_SPACE}+)?for\b",
    re.IGNORECASE | re.DOTALL,
)
_PREPARE: Final = re.compile(
    rf"{_SPACE}*prepare{_SPACE}+{_NAME}{_SPACE}*(?:{_TYPES})?{_SPACE}*as\b", re.IGNORECASE | re.DOTALL
)
# What a bracket may stand in without being one.
_TOKEN: Final = re.compile(
    r"""[eE]'(?:[^'\\]|\\.|'')*'|'(?:[^']|'')*'|"(?:[^"]|"")*"|\$(\w*)\$.*?\$\1\$|--[^\n]*|/\*.*?\*/|[()]""", re.DOTALL
)


def declared_query(sql: str) -> str | None:
    """The query of a DECLARE, behind as many blanks as stood before it, so that places in it stay what they were."""
    return _rest(_DECLARE.match(sql), sql)


def prepared_query(sql: str) -> str | None:
    """The query of a PREPARE, likewise."""
    return _rest(_PREPARE.match(sql), sql)


def _rest(match: re.Match[str] | None, sql: str) -> str | None:
    return None if match is None else " " * match.end() + sql[match.end() :]


def copied_query(sql: str) -> str | None:
    """The query in the first brackets of a COPY, likewise."""
    depth, start = 0, 0
    for token in _TOKEN.finditer(sql):
        if token[0] == "(":
            start = start or token.end()
            depth += 1
        elif token[0] == ")":
            depth -= 1
            if not depth:
                return " " * start + sql[start : token.start()]
    return None


def quoted(name: str) -> str:
    """A name as an identifier: its quotation marks are doubled."""
    return '"' + name.replace('"', '""') + '"'
