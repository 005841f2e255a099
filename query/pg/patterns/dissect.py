"""Finds the match that PostgreSQL's regular expressions find, and divides it among the groups as they do.

The leftmost match, as long or as short as the expression prefers; of what is in sequence the first part takes as much,
or as little, as leaves a match for the rest; of alternatives the first that fits. Source: regcomp.c (parseqatom,
parsebranch), regexec.c (cfindloop, cdissect and what it calls). Used where first-match engines could differ.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Final

from query.pg.bad_values import UnsupportedLiteral
from query.pg.patterns.render import python
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
)

_LONGER: Final = 1
_SHORTER: Final = 2
_MIXED: Final = 4
_CAPTURES: Final = 8
_REFERS: Final = 16
_MESSY: Final = _MIXED | _CAPTURES | _REFERS
_PREFERENCES: Final = _LONGER | _SHORTER
MOST_STEPS: Final = 2_000_000
"""Steps that one text may take: a second or so. Back-references can be tried in exponentially many ways."""

Span = tuple[int, int]


@dataclass(frozen=True, slots=True, eq=False)
class _Part:
    """A subexpression and how it is divided: `=` not at all, `.` two parts in sequence, `|` one of its parts, `*`
    rounds of its part, `(` a group of it, `b` a back-reference."""

    kind: str
    flags: int
    node: Node
    parts: "tuple[_Part, ...]" = ()
    number: int = 0
    low: int = 1
    high: int | None = 1

    @property
    def prefers_short(self) -> bool:
        return bool(self.flags & _SHORTER)


@dataclass(frozen=True, slots=True)
class Found:
    """A match, asked as Python's."""

    text: str
    spans: tuple[Span | None, ...]

    def start(self, group: int = 0) -> int:
        span = self.spans[group]
        return -1 if span is None else span[0]

    def end(self, group: int = 0) -> int:
        span = self.spans[group]
        return -1 if span is None else span[1]

    def __getitem__(self, group: int) -> str | None:
        span = self.spans[group]
        return None if span is None else self.text[span[0] : span[1]]

    def groups(self) -> tuple[str | None, ...]:
        return tuple(self[number] for number in range(1, len(self.spans)))


class Dissector:
    """A compiled expression, asked as Python's.

    >>> from query.pg.patterns.tree import parse_regex
    >>> Dissector(parse_regex("(a|ab)(c|bcd)(d*)")).search("abcd").groups()
    ('ab', 'c', 'd')
    """

    def __init__(self, regex: Regex) -> None:
        self.groups = regex.groups
        self._regex = regex
        self._root = _plan(regex.root)
        self._inner = {node.number: node.inner for node in _capturing(regex.root)}
        self._tests: dict[Node, re.Pattern[str]] = {}

    def search(self, text: str, start: int = 0) -> Found | None:
        """The first match from a place on."""
        return _Run(self, text).search(start)

    def finditer(self, text: str, start: int = 0) -> Iterator[Found]:
        """All matches; behind an empty one the search goes on a character further."""
        while start <= len(text):
            match = self.search(text, start)
            if match is None:
                return
            yield match
            start = match.end() + (match.end() == match.start())

    def fullmatch(self, text: str) -> bool:
        """Whether the whole text can be the match."""
        return len(text) in _Run(self, text).ends(self._regex.root, 0)

    @property
    def root(self) -> _Part:
        return self._root

    @property
    def ignore_case(self) -> bool:
        return self._regex.ignore_case

    def inner(self, number: int) -> Node:
        """What the group of this number holds."""
        return self._inner[number]

    def test(self, node: Node) -> "re.Pattern[str]":
        """Python's expression for one character or an assertion."""
        if node not in self._tests:
            self._tests[node] = re.compile(python(replace(self._regex, root=node)))
        return self._tests[node]


def _capturing(node: Node) -> Iterator[Group]:
    if isinstance(node, Group) and node.number:
        yield node
    for part in _inside(node):
        yield from _capturing(part)


def _inside(node: Node) -> tuple[Node, ...]:
    if isinstance(node, Group | Repeat | Look):
        return (node.inner,)
    if isinstance(node, Sequence):
        return node.parts
    return node.branches if isinstance(node, Choice) else ()


# --- how an expression is divided ----------------------------------------------------------------------------------


def _up(flags: int) -> int:
    """What a whole has of its parts' properties; parts of both preferences are mixed."""
    return (flags & _MESSY) | (_MIXED if flags & _PREFERENCES == _PREFERENCES else 0)


def _combine(first: int, second: int) -> int:
    return _up(first | second) | ((first & _PREFERENCES) or (second & _PREFERENCES))


def _plan(node: Node) -> _Part:
    if not isinstance(node, Choice):
        return _branch(node.parts if isinstance(node, Sequence) else (node,))
    branches = tuple(map(_plan, node.branches))
    flags = _LONGER
    for branch in branches:
        flags |= _up(branch.flags)
    return _Part("|", flags, node, branches) if flags & _MESSY else _Part("=", flags, node)


