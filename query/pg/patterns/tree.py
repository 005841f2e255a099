"""PostgreSQL's advanced regular expressions (section 9.7.3 of its manual) as a tree."""

import re
from dataclasses import dataclass
from typing import Final

MAX_PATTERN_CHARACTERS: Final = 2_000
"""Length of a regular expression. Compiled automata grow faster than their text."""


class BadRegex(ValueError):
    """PostgreSQL refuses the expression; the message is its own."""


class UnsupportedRegex(ValueError):
    """PostgreSQL takes the expression and we do not; the message names the construct."""


@dataclass(frozen=True, slots=True)
class Node:
    pass


@dataclass(frozen=True, slots=True)
class Chars(Node):
    """One character of a set: ranges of code points and named classes, or of its complement."""

    ranges: tuple[tuple[int, int], ...] = ()
    classes: tuple[str, ...] = ()
    negated: bool = False


@dataclass(frozen=True, slots=True)
class Any(Node):
    """`.`"""


@dataclass(frozen=True, slots=True)
class Assertion(Node):
    """`kind`: start, end, text_start, text_end, word_start, word_end, word_edge, not_word_edge."""

    kind: str


@dataclass(frozen=True, slots=True)
class Group(Node):
    """Brackets; `number` counts capturing ones from 1, 0 for (?:...)."""

    inner: Node
    number: int


@dataclass(frozen=True, slots=True)
class Look(Node):
    """Look-ahead and look-behind: `kind` is =, !, <= or <!."""

    inner: Node
    kind: str


@dataclass(frozen=True, slots=True)
class Back(Node):
    number: int


@dataclass(frozen=True, slots=True)
class Repeat(Node):
    """`is_exact`: written `{m}`, which has no preference of its own, unlike `{m,m}`."""

    inner: Node
    low: int
    high: int | None
    greedy: bool
    is_exact: bool = False


@dataclass(frozen=True, slots=True)
class Sequence(Node):
    parts: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Choice(Node):
    branches: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Regex:
    """A parsed expression with its options: letters of `imsnpqwx...` reduced to those that matter."""

    root: Node
    groups: int
    ignore_case: bool
    newline_stops: bool
    newline_anchors: bool


_SHORTHANDS: Final = {"d": ("digit", False), "w": ("word", False), "s": ("space", False)}
_CONTROLS: Final = {"a": 7, "b": 8, "e": 27, "f": 12, "n": 10, "r": 13, "t": 9, "v": 11, "B": 92}
_ASSERTIONS: Final = {
    "A": "text_start",
    "Z": "text_end",
    "m": "word_start",
    "M": "word_end",
    "y": "word_edge",
    "Y": "not_word_edge",
}
CLASSES: Final = (
    *("alnum", "alpha", "blank", "cntrl", "digit", "graph", "lower", "print", "punct", "space", "upper", "xdigit"),
    "word",
)
_DIGITS: Final = tuple("0123456789")
_MOST_REPEATS: Final = 255


def parse_regex(pattern: str, flags: str = "") -> Regex:
    """The tree behind a pattern and the flags of a regexp function (i, n, m, p, w, s, c, x, q, t)."""
    if len(pattern) > MAX_PATTERN_CHARACTERS:
        raise UnsupportedRegex(f"a regular expression of more than {MAX_PATTERN_CHARACTERS} characters")
    options = set(flags)
    if pattern.startswith("***"):
        pattern, options = _directed(pattern, options)
    if pattern.startswith("(?") and pattern[2:3].isalpha():
        end = pattern.find(")")
        if end < 0:
            raise BadRegex("invalid regular expression: parentheses () not balanced")
        embedded, pattern = pattern[2:end], pattern[end + 1 :]
        options |= set(embedded)
        options -= {"i"} if "c" in embedded else set()
    unknown = options - set("icnmpwst")
    if unknown:
        raise UnsupportedRegex(f"the regular expression option {min(unknown)}")
    parser = _Parser(pattern)
    root = parser.choice()
    if parser.place < len(pattern):
        raise BadRegex("invalid regular expression: parentheses () not balanced")
    return Regex(
        root,
        parser.groups,
        "i" in options,
        bool(options & set("nmp")),
        bool(options & set("nmw")),
    )


