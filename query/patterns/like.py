"""LIKE and SIMILAR TO patterns as regular expressions and plain searches."""

import re
from dataclasses import dataclass


class BadPattern(ValueError):
    """The pattern ends with its escape character."""


@dataclass(frozen=True, slots=True)
class Like:
    """A LIKE pattern: literal pieces between `%`, when that is all there is; else None and `regex` alone counts.

    `fails` matches the texts for which PostgreSQL fails, when the pattern ends with its escape character: those with
    something left when it is reached.
    """

    regex: str
    pieces: tuple[str, ...] | None
    fails: str = ""


def like(pattern: str, escape: str = "\\") -> Like:
    """The pattern with `%` for any text, `_` for one character and `escape` before a literal one.

    >>> like("a%b").pieces
    ('a', 'b')
    """
    pieces, regex, single, place = [""], "", False, 0
    while place < len(pattern):
        letter = pattern[place]
        if escape and letter == escape:
            place += 1
            if place == len(pattern) and len(pieces) > 1:
                raise BadPattern("LIKE pattern must not end with escape character")
            if place == len(pattern):
                return Like("(?s)^$.", None, f"(?s)^{_rust(regex)}.")
            letter = pattern[place]
            pieces[-1] += letter
            regex += re.escape(letter)
        elif letter == "%":
            pieces.append("")
            regex += ".*"
        elif letter == "_":
            single = True
            regex += "."
        else:
            pieces[-1] += letter
            regex += re.escape(letter)
        place += 1
    return Like(f"(?s)^{_rust(regex)}$", None if single else tuple(pieces))


def _rust(regex: str) -> str:
    """Python escapes more characters than Rust's engine accepts."""
    return re.sub(r"\\([^\w.^$*+?()\[\]{}|\\-])", lambda match: match[1], regex)


def similar(pattern: str, escape: str = "\\") -> str:
    """A SIMILAR TO pattern as a PostgreSQL regular expression (what similar_to_escape gives)."""
    result, place, in_brackets = "^(?:", 0, False
    while place < len(pattern):
        letter = pattern[place]
        if escape and letter == escape:
            place += 1
            if place == len(pattern):
                raise BadPattern("invalid escape string")
            result += "\\" + pattern[place]
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
        place += 1
    return result + ")$"
