"""LIKE and SIMILAR TO patterns as regular expressions and plain searches."""

import re
from dataclasses import dataclass
from typing import Final

_SPECIAL: Final = frozenset(".^$*+?()[]{}|\\-")
# An expression that no text matches.
NOTHING: Final = "(?s)^$."


class BadPattern(ValueError):
    """The pattern ends with its escape character."""


class BadSeparators(ValueError):
    """The pattern has more than two separators."""


@dataclass(frozen=True, slots=True)
class Like:
    """A LIKE pattern: literal pieces between `%`, when that is all there is; else None and `regex` alone counts.

    `regex` describes the whole text, `search` what has to be found in it, which is several times faster to look for.
    `fails` matches the texts for which PostgreSQL fails, when the pattern ends with its escape character: those with
    something left when it is reached.
    """

    regex: str
    search: str
    pieces: tuple[str, ...] | None
    fails: str = ""


_OTHER_CAPITALS: Final = {
    "i": "\u0130",
    "k": "\u212a",
    "\xe5": "\u212b",
    "\u03c9": "\u2126",
    "\u03b8": "\u03f4",
    "\xdf": "\u1e9e",
}
"""Letters whose lower case is one that has another capital: I with a dot, and signs that are letters."""


def lower_letter(letter: str) -> str:
    """Its lower case; the first letter of one that is two."""
    return letter.lower()[0]


def either_case(letter: str) -> str:
    """An expression for the letters that have the same lower case, which is what ILIKE compares."""
    lower = lower_letter(letter)
    forms = {letter, lower, lower.upper(), lower.title(), _OTHER_CAPITALS.get(lower, lower)}
    same = sorted(form for form in forms if len(form) == 1 and lower_letter(form) == lower)
    return re.escape(letter) if len(same) == 1 else f"[{''.join(same)}]"


def like(pattern: str, escape: str = "\\", ignore_case: bool = False) -> Like:
    """The pattern with `%` for any text, `_` for one character and `escape` before a literal one.

    >>> like("a%b").pieces
    ('a', 'b')
    """
    pieces, regex, single, position = [""], "", False, 0
    literal = either_case if ignore_case else re.escape
    while position < len(pattern):
        letter = pattern[position]
        if escape and letter == escape:
            position += 1
            if position == len(pattern) and len(pieces) > 1:
                raise BadPattern("LIKE pattern must not end with escape character")
            if position == len(pattern):
                return Like(NOTHING, NOTHING, None, f"(?s)^{_rust(regex)}.")
            letter = pattern[position]
            pieces[-1] += letter
            regex += literal(letter)
        elif letter == "%":
            pieces.append("")
            regex += ".*"
        elif letter == "_":
            single = True
            regex += "."
        else:
            pieces[-1] += letter
            regex += literal(letter)
        position += 1
    inner = _rust(regex)
    return Like(f"(?s)^{inner}$", f"(?s){_sought(inner)}", None if single else tuple(pieces))


def _sought(inner: str) -> str:
    """The expression without the any texts at its ends: an unescaped `*` is only ever in `.*`.

    >>> _sought(".*error.*")
    'error'
    """
    start, end = "" if inner.startswith(".*") else "^", "" if inner.endswith(".*") else "$"
    while inner.startswith(".*"):
        inner = inner.removeprefix(".*")
    while inner.endswith(".*"):
        inner = inner.removesuffix(".*")
    return start + inner + end


def _rust(regex: str) -> str:
    """Python escapes more characters than Rust's engine accepts. Pairs are read from the left: `\\\\` is one."""
    return re.sub(
        r"\\(.)", lambda pair: pair[0] if pair[1] in _SPECIAL or pair[1].isalnum() else pair[1], regex, flags=re.DOTALL
    )


def similar(pattern: str, escape: str = "\\", separates: bool = False) -> str:
    """A SIMILAR TO pattern as a PostgreSQL regular expression (what similar_to_escape gives). `separates`: a quote
    behind the escape character parts what is cut out from what stands around it, of which the first takes little."""
    result, position, in_brackets, parts = "^(?:", 0, False, 0
    while position < len(pattern):
        letter = pattern[position]
        if escape and letter == escape:
            position += 1
            if position == len(pattern):
                raise BadPattern("invalid escape string")
            if separates and pattern[position] == '"' and not in_brackets:
                parts += 1
                if parts > 2:
                    raise BadSeparators
                result += "){1,1}?(" if parts == 1 else "){1,1}(?:"
            else:
                result += "\\" + pattern[position]
        elif in_brackets:
            in_brackets = letter != "]"
            result += "\\\\" if letter == "\\" else letter
        elif letter == "[":
            in_brackets = True
            result += letter
        elif letter in ".^$\\":
            result += "\\" + letter
        else:
            result += {"%": ".*", "_": ".", "(": "(?:"}.get(letter, letter)
        position += 1
    return result + ")$"
