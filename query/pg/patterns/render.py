"""A parsed regular expression in the notation of Rust's regex crate (Polars) or of Python's re."""

from dataclasses import dataclass
from typing import Final

from query.pg.patterns.tree import (
    Any,
    Assertion,
    Back,
    Chars,
    Choice,
    Group,
    Look,
    Node,
    Regex,
    Repeat,
    Sequence,
    UnsupportedRegex,
)

_SPACE: Final = "\\t-\\r \\x85\\xa0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000"
"""White_Space of Unicode, as in PostgreSQL's own C.UTF-8 locale."""

_RUST_CLASSES: Final = {
    "digit": "0-9",
    "word": "\\p{Alphabetic}\\p{Nd}_",
    "space": _SPACE,
    "alpha": "\\p{Alphabetic}",
    "alnum": "\\p{Alphabetic}\\p{Nd}",
    "lower": "\\p{Lowercase}",
    "upper": "\\p{Uppercase}",
    "blank": " \\t",
    "xdigit": "0-9A-Fa-f",
    "cntrl": "\\x00-\\x1f\\x7f-\\x9f",
    "punct": "\\p{P}\\p{S}",
}
_PYTHON_CLASSES: Final = {**_RUST_CLASSES, "word": "\\w"}
_RUST_ASSERTIONS: Final = {
    "text_start": "\\A",
    "text_end": "\\z",
    "word_start": "\\b{start}",
    "word_end": "\\b{end}",
    "word_edge": "\\b",
    "not_word_edge": "\\B",
}
_PYTHON_ASSERTIONS: Final = {
    "text_start": "\\A",
    "text_end": "\\Z",
    "word_start": "\\b(?=\\w)",
    "word_end": "\\b(?<=\\w)",
    "word_edge": "\\b",
    "not_word_edge": "\\B",
}


def needs_python(node: Node) -> bool:
    """True for what Rust's engine has not: back-references and look-around."""
    match node:
        case Look() | Back():
            return True
        case Group() | Repeat():
            return needs_python(node.inner)
        case Sequence():
            return any(needs_python(part) for part in node.parts)
        case Choice():
            return any(needs_python(branch) for branch in node.branches)
        case _:
            return False


def nests_repeats(node: Node, inside: bool = False) -> bool:
    """True if something repeated without bound holds something repeated."""
    match node:
        case Repeat():
            again = node.low != node.high
            return (inside and again) or nests_repeats(node.inner, inside or node.high is None)
        case Group() | Look():
            return nests_repeats(node.inner, inside)
        case Sequence():
            return any(nests_repeats(part, inside) for part in node.parts)
        case Choice():
            return any(nests_repeats(branch, inside) for branch in node.branches)
        case _:
            return False


def rust(regex: Regex) -> str:
    """The expression for Polars, its options in front."""
    flags = "i" if regex.ignore_case else ""
    return (f"(?{flags})" if flags else "") + _Renderer(regex, True).render(regex.root)


def python(regex: Regex) -> str:
    """The expression for Python's re."""
    return ("(?i)" if regex.ignore_case else "") + _Renderer(regex, False).render(regex.root)


@dataclass(frozen=True, slots=True)
class _Renderer:
    regex: Regex
    for_rust: bool

    def render(self, node: Node) -> str:
        match node:
            case Any():
                return "(?s:.)" if not self.regex.newline_stops else "[^\\n]"
            case Chars():
                return self._chars(node)
            case Assertion():
                return self._assertion(node.kind)
            case Group():
                inner = self.render(node.inner)
                return f"({inner})" if node.number else f"(?:{inner})"
            case Look():
                return f"(?{node.kind}{self.render(node.inner)})"
            case Back():
                return f"(?:\\{node.number})"
            case Repeat():
                return self._repeat(node)
            case Sequence():
                return "".join(
                    f"(?:{self.render(part)})" if isinstance(part, Choice) else self.render(part) for part in node.parts
                )
            case Choice():
                return "|".join(self.render(branch) for branch in node.branches)
        raise UnsupportedRegex(type(node).__name__)

    def _repeat(self, node: Repeat) -> str:
        inner = self.render(node.inner)
        if isinstance(node.inner, Sequence | Choice | Repeat):
            inner = f"(?:{inner})"
        marks = {(0, None): "*", (1, None): "+", (0, 1): "?"}
        bounds = marks.get((node.low, node.high))
        if bounds is None:
            high = "" if node.high is None else str(node.high)
            bounds = f"{{{node.low}}}" if node.high == node.low else f"{{{node.low},{high}}}"
        return inner + bounds + ("" if node.greedy else "?")

    def _assertion(self, assertion: str) -> str:
        if assertion == "start":
            return "(?m:^)" if self.regex.newline_anchors else "\\A"
        if assertion == "end":
            if self.regex.newline_anchors:
                return "(?m:$)"
            return "\\z" if self.for_rust else "\\Z"
        return (_RUST_ASSERTIONS if self.for_rust else _PYTHON_ASSERTIONS)[assertion]

    def _chars(self, node: Chars) -> str:
        if len(node.ranges) == 1 and node.ranges[0][0] == node.ranges[0][1] and not node.classes and not node.negated:
            return _escape(node.ranges[0][0])
        names = _RUST_CLASSES if self.for_rust else _PYTHON_CLASSES
        for name in node.classes:
            if name not in names or (not self.for_rust and "\\p" in names[name]):
                raise UnsupportedRegex(f"the character class {name} here")
        parts = [names[name] for name in node.classes]
        inside = "".join(parts) + "".join(self._range(low, high) for low, high in node.ranges)
        if node.negated and self.regex.newline_stops:
            inside += "\\n"
        return f"[{'^' if node.negated else ''}{inside}]"

    def _range(self, low: int, high: int) -> str:
        return _escape(low) if low == high else f"{_escape(low)}-{_escape(high)}"


def _escape(code: int) -> str:
    letter = chr(code)
    if letter.isascii() and (letter.isalnum() or letter in " _/,:;=<>@!%\"'`"):
        return letter
    if code < 0x80:
        return f"\\x{code:02x}"
    return letter
