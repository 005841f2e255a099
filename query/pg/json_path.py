"""SQL/JSON path expressions as a tree. Source: PostgreSQL documentation, "The SQL/JSON Path Language"."""

import json
import re
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Final

from query import fault
from query.pg.bad_values import BadLiteral, UnsupportedLiteral

_TOKEN: Final = re.compile(
    r"\s*(?:(?P<number>(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d+)?)|(?P<string>\"(?:[^\"\\]|\\.)*\")"
    r"|(?P<variable>\$(?:\"(?:[^\"\\]|\\.)*\"|[^\W\d]\w*))|(?P<name>[^\W\d][\w$]*)"
    r"|(?P<sign>\*\*|==|!=|<>|<=|>=|&&|\|\||[$@.*\[\](){}?:,!<>+\-/%]))",
    re.DOTALL,
)
_COMPARISONS: Final = {"==": "=", "!=": "<>", "<>": "<>", "<": "<", "<=": "<=", ">": ">", ">=": ">="}
METHODS: Final = (
    *("type", "size", "double", "ceiling", "floor", "abs", "keyvalue", "number", "integer", "bigint", "boolean"),
    "string",
)
_MOST_DEPTH: Final = 100


@dataclass(frozen=True, slots=True)
class Step:
    """A node of a path: `kind` says which, `parts` are the nodes below it, `value` its constant."""

    kind: str
    parts: "tuple[Step, ...]" = ()
    value: object = None


@dataclass(frozen=True, slots=True)
class Path:
    root: Step
    is_strict: bool


