"""Where operators and constants stand in the statement: sqlglot keeps the places of names and literals only.

Its parser looks up how to build a node at the moment when it has read the operator's token, so the tables that it looks
into note that token.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final

from sqlglot import exp
from sqlglot.tokenizer_core import Token, TokenType

OPERATOR: Final = "operator"
START: Final = "start"
DEFINITION: Final = "definition"
BRACKETED: Final = "bracketed"

Build = Callable[..., Any]


def position_of(node: exp.Expr) -> int | None:
    """The place of a node in the statement: its own, else its first part that has one. Counts from 1."""
    first, pending = None, [node]
    while pending:
        part = pending.pop()
        start = part.meta.get("start")
        first = start if first is None or (start is not None and start < first) else first
        pending.extend(part.iter_expressions())
    return None if first is None else first + 1


def operator_of(node: exp.Expr) -> int | None:
    """The place of a node's operator, from 1; None for a node without one."""
    start = node.meta.get(OPERATOR)
    return None if start is None else int(start) + 1


def definition_of(window: exp.Expr) -> int | None:
    """The place of what stands behind OVER, or of a named window's definition, from 1."""
    start = window.meta.get(DEFINITION)
    return None if start is None else int(start) + 1


class Placing(dict[TokenType, Any]):
    """A parser's table by token whose entries mark what they build with the place of the token, read by `token`.

    Where the parser asks with `get`, it has not read the token yet: it is read by `coming`, if that is given.
    """

    def __init__(
        self,
        entries: Mapping[TokenType, Any],
        token: Callable[[], Token],
        mark: str = OPERATOR,
        coming: Callable[[], Token] | None = None,
    ) -> None:
        super().__init__(entries)
        self._token = token
        self._mark = mark
        self._coming = coming

    def __getitem__(self, kind: TokenType) -> Any:
        build = super().__getitem__(kind)
        return None if build is None else _marking(build, self._token().start, self._mark)

    def get(self, kind: TokenType, default: Any = None) -> Any:
        build = super().get(kind, default)
        return build if build is None or self._coming is None else _marking(build, self._coming().start, self._mark)


def _marking(build: Build, start: int, mark: str) -> Build:
    def made(*args: Any, **options: Any) -> Any:
        return marked(build(*args, **options), start, mark)

    return made


def marked(node: Any, start: int, mark: str) -> Any:
    """The node with its place, and so the operator that it negates or escapes; one that has a place keeps it."""
    inner = node
    while isinstance(inner, exp.Expr) and mark not in inner.meta:
        inner.meta[mark] = start
        inner = inner.this if mark == OPERATOR and isinstance(inner, exp.Not | exp.Escape | exp.Paren) else None
    return node