def _directed(pattern: str, options: set[str]) -> tuple[str, set[str]]:
    """The pattern behind `***:`, which is one like any other, or `***=`, which is a plain text."""
    directive, rest = pattern[3:4], pattern[4:]
    if directive == ":":
        return rest, options
    if directive != "=":
        raise BadRegex("invalid regular expression: quantifier operand invalid")
    return re.sub(r"(\W)", r"\\\1", rest), options & set("ic")


class _Parser:
    def __init__(self, text: str) -> None:
        self.text = text
        self.place = 0
        self.groups = 0
        self.looking = 0

    def _peek(self, count: int = 1) -> str:
        return self.text[self.place : self.place + count]

    def _take(self) -> str:
        letter = self._peek()
        self.place += 1
        return letter

    def choice(self) -> Node:
        branches = [self._sequence()]
        while self._peek() == "|":
            self.place += 1
            branches.append(self._sequence())
        return branches[0] if len(branches) == 1 else Choice(tuple(branches))

    def _sequence(self) -> Node:
        parts: list[Node] = []
        while self.place < len(self.text) and self._peek() not in "|)":
            parts.append(self._parse_quantifier(self._atom()))
        return parts[0] if len(parts) == 1 else Sequence(tuple(parts))

    def _parse_quantifier(self, atom: Node) -> Node:
        start = self.place
        bounds = self._bounds()
        if bounds is None:
            return atom
        if isinstance(atom, Assertion | Look):
            raise BadRegex("invalid regular expression: quantifier operand invalid")
        quantifier = self.text[start : self.place]
        greedy = self._peek() != "?"
        if not greedy:
            self.place += 1
        if self._bounds() is not None:
            raise BadRegex("invalid regular expression: quantifier operand invalid")
        return Repeat(atom, bounds[0], bounds[1], greedy, quantifier[0] == "{" and "," not in quantifier)

    def _bounds(self) -> tuple[int, int | None] | None:
        letter = self._peek()
        simple = {"*": (0, None), "+": (1, None), "?": (0, 1)}
        if letter and letter in simple:
            self.place += 1
            return simple[letter]
        if letter != "{" or self._peek(2)[1:] not in _DIGITS:
            return None
        end = self.text.find("}", self.place)
        if end < 0:
            raise BadRegex("invalid regular expression: braces {} not balanced")
        low, comma, high = self.text[self.place + 1 : end].partition(",")
        if not _is_number(low) or (high and not _is_number(high)):
            raise BadRegex("invalid regular expression: invalid repetition count(s)")
        least = int(low)
        most = (int(high) if high else None) if comma else least
        if least > _MOST_REPEATS or (most is not None and (most > _MOST_REPEATS or most < least)):
            raise BadRegex("invalid regular expression: invalid repetition count(s)")
        self.place = end + 1
        return least, most

    def _atom(self) -> Node:
        letter = self._take()
        if letter == "(":
            return self._group()
        if letter == "[":
            return self._bracket()
        if letter == ".":
            return Any()
        if letter == "^":
            return Assertion("start")
        if letter == "$":
            return Assertion("end")
        if letter == "\\":
            return self._escape()
        if letter in "*+?" or (letter == "{" and self._peek() in _DIGITS):
            raise BadRegex("invalid regular expression: quantifier operand invalid")
        return _one(ord(letter))

    def _group(self) -> Node:
        for prefix, group_type in (("?:", ""), ("?=", "="), ("?!", "!"), ("?<=", "<="), ("?<!", "<!")):
            if self._peek(len(prefix)) == prefix:
                self.place += len(prefix)
                self.looking += bool(group_type)
                inner = self._close_group()
                self.looking -= bool(group_type)
                return Look(inner, group_type) if group_type else Group(inner, 0)
        if self._peek() == "?":
            raise BadRegex("invalid regular expression: quantifier operand invalid")
        if self.looking:
            return Group(self._close_group(), 0)  # Nothing is captured by what only looks.
        self.groups += 1
        number = self.groups
        return Group(self._close_group(), number)

    def _close_group(self) -> Node:
        inner = self.choice()
        if self._peek() != ")":
            raise BadRegex("invalid regular expression: parentheses () not balanced")
        self.place += 1
        return inner

    def _escape(self) -> Node:
        letter = self._take()
        if not letter:
            raise BadRegex("invalid regular expression: invalid escape \\ sequence")
        if letter.lower() in _SHORTHANDS:
            return Chars(classes=(_SHORTHANDS[letter.lower()][0],), negated=letter.isupper())
        if letter in _ASSERTIONS:
            return Assertion(_ASSERTIONS[letter])
        if letter in _DIGITS and letter != "0":
            return self._back(letter)
        return _one(self._code(letter))

    def _back(self, first: str) -> Node:
        digits = first
        while self._peek() in _DIGITS and int(digits + self._peek()) <= self.groups:
            digits += self._take()
        if self.looking or int(digits) > self.groups:
            raise BadRegex("invalid regular expression: invalid backreference number")
        return Back(int(digits))

    def _code(self, letter: str) -> int:
        """The character that an escape stands for."""
        if letter in _CONTROLS:
            return _CONTROLS[letter]
        widths = {"x": 0, "u": 4, "U": 8}
        if letter in widths:
            return self._hexadecimal(widths[letter])
        if letter == "0":
            return 0
        if letter == "c":
            return ord(self._take()) % 32
        if letter.isalnum():
            raise BadRegex("invalid regular expression: invalid escape \\ sequence")
        return ord(letter)

    def _hexadecimal(self, width: int) -> int:
        digits = ""
        while self._peek() and self._peek() in "0123456789abcdefABCDEF" and (not width or len(digits) < width):
            digits += self._take()
        if not digits or (width and len(digits) != width) or int(digits, 16) > 0x10FFFF:
            raise BadRegex("invalid regular expression: invalid escape \\ sequence")
        return int(digits, 16)

    def _bracket(self) -> Node:
        negated = self._peek() == "^"
        if negated:
            self.place += 1
        ranges: list[tuple[int, int]] = []
        classes: list[str] = []
        first = True
        while first or self._peek() != "]":
            if self.place >= len(self.text):
                raise BadRegex("invalid regular expression: brackets [] not balanced")
            self._member(ranges, classes)
            first = False
        self.place += 1
        return Chars(tuple(ranges), tuple(classes), negated)

    def _member(self, ranges: list[tuple[int, int]], classes: list[str]) -> None:
        if self._peek(2) == "[:":
            end = self.text.find(":]", self.place)
            name = self.text[self.place + 2 : end]
            if end < 0 or name not in CLASSES:
                raise BadRegex("invalid regular expression: invalid character class")
            classes.append(name)
            self.place = end + 2
            return
        if self._peek(2) in ("[.", "[="):
            raise UnsupportedRegex("a collating element in a regular expression")
        low = self._bracket_character(classes)
        if low is None:
            return
        if self._peek() == "-" and self._peek(2)[1:] not in ("]", ""):
            self.place += 1
            high = self._bracket_character(classes)
            if high is None or high < low:
                raise BadRegex("invalid regular expression: invalid character range")
            ranges.append((low, high))
        else:
            ranges.append((low, low))

    def _bracket_character(self, classes: list[str]) -> int | None:
        letter = self._take()
        if letter != "\\":
            return ord(letter)
        letter = self._take()
        if letter and letter in "dws":
            classes.append(_SHORTHANDS[letter][0])
            return None
        if letter in ("D", "W", "S") or not letter:
            raise BadRegex("invalid regular expression: invalid escape \\ sequence")
        return self._code(letter)


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdigit()


def _one(code: int) -> Chars:
    return Chars(((code, code),))