@dataclass(slots=True)
class _Parser:
    text: str
    tokens: list[tuple[str, str]] = field(default_factory=list)
    place: int = 0
    depth: int = 0

    def __post_init__(self) -> None:
        position, end = 0, len(self.text.rstrip())
        while position < end:
            match = _TOKEN.match(self.text, position)
            if match is None:
                raise self.bad()
            self.tokens.append((str(match.lastgroup), match[str(match.lastgroup)]))
            position = match.end()

    def bad(self) -> BadLiteral:
        near = self.tokens[self.place][1] if self.place < len(self.tokens) else ""
        ending = f' at or near "{near[:40]}"' if near else " at end of input"
        return BadLiteral(fault.SYNTAX_ERROR, f"syntax error{ending} of jsonpath input")

    def peek(self) -> str:
        kind, text = self.tokens[self.place] if self.place < len(self.tokens) else ("", "")
        return text if kind in ("sign", "name") else ""

    def take(self, *texts: str) -> str:
        """The next token if it is one of these."""
        text = self.peek()
        if text and text in texts:
            self.place += 1
            return text
        return ""

    def require(self, text: str) -> None:
        if not self.take(text):
            raise self.bad()

    def token(self, *kinds: str) -> str:
        if self.place >= len(self.tokens) or self.tokens[self.place][0] not in kinds:
            raise self.bad()
        self.place += 1
        return self.tokens[self.place - 1][1]

    def disjunction(self) -> Step:
        self.depth += 1
        if self.depth > _MOST_DEPTH:
            raise UnsupportedLiteral("a jsonpath nested so deeply")
        left = self.conjunction()
        while self.take("||"):
            left = Step("or", (left, self.conjunction()))
        self.depth -= 1
        return left

    def conjunction(self) -> Step:
        left = self.negation()
        while self.take("&&"):
            left = Step("and", (left, self.negation()))
        return left

    def negation(self) -> Step:
        return Step("not", (self.negation(),)) if self.take("!") else self.comparison()

    def comparison(self) -> Step:
        left = self.additive()
        symbol = self.take(*_COMPARISONS)
        if symbol:
            return Step("compare", (left, self.additive()), _COMPARISONS[symbol])
        if self.take("starts"):
            self.require("with")
            return Step("starts with", (left, self.primary()))
        if self.take("like_regex"):
            pattern = _string(self.token("string"))
            flags = _string(self.token("string")) if self.take("flag") else ""
            return Step("like_regex", (left,), (pattern, flags))
        if self.take("is"):
            self.require("unknown")
            return Step("is unknown", (left,))
        return left

    def additive(self) -> Step:
        left = self.multiplicative()
        while symbol := self.take("+", "-"):
            left = Step("arithmetic", (left, self.multiplicative()), symbol)
        return left

    def multiplicative(self) -> Step:
        left = self.unary()
        while symbol := self.take("*", "/", "%"):
            left = Step("arithmetic", (left, self.unary()), symbol)
        return left

    def unary(self) -> Step:
        symbol = self.take("+", "-")
        return Step("sign", (self.unary(),), symbol) if symbol else self.accessors(self.primary())

    def primary(self) -> Step:
        kind, text = self.tokens[self.place] if self.place < len(self.tokens) else ("", "")
        if kind in ("number", "string", "variable"):
            self.place += 1
            return _constant(kind, text)
        word = self.take("$", "@", "(", "true", "false", "null", "last", "exists")
        if word == "(":
            inner = self.disjunction()
            self.require(")")
            return inner
        if word == "exists":
            self.require("(")
            inner = self.disjunction()
            self.require(")")
            return Step("exists", (inner,))
        simple = {"$": "root", "@": "current", "last": "last"}
        if word in simple:
            return Step(simple[word])
        if word:
            return Step("constant", (), {"true": True, "false": False, "null": None}[word])
        raise self.bad()

    def accessors(self, step: Step) -> Step:
        while True:
            if self.take("."):
                step = self.member(step)
            elif self.take("["):
                step = self.subscript(step)
            elif self.take("?"):
                self.require("(")
                step = Step("filter", (step, self.disjunction()))
                self.require(")")
            else:
                return step

    def member(self, step: Step) -> Step:
        if self.take("*"):
            return Step("any key", (step,))
        if self.take("**"):
            return Step("any level", (step,), self.levels())
        kind, text = self.tokens[self.place] if self.place < len(self.tokens) else ("", "")
        if kind == "string":
            self.place += 1
            return Step("key", (step,), _string(text))
        name = self.token("name")
        if self.take("("):
            if not self.take(")") or name not in METHODS:
                raise UnsupportedLiteral(f"the jsonpath method {name}()")
            return Step("method", (step,), name)
        return Step("key", (step,), name)

    def levels(self) -> tuple[int, int | None]:
        if not self.take("{"):
            return 0, None
        low = self.level()
        high = self.level() if self.take("to") else low
        self.require("}")
        return low or 0, high

    def level(self) -> int | None:
        return None if self.take("last") else int(self.token("number"))

    def subscript(self, step: Step) -> Step:
        if self.take("*"):
            self.require("]")
            return Step("any element", (step,))
        ranges: list[Step] = []
        while True:
            low = self.additive()
            ranges.append(Step("range", (low, self.additive()) if self.take("to") else (low,)))
            if not self.take(","):
                break
        self.require("]")
        return Step("elements", (step, *ranges))


def _string(text: str) -> str:
    try:
        return str(json.loads(text, strict=False))
    except ValueError as error:
        raise UnsupportedLiteral("this escape in a jsonpath") from error


def _constant(kind: str, text: str) -> Step:
    if kind == "number":
        return Step("constant", (), int(text) if text.isdigit() else Decimal(text))
    if kind == "string":
        return Step("constant", (), _string(text))
    name = text[1:]
    return Step("variable", (), _string(name) if name.startswith('"') else name)


def parse_path(text: str) -> Path:
    """The tree of a path. Raises BadLiteral.

    >>> parse_path("strict $.a").is_strict
    True
    """
    parser = _Parser(text)
    mode = parser.take("strict", "lax")
    root = parser.disjunction()
    if parser.place < len(parser.tokens):
        raise parser.bad()
    return Path(root, mode == "strict")