def _branch(atoms: tuple[Node, ...]) -> _Part:
    """What stands in sequence: the plain atoms first, as one part, then the first that is not plain, then the rest."""
    flags = 0
    for count, atom in enumerate(atoms):
        low, high, preference, inner = _quantified(atom)
        if high == 0:
            continue
        part = _atom(inner)
        together = flags | preference | part.flags
        if not isinstance(_bare(inner), Back) and not part.flags & _CAPTURES and not _up(together) & _MESSY:
            flags = together
            continue
        rest = _with_rest(_rounds(atom, part, low, high, preference), preference, atoms[count + 1 :])
        if not count:
            return rest
        before = _Part("=", flags, Sequence(atoms[:count]))
        return _Part(".", _combine(flags, rest.flags), Sequence(atoms), (before, rest))
    return _Part("=", flags, Sequence(atoms))


def _bare(node: Node) -> Node:
    while isinstance(node, Group) and not node.number:
        node = node.inner
    return node


def _with_rest(part: _Part, preference: int, atoms: tuple[Node, ...]) -> _Part:
    if not atoms:
        return part
    rest = _branch(atoms)
    flags = _combine(preference, part.flags)
    return _Part(".", flags | _combine(flags, rest.flags), Sequence((part.node, *atoms)), (part, rest))


def _quantified(node: Node) -> tuple[int, int | None, int, Node]:
    """The bounds of an atom, the preference of its quantifier and the atom itself. `{m}` has none of its own."""
    if not isinstance(node, Repeat):
        return 1, 1, 0, node
    preference = 0 if node.is_exact else _LONGER if node.greedy else _SHORTER
    return node.low, node.high, preference, node.inner


def _atom(node: Node) -> _Part:
    if isinstance(node, Back):
        return _Part("b", _REFERS, node, number=node.number)
    if not isinstance(node, Group):
        return _Part("=", 0, node)
    inner = _plan(node.inner)
    return _Part("(", inner.flags | _CAPTURES, node, (inner,), number=node.number) if node.number else inner


def _rounds(node: Node, part: _Part, low: int, high: int | None, preference: int) -> _Part:
    if part.kind == "b":
        return replace(part, flags=part.flags | _combine(preference, part.flags), node=node, low=low, high=high)
    own = part.flags & (_PREFERENCES | _MIXED)
    if low == high == 1 and (not preference or not own or preference == own):
        return part
    flags = _combine(preference, part.flags)
    if low > 0 and not part.flags & _REFERS:
        before = Repeat(part.node, low - 1, None if high is None else high - 1, True)
        return _Part(".", flags, node, (_Part("=", flags & _PREFERENCES, before), part))
    return _Part("*", flags, node, (part,), low=low, high=high)


