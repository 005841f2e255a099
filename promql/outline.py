"""The outline of an expression's text: where each operand and operator of the tree begins.

`promql-parser` gives a tree without positions, and does not know the newest operators. The outline has what is needed
to lay positions over that tree, and the text as the parser can read it.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Final, NamedTuple

from promql.fault import syntax_error

# Deeper trees would exhaust the parser's stack, which no handler can catch.
MOST_ITEMS: Final = 2_000
DEEPEST: Final = 100
LONGEST_TEXT: Final = 100_000

_TOKEN: Final = re.compile(
    r"""
    (?P<space>\s+|\#[^\n]*)
  | (?P<string>"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'|`[^`]*`)
  | (?P<number>0[xX][0-9a-fA-F_]+|(?:\d+(?:ms|[smhdwy]))+(?![\w.])|(?:\d[\d_]*\.?[\d_]*|\.\d[\d_]*)(?:[eE][+-]?[\d_]+)?)
  | (?P<name>[A-Za-z_:][\w:]*)
  | (?P<sign></|>/|==|=~|!=|!~|<=|>=|[-+*/%^<>=@(){}\[\],:])
    """,
    re.VERBOSE | re.ASCII | re.DOTALL,
)
_LISTS: Final = frozenset(
    {"by", "without", "on", "ignoring", "group_left", "group_right", "fill", "fill_left", "fill_right"}
)
_WORD_OPERATORS: Final = frozenset({"and", "or", "unless", "atan2"})
_OPERATORS: Final = frozenset({"</", ">/", "==", "!=", "<=", ">=", "<", ">", "+", "-", "*", "/", "%", "^"})
_FILLS: Final = frozenset({"fill", "fill_left", "fill_right"})
# The parser knows comparisons of the same precedence, of the same length.
_STAND_INS: Final = {"</": "< ", ">/": "> "}
# Stands in a selector that the parser would refuse as empty, and is taken out of the tree again.
MARKER: Final = "__weir_any__"


class Token(NamedTuple):
    kind: str
    text: str
    start: int


class Item(NamedTuple):
    """`kind`: number, string, selector, call, operator, minus, plus, paren or at."""

    kind: str
    text: str
    start: int


@dataclass
class Outline:
    """`text` is what the parser reads; `items` are in the order of the tree's traversal, positions of the original."""

    text: str
    items: list[Item] = field(default_factory=list)


def outline(text: str) -> Outline:
    """Raises InvalidPromQL for what is too long or too deep, or has a character that PromQL does not know."""
    if len(text) > LONGEST_TEXT:
        raise syntax_error(f"the expression has {len(text)} characters, at most {LONGEST_TEXT} are read", text, 0)
    scanner = _Scanner(text, [token for token in _tokens(text) if token.kind != "space"])
    scanner.run()
    return Outline(scanner.mended(), scanner.items)


def _tokens(text: str) -> Iterator[Token]:
    at = 0
    while at < len(text):
        found = _TOKEN.match(text, at)
        if found is None:
            raise syntax_error(f"unexpected character: {text[at]!r}", text, at)
        yield Token(str(found.lastgroup), found.group(), at)
        at = found.end()


class _Scanner:
    """Walks over the tokens; `_operand` says whether an operand is to come, which decides what a word means."""

    def __init__(self, text: str, tokens: list[Token]) -> None:
        self._text, self._tokens, self._next = text, tokens, 0
        self._operand = True
        self._calls: list[str] = []
        self._edits: list[tuple[int, int, str]] = []
        self.items: list[Item] = []

    def mended(self) -> str:
        text = self._text
        for start, end, replacement in sorted(self._edits, reverse=True):
            text = text[:start] + replacement + text[end:]
        return text

    def run(self) -> None:
        while self._next < len(self._tokens):
            token = self._take()
            if len(self.items) > MOST_ITEMS or len(self._calls) > DEEPEST:
                raise syntax_error("the expression is too complex", self._text, token.start)
            self._scan(token)

    def _take(self) -> Token:
        token = self._tokens[self._next]
        self._next += 1
        return token

    def _peek(self) -> str:
        return self._tokens[self._next].text if self._next < len(self._tokens) else ""

    def _emit(self, kind: str, token: Token, *, operand: bool) -> None:
        self.items.append(Item(kind, token.text, token.start))
        self._operand = operand

    def _scan(self, token: Token) -> None:
        match token.kind:
            case "number" | "string":
                self._emit(token.kind, token, operand=False)
            case "name":
                self._word(token)
            case _:
                self._sign(token)

    def _word(self, token: Token) -> None:
        word = token.text.lower()
        if not self._operand:
            self._after_operand(token, word)
        elif word == "bool":
            return
        elif self.items and self.items[-1].kind == "operator" and self._is_modifier(word):
            self._skip_list(word, token)
        elif self._peek() == "(" or (self._peek().lower() in ("by", "without") and self._is_grouped()):
            self._emit("call", token, operand=True)
            self._open_call(word)
        elif word in ("inf", "nan"):
            self._emit("number", token, operand=False)
        else:
            self._emit("selector", token, operand=False)
            self._braces()

    def _after_operand(self, token: Token, word: str) -> None:
        if word in _WORD_OPERATORS:
            self._emit("operator", token._replace(text=word), operand=True)
        elif word == "offset":
            self._skip_offset()
        elif word in ("anchored", "smoothed"):
            raise syntax_error(f"{word} modifier is experimental and not enabled", self._text, token.start)
        elif word in _LISTS:
            self._skip_list(word, token)

    def _is_modifier(self, word: str) -> bool:
        return word in ("group_left", "group_right") or (word in _LISTS and self._peek() == "(")

    def _is_grouped(self) -> bool:
        following = self._tokens[self._next + 1].text if self._next + 1 < len(self._tokens) else ""
        return following == "("

    def _open_call(self, word: str) -> None:
        if self._peek() != "(":
            self._skip_list(self._take().text.lower(), self._tokens[self._next - 1])
        if self._peek() == "(":
            self._take()
            self._calls.append(word)
        self._operand = True

    def _skip_list(self, word: str, token: Token) -> None:
        if word in _FILLS:
            raise syntax_error("binop fill modifiers are experimental and not enabled", self._text, token.start)
        if self._peek() == "(":
            self._skip_to(")")

    def _skip_offset(self) -> None:
        while self._peek() in ("-", "+"):
            self._take()
        if self._next < len(self._tokens):
            token = self._take()
            if token.kind == "name" or token.text == "(":
                raise syntax_error("experimental duration expression is not enabled", self._text, token.start)

    def _skip_to(self, close: str) -> None:
        while self._next < len(self._tokens) and self._take().text != close:
            continue

    def _sign(self, token: Token) -> None:
        match token.text:
            case "{" if self._operand:
                self._next -= 1
                self._emit("selector", token, operand=False)
                self._braces()
            case "(":
                self._emit("paren", token, operand=True)
                self._calls.append("")
            case ")":
                self._operand = False
                if self._calls:
                    self._calls.pop()
            case "[":
                self._duration_brackets()
            case ",":
                self._operand = True
            case "@":
                self._at(token)
            case "-" | "+" if self._operand:
                self._emit("minus" if token.text == "-" else "plus", token, operand=True)
            case _ if token.text in _OPERATORS:
                self._operator(token)

    def _operator(self, token: Token) -> None:
        if token.text in _STAND_INS:
            self._edits.append((token.start, token.start + 2, _STAND_INS[token.text]))
        self._emit("operator", token, operand=True)

    def _duration_brackets(self) -> None:
        inside = []
        while self._next < len(self._tokens) and self._peek() != "]":
            inside.append(self._take())
        if self._next < len(self._tokens):
            self._take()
        if any(token.text in ("+", "-", "*", "/", "%", "^", "(") for token in inside):
            raise syntax_error("experimental duration expression is not enabled", self._text, inside[0].start)

    def _at(self, token: Token) -> None:
        sign = ""
        while self._peek() in ("-", "+"):
            sign = "-" if self._take().text == "-" else ""
        value = self._take().text if self._next < len(self._tokens) else ""
        if self._peek() == "(":
            self._skip_to(")")
        self.items.append(Item("at", sign + value, token.start))

    def _braces(self) -> None:
        if self._peek() != "{":
            return
        opened = self._take().start
        depth_texts = []
        while self._next < len(self._tokens) and self._peek() != "}":
            depth_texts.append(self._take())
        self._refuse_alternatives(depth_texts)
        if self._calls and self._calls[-1] == "info":
            separator = "," if depth_texts else ""
            self._edits.append((opened + 1, opened + 1, f'{MARKER}="yes"{separator}'))
        if self._next < len(self._tokens):
            self._take()

    def _refuse_alternatives(self, tokens: list[Token]) -> None:
        for before, token in pairwise(tokens):
            if token.text.lower() == "or" and before.kind == "string":
                message = 'unexpected identifier "or" in label matching, expected "," or "}"'
                raise syntax_error(message, self._text, token.start)
