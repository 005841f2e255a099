"""SQL/JSON path expressions as a tree. Source: PostgreSQL documentation, "The SQL/JSON Path Language"."""

from dataclasses import dataclass
from decimal import Decimal
from typing import Final

from query.pg.json_path_tokens import (
    INVALID_REGULAR_EXPRESSION,
    INVALID_TEXT,
    BadPath,
    Token,
    UnsupportedPath,
    number_of,
    tokens_of,
)
from query.pg.patterns.tree import BadRegex, UnsupportedRegex, parse_regex

_COMPARISONS: Final = {"==": "=", "!=": "<>", "<>": "<>", "<": "<", "<=": "<=", ">": ">", ">=": ">="}
PREDICATES: Final = ("or", "and", "not", "compare", "starts with", "like_regex", "is unknown", "exists")
METHODS: Final = (
    *("type", "size", "double", "ceiling", "floor", "abs", "keyvalue", "number", "integer", "bigint", "boolean"),
    "string",
)
LAST_LEVEL: Final = 2**32 - 1
_CONSTANTS: Final = {"true": True, "false": False, "null": None}
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
    """`filters` and `subscripts` count those around the place, where alone @ and last stand."""

    tokens: list[Token]
    place: int = 0
    depth: int = 0
    filters: int = 0
    subscripts: int = 0

    def bad(self) -> BadPath:
        near = self.tokens[self.place].text if self.place < len(self.tokens) else ""
        ending = f' at or near "{near[:40]}"' if near else " at end of input"
        return BadPath(f"syntax error{ending} of jsonpath input")

    def peek(self) -> str:
        """The next sign or keyword, in small letters; the constants are keywords in small letters only."""
        token = self.tokens[self.place] if self.place < len(self.tokens) else None
        if token is None or token.kind not in ("sign", "name"):
            return ""
        word = token.text.lower()
        return token.text if word in _CONSTANTS else word

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

    def token(self, *kinds: str) -> Token:
        if self.place >= len(self.tokens) or self.tokens[self.place].kind not in kinds:
            raise self.bad()
        self.place += 1
        return self.tokens[self.place - 1]

    def next_kind(self) -> str:
        return self.tokens[self.place].kind if self.place < len(self.tokens) else ""

    def predicate(self, step: Step) -> Step:
        """The step, which has to be one."""
        if step.kind not in PREDICATES:
            raise self.bad()
        return step

    def value(self, step: Step) -> Step:
        """The step, which must not be a predicate."""
        if step.kind in PREDICATES:
            raise self.bad()
        return step

    def disjunction(self) -> Step:
        self.depth += 1
        if self.depth > _MOST_DEPTH:
            raise UnsupportedPath("a jsonpath nested so deeply")
        left = self.conjunction()
        while self.take("||"):
            left = Step("or", (self.predicate(left), self.predicate(self.conjunction())))
        self.depth -= 1
        return left

    def conjunction(self) -> Step:
        left = self.negation()
        while self.take("&&"):
            left = Step("and", (self.predicate(left), self.predicate(self.negation())))
        return left

    def negation(self) -> Step:
        if not self.take("!"):
            return self.comparison()
        if self.peek() not in ("(", "exists"):
            raise self.bad()
        return Step("not", (self.predicate(self.primary()),))

    def comparison(self) -> Step:
        is_enclosed = self.peek() == "("
        left = self.additive()
        symbol = self.take(*_COMPARISONS)
        if symbol:
            return Step("compare", (self.value(left), self.value(self.additive())), _COMPARISONS[symbol])
        if self.take("starts"):
            self.require("with")
            return Step("starts with", (self.value(left), _constant(self.token("string", "variable"))))
        if self.take("like_regex"):
            pattern = self.token("string").text
            flags = self.token("string").text if self.take("flag") else ""
            return Step("like_regex", (self.value(left),), (pattern, _checked_flags(pattern, flags)))
        if self.take("is"):
            self.require("unknown")
            if not is_enclosed:
                raise self.bad()
            return Step("is unknown", (self.predicate(left),))
        return left

    def additive(self) -> Step:
        left = self.multiplicative()
        while symbol := self.take("+", "-"):
            left = Step("arithmetic", (self.value(left), self.value(self.multiplicative())), symbol)
        return left

    def multiplicative(self) -> Step:
        left = self.unary()
        while symbol := self.take("*", "/", "%"):
            left = Step("arithmetic", (self.value(left), self.value(self.unary())), symbol)
        return left

    def unary(self) -> Step:
        symbol = self.take("+", "-")
        if not symbol:
            return self.accessors(self.primary())
        self.depth += 1
        if self.depth > _MOST_DEPTH:
            raise UnsupportedPath("a jsonpath nested so deeply")
        step = self.value(self.unary())
        self.depth -= 1
        number = step.value
        if step.kind != "constant" or isinstance(number, bool) or not isinstance(number, int | Decimal):
            return Step("sign", (step,), symbol)
        return Step("constant", (), -number if symbol == "-" and number else number)

    def primary(self) -> Step:
        if self.next_kind() in ("integer", "number", "string", "variable"):
            return _constant(self.token("integer", "number", "string", "variable"))
        word = self.take("$", "@", "(", "true", "false", "null", "last", "exists")
        if word == "(":
            inner = self.disjunction()
            self.require(")")
            return inner
        if word == "exists":
            self.require("(")
            inner = self.value(self.disjunction())
            self.require(")")
            return Step("exists", (inner,))
        if word == "@" and not self.filters:
            raise BadPath("@ is not allowed in root expressions")
        if word == "last" and not self.subscripts:
            raise BadPath("LAST is allowed only in array subscripts")
        simple = {"$": "root", "@": "current", "last": "last"}
        if word in simple:
            return Step(simple[word])
        if word:
            return Step("constant", (), _CONSTANTS[word])
        raise self.bad()

    def accessors(self, step: Step) -> Step:
        while True:
            if self.take("."):
                step = self.member(step)
            elif self.take("["):
                step = self.subscript(step)
            elif self.take("?"):
                step = self.filter(step)
            else:
                return step

    def filter(self, step: Step) -> Step:
        self.require("(")
        self.filters += 1
        step = Step("filter", (step, self.predicate(self.disjunction())))
        self.filters -= 1
        self.require(")")
        return step

    def member(self, step: Step) -> Step:
        if self.take("*"):
            return Step("any key", (step,))
        if self.take("**"):
            return Step("any level", (step,), self.levels())
        token = self.token("string", "name")
        name = token.text
        if token.kind == "name" and self.take("("):
            if not self.take(")") or name.lower() not in METHODS:
                raise UnsupportedPath(f"the jsonpath method {name}()")
            return Step("method", (step,), name.lower())
        return Step("key", (step,), name)

    def levels(self) -> tuple[int, int]:
        if not self.take("{"):
            return 0, LAST_LEVEL
        low = self.level()
        high = self.level() if self.take("to") else low
        self.require("}")
        return low, high

    def level(self) -> int:
        return LAST_LEVEL if self.take("last") else int(number_of(self.token("integer")))

    def subscript(self, step: Step) -> Step:
        if self.take("*"):
            self.require("]")
            return Step("any element", (step,))
        ranges: list[Step] = []
        self.subscripts += 1
        while True:
            low = self.value(self.additive())
            ranges.append(Step("range", (low, self.value(self.additive())) if self.take("to") else (low,)))
            if not self.take(","):
                break
        self.subscripts -= 1
        self.require("]")
        return Step("elements", (step, *ranges))


