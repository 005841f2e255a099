"""Patterns as Java's regular expressions, which find in the same texts what PostgreSQL's own find.

Whether a text matches does not depend on which match is preferred, so that is all that is asked of them. What Java
reads by other tables of letters, or may not come to an end of, is refused by name.
"""

from collections.abc import Iterable, Iterator
from typing import Final

from query.pg.patterns import tree
from query.pg.patterns.backtracking import explodes
from query.pg.patterns.like import BadPattern, either_case, similar
from query.spark.refusal import NotOnCluster

_ASSERTIONS: Final = {"start": "\\A", "end": "\\z", "text_start": "\\A", "text_end": "\\z"}
_LAST_ASCII: Final = 0x7F


def like(pattern: str, escape: str) -> str:
    r"""For Spark's LIKE, whose escape character is a backslash before nothing but these three. Raises NotOnCluster.

    >>> like("a!%b%", "!"), like("a\\b_", "")
    ('a\\%b%', 'a\\\\b_')
    """
    return "".join(
        letter if is_wild else f"\\{letter}" if letter in "%_\\" else letter
        for letter, is_wild in _like_parts(pattern, escape)
    )


def like_in_any_case(pattern: str, escape: str) -> str:
    r"""A regular expression for whole texts, as ILIKE matches them. Raises NotOnCluster.

    >>> like_in_any_case("1%2_", "\\")
    '(?s)\\A1.*2.\\z'
    """
    wild = {"%": ".*", "_": "."}
    parts = (wild[letter] if is_wild else either_case(letter) for letter, is_wild in _like_parts(pattern, escape))
    return "(?s)\\A" + "".join(parts) + "\\z"


def _like_parts(pattern: str, escape: str) -> Iterator[tuple[str, bool]]:
    """The characters of a pattern, and whether each is a wildcard."""
    letters = iter(pattern)
    for letter in letters:
        if letter != escape:
            yield letter, letter in "%_"
            continue
        escaped = next(letters, None)
        if escaped is None:
            raise NotOnCluster("a LIKE pattern that ends with its escape character")
        yield escaped, False


def similar_to(pattern: str, escape: str) -> str:
    """For whole texts, as SIMILAR TO matches them. Raises NotOnCluster."""
    try:
        return regex(similar(pattern, escape))
    except BadPattern as error:
        raise NotOnCluster(f"a pattern of which PostgreSQL says {error}") from error


def regex(pattern: str, flags: str = "") -> str:
    r"""For what an advanced regular expression finds anywhere in a text. Raises NotOnCluster.

    >>> regex("^a[0-9]+$")
    '\\A\\x{61}(?:[\\x{30}-\\x{39}])+\\z'
    """
    try:
        parsed = tree.parse_regex(pattern, flags)
    except (tree.BadRegex, tree.UnsupportedRegex) as error:
        raise NotOnCluster(f"a regular expression of which PostgreSQL says {error}") from error
    if parsed.newline_stops or parsed.newline_anchors or explodes(parsed):
        raise NotOnCluster("a regular expression of this kind")
    return _rendered(parsed.root, parsed.ignore_case)


def _rendered(node: tree.Node, ignore_case: bool) -> str:
    match node:
        case tree.Any():
            return "(?s:.)"
        case tree.Chars():
            return _chars(node, ignore_case)
        case tree.Assertion() if node.kind in _ASSERTIONS:
            return _ASSERTIONS[node.kind]
        case tree.Group():
            return f"(?:{_rendered(node.inner, ignore_case)})"
        case tree.Repeat():
            return _repeat(node, ignore_case)
        case tree.Sequence():
            return "".join(f"(?:{each})" if "|" in each else each for each in _all(node.parts, ignore_case))
        case tree.Choice():
            return "|".join(_all(node.branches, ignore_case))
    raise NotOnCluster(f"{type(node).__name__.lower()} in a regular expression")


def _all(nodes: Iterable[tree.Node], ignore_case: bool) -> list[str]:
    return [_rendered(each, ignore_case) for each in nodes]


def _repeat(node: tree.Repeat, ignore_case: bool) -> str:
    """Java goes one call deeper for each round of a group: a long text would be too deep for it."""
    if node.high is None and not isinstance(node.inner, tree.Chars | tree.Any):
        raise NotOnCluster("a group that is repeated without an end in a regular expression")
    marks = {(0, None): "*", (1, None): "+", (0, 1): "?"}
    bounds = f"{{{node.low},{'' if node.high is None else node.high}}}"
    return f"(?:{_rendered(node.inner, ignore_case)})" + marks.get((node.low, node.high), bounds)


def _chars(node: tree.Chars, ignore_case: bool) -> str:
    if node.classes:
        raise NotOnCluster(f"the character class {node.classes[0]} in a regular expression")
    ranges = [each for pair in node.ranges for each in (_both_cases(*pair) if ignore_case else [pair])]
    parts = [f"\\x{{{low:x}}}" if low == high else f"\\x{{{low:x}}}-\\x{{{high:x}}}" for low, high in ranges]
    if len(parts) == 1 and ranges[0][0] == ranges[0][1] and not node.negated:
        return parts[0]
    return f"[{'^' if node.negated else ''}{''.join(parts)}]"


def _both_cases(low: int, high: int) -> list[tuple[int, int]]:
    """PostgreSQL takes each character of the expression in both cases (regcomp.c, allcases)."""
    if high > _LAST_ASCII:
        raise NotOnCluster("a regular expression that ignores the case of letters beyond ASCII")
    codes = {ord(form) for code in range(low, high + 1) for form in (chr(code).lower(), chr(code).upper())}
    return [(code, code) for code in sorted(codes)]