# --- one text ------------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class _Run:
    """The search in one text. `ends` are those of a subexpression from a place, whatever the groups hold."""

    pattern: Dissector
    text: str
    steps: int = 0
    known: dict[tuple[int, int, bool], tuple[int, ...]] = field(default_factory=dict)
    spans: list[Span | None] = field(default_factory=list)

    def search(self, start: int) -> Found | None:
        """cfindloop: the places between which a match may begin are found by the expression without its references."""
        root, stop = self.pattern.root, len(self.text)
        while start <= stop:
            last = self._last_beginning(root.node, start)
            if last is None:
                return None
            for begin in range(start, last + 1):
                found = self._from(root, begin)
                if found is not None:
                    return found
            start = last + 1
            if start >= stop:
                return None
        return None

    def _last_beginning(self, node: Node, start: int) -> int | None:
        """Where the first match from a place on may end, at the earliest."""
        nearest: int | None = None
        for begin in range(start, len(self.text) + 1):
            if nearest is not None and begin > nearest:
                break
            ends = self.ends(node, begin)
            if ends and (nearest is None or ends[0] < nearest):
                nearest = ends[0]
        return nearest

    def _from(self, root: _Part, begin: int) -> Found | None:
        for end in self._in_order(root, begin, len(self.text)):
            self.spans = [None] * (self.pattern.groups + 1)
            if self._divide(root, begin, end):
                return Found(self.text, ((begin, end), *self.spans[1:]))
        return None

    def _in_order(self, part: _Part, begin: int, limit: int) -> Iterator[int]:
        """The ends of a part up to a limit, those first that it prefers."""
        ends = self.ends(part.node, begin)
        for end in ends if part.prefers_short else reversed(ends):
            if end <= limit:
                yield end

    def _divide(self, part: _Part, begin: int, end: int) -> bool:
        """Whether the part can be exactly this; the groups inside are set. cdissect."""
        self._count(1)
        match part.kind:
            case "=":
                return True
            case "(":
                if not self._divide(part.parts[0], begin, end):
                    return False
                self.spans[part.number] = (begin, end)
                return True
            case ".":
                return self._divide_sequence(part, begin, end)
            case "|":
                return self._divide_choice(part, begin, end)
            case "b":
                return self._repeats(part, begin, end)
            case _:
                return self._divide_rounds(part.parts[0], part, begin, end)

    def _divide_sequence(self, part: _Part, begin: int, end: int) -> bool:
        first, second = part.parts
        for middle in self._in_order(first, begin, end):
            if end not in self.ends(second.node, middle):
                continue
            if self._divide(first, begin, middle) and self._divide(second, middle, end):
                return True
            self._forget(part)
        return False

    def _divide_choice(self, part: _Part, begin: int, end: int) -> bool:
        for branch in part.parts:
            if end in self.ends(branch.node, begin) and self._divide(branch, begin, end):
                return True
            self._forget(branch)
        return False

    def _divide_rounds(self, inner: _Part, part: _Part, begin: int, end: int) -> bool:
        """Rounds of an inner part, each taking what it prefers. citerdissect: first places where the rounds can end,
        then each round is divided, and one that cannot be is ended elsewhere."""
        if part.low <= 0 and begin == end and (inner.prefers_short or end not in self.ends(inner.node, begin)):
            return True
        low = max(part.low, 1)
        most = max(end - begin if part.high is None else min(part.high, end - begin), low)
        places = [begin]
        choices = [self._in_order(inner, begin, end)]
        while choices:
            place = next(choices[-1], None)
            if place is None:
                choices.pop()
                places = places[: len(choices)]
                continue
            count = len(choices)
            places = [*places[:count], place]
            if place != end:
                wasteful = place == places[-2] and (count >= low or low - count < end - place)
                if count < most and not wasteful:
                    choices.append(self._in_order(inner, place, end))
                continue
            if count < low:
                if low - count >= end - place and count < most:
                    choices.append(self._in_order(inner, place, end))
                continue
            failed = self._first_that_fails(inner, places)
            if failed is None:
                return True
            del choices[failed:]
        return False

    def _first_that_fails(self, inner: _Part, places: list[int]) -> int | None:
        """The number, from 1, of the round that cannot be divided; the groups are those of the last round."""
        for number, (begin, end) in enumerate(pairwise(places), 1):
            self._forget(inner)
            if not self._divide(inner, begin, end):
                return number
        return None

    def _repeats(self, part: _Part, begin: int, end: int) -> bool:
        """Whether this is so many times what the group holds. cbrdissect."""
        span = self.spans[part.number]
        if span is None:
            return False
        held = self.text[span[0] : span[1]]
        if not held:
            return begin == end and (part.high is None or part.low <= part.high)
        if begin == end:
            return part.low == 0
        times, rest = divmod(end - begin, len(held))
        if rest or times < part.low or (part.high is not None and times > part.high):
            return False
        there, wanted = self.text[begin:end], held * times
        return there == wanted or (self.pattern.ignore_case and there.lower() == wanted.lower())

    def _forget(self, part: _Part) -> None:
        for inner in part.parts:
            self._forget(inner)
        if part.kind == "(":
            self.spans[part.number] = None

    def _count(self, steps: int) -> None:
        self.steps += steps
        if self.steps > MOST_STEPS:
            raise UnsupportedLiteral("a regular expression that can match a text in so many ways")

    # --- where a subexpression can end ---

    def ends(self, node: Node, begin: int, loosely: bool = False) -> tuple[int, ...]:
        """Every place where `node` can end, in order. `loosely`: without its assertions, as what a reference stands
        for."""
        key = (id(node), begin, loosely)
        known = self.known.get(key)
        if known is None:
            known = self.known[key] = tuple(sorted(self._ends(node, begin, loosely)))
            self._count(1 + len(known))
        return known

    def _ends(self, node: Node, begin: int, loosely: bool) -> set[int]:
        match node:
            case Chars() | Any():
                matched = begin < len(self.text) and self.pattern.test(node).fullmatch(self.text[begin])
                return {begin + 1} if matched else set()
            case Assertion():
                return {begin} if loosely or self.pattern.test(node).match(self.text, begin) else set()
            case Look():
                return {begin} if loosely or self._looks(node, begin) else set()
            case Group():
                return set(self.ends(node.inner, begin, loosely))
            case Choice():
                return {end for branch in node.branches for end in self.ends(branch, begin, loosely)}
            case Sequence():
                places = {begin}
                for part in node.parts:
                    places = {end for place in places for end in self.ends(part, place, loosely)}
                return places
            case Repeat():
                return self._repeated(node, begin, loosely)
            case Back():
                return set(self.ends(self.pattern.inner(node.number), begin, True))
        raise TypeError(type(node).__name__)

    def _repeated(self, node: Repeat, begin: int, loosely: bool) -> set[int]:
        places = {begin}
        for _ in range(node.low):
            places = {end for place in places for end in self.ends(node.inner, place, loosely)}
        reached, edge, rounds = set(places), places, node.low
        while edge and (node.high is None or rounds < node.high):
            edge = {end for place in edge for end in self.ends(node.inner, place, loosely)} - reached
            reached |= edge
            rounds += 1
        return reached

    def _looks(self, node: Look, begin: int) -> bool:
        if node.kind in ("=", "!"):
            return bool(self.ends(node.inner, begin)) == (node.kind == "=")
        behind = any(begin in self.ends(node.inner, place) for place in range(begin, -1, -1))
        return behind == (node.kind == "<=")