def _constant(token: Token) -> Step:
    if token.kind == "variable":
        return Step("variable", (), token.text)
    return Step("constant", (), token.text if token.kind == "string" else number_of(token))


def _checked_flags(pattern: str, flags: str) -> str:
    """The flags of like_regex in the order of jsonpath_out. The pattern is read to know whether it can be."""
    if set(flags) - set("ismxq"):
        raise BadPath("invalid input syntax for type jsonpath")
    if "x" in flags and "q" not in flags:
        raise UnsupportedPath('the flag "x" of like_regex')
    try:
        if "q" not in flags:
            parse_regex(pattern, regex_options(flags))
    except BadRegex as error:
        raise BadPath(str(error), INVALID_REGULAR_EXPRESSION) from error
    except UnsupportedRegex as error:
        raise UnsupportedPath(str(error)) from error
    return "".join(flag for flag in "ismxq" if flag in flags)


def regex_options(flags: str) -> str:
    """The options of a regular expression behind XQuery's flags."""
    return ("" if "s" in flags else "p") + ("w" if "m" in flags else "") + ("i" if "i" in flags else "")


def parse_path(text: str) -> Path:
    """The tree of a path. Raises BadPath, UnsupportedPath.

    >>> parse_path("strict $.a").is_strict
    True
    """
    parser = _Parser(tokens_of(text))
    if not parser.tokens:
        raise BadPath(f'invalid input syntax for type jsonpath: "{text[:100]}"', INVALID_TEXT)
    mode = parser.take("strict", "lax")
    root = parser.disjunction()
    if parser.place < len(parser.tokens):
        raise parser.bad()
    return Path(root, mode == "strict")
