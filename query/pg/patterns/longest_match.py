"""Whether a first-match engine finds the match that PostgreSQL finds.

PostgreSQL takes the longest match at the leftmost place, Rust and Python the first that their order of alternatives
gives. For a test (does it match?) both agree; for what is cut out or replaced they may not. The expression is run as
an ordered set of states: if a lower-priority path could go on where a higher one accepts, the two could differ.
"""

import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Final

from query.pg.patterns.tree import Any, Assertion, Chars, Choice, Group, Look, Node, Regex, Repeat, Sequence

_MOST_STATES: Final = 400
_MOST_EXPANSION: Final = 60
_OTHER: Final = "a"
_SAMPLES: Final = {*(chr(code) for code in range(1, 128)), "é", "Ж", "中", "\u2003", "٣"}
"""Characters of every class, and of those that have another case."""


@dataclass(slots=True)
class _Automaton:
    """States with ordered empty moves, and character moves; `marks` are capture boundaries."""

    empty: list[list[int]] = field(default_factory=list)
    moves: list[tuple[Node, int] | None] = field(default_factory=list)

    def state(self) -> int:
        self.empty.append([])
        self.moves.append(None)
        return len(self.empty) - 1


class _Unknown(Exception):
    """The expression is beyond this analysis."""


def same_match(regex: Regex) -> bool:
    """True if first and longest match are the same for every text. False also when that is not known."""
    greedy = {node.greedy for node in _repeats(regex.root) if _prefers(node)}
    if False in greedy:
        return _lazy(regex)
    try:
        return _is_ordered(regex)
    except _Unknown:
        return False


def same_groups(regex: Regex) -> bool:
    """True if the first match also divides itself among the groups as PostgreSQL does. Alternatives of which one begins
    another could be chosen differently inside the same match."""
    if not same_match(regex) or (regex.groups and any(map(_may_skip_a_group, _repeats(regex.root)))):
        return False
    orders = (order for node in _choices(regex.root) for order in (node, Choice(node.branches[::-1])))
    return not regex.groups or all(same_match(replace(regex, root=order)) for order in orders)


def _may_skip_a_group(node: Repeat) -> bool:
    """True for rounds of which the last may leave a group out that an earlier one has set."""
    return (node.high is None or node.high > 1) and _skips(node.inner)


def _skips(node: Node) -> bool:
    skippable = isinstance(node, Choice) or (isinstance(node, Repeat) and node.low == 0)
    return any((skippable and _captures(inner)) or _skips(inner) for inner in _inner(node))


def _captures(node: Node) -> bool:
    return (isinstance(node, Group) and bool(node.number)) or any(map(_captures, _inner(node)))


def is_lazy(regex: Regex) -> bool:
    """True for an expression with a quantifier that is not greedy."""
    return any(not node.greedy for node in _repeats(regex.root))


def _choices(node: Node) -> Iterator[Choice]:
    if isinstance(node, Choice):
        yield node
    for inner in _inner(node):
        yield from _choices(inner)


def _prefers(node: Repeat) -> bool:
    """True for a quantifier with a preference: also `{1,1}?` makes a match short."""
    return node.low != node.high or not node.is_exact


def _repeats(node: Node) -> Iterator[Repeat]:
    if isinstance(node, Repeat):
        yield node
    for inner in _inner(node):
        yield from _repeats(inner)


def _inner(node: Node) -> tuple[Node, ...]:
    if isinstance(node, Group | Repeat | Look):
        return (node.inner,)
    if isinstance(node, Sequence):
        return node.parts
    return node.branches if isinstance(node, Choice) else ()


def _lazy(regex: Regex) -> bool:
    """One non-greedy quantifier and no alternative: shortest is what both find."""
    variable = [node for node in _repeats(regex.root) if _prefers(node)]
    return len(variable) == 1 and not _has_choice(regex.root)


def _has_choice(node: Node) -> bool:
    return isinstance(node, Choice) or any(_has_choice(inner) for inner in _inner(node))


def _is_ordered(regex: Regex) -> bool:
    automaton = _Automaton()
    start, end = automaton.state(), automaton.state()
    _build(automaton, regex.root, start, end)
    if len(automaton.empty) > _MOST_STATES:
        return False
    letters = _letters(automaton, regex.ignore_case)
    first = _closure(automaton, [start])
    visited = {first}
    pending = [first]
    while pending:
        states = pending.pop()
        if end in states and states[-1] != end:
            return False
        for letter in letters:
            following = _step(automaton, states, letter, regex.ignore_case)
            if following and following not in visited:
                visited.add(following)
                pending.append(following)
                if len(visited) > _MOST_STATES:
                    return False
    return True


def _letters(automaton: _Automaton, ignore_case: bool) -> list[str]:
    """A character of each kind that the expression tells apart."""
    nodes = {move[0] for move in automaton.moves if move is not None}
    sets = [node for node in nodes if isinstance(node, Chars)]
    ends = {code for node in sets for low, high in node.ranges for code in (low - 1, low, high, high + 1)}
    candidates = {chr(code) for code in ends if 0 < code <= sys.maxunicode} | {_OTHER}
    if ignore_case or any(node.classes for node in sets):
        candidates |= _SAMPLES
    representatives = {
        tuple(_reads(node, letter, ignore_case) for node in nodes): letter for letter in sorted(candidates)
    }
    return list(representatives.values())


def _build(automaton: _Automaton, node: Node, start: int, end: int) -> None:
    match node:
        case Any() | Chars():
            automaton.moves[start] = (node, end)
        case Assertion():
            automaton.empty[start].append(end)
        case Group():
            _build_from(automaton, node.inner, start, end)
        case Sequence():
            state = start
            for part in node.parts:
                following = automaton.state()
                _build_from(automaton, part, state, following)
                state = following
            automaton.empty[state].append(end)
        case Choice():
            for branch in node.branches:
                _build_from(automaton, branch, start, end)
        case Repeat():
            _build_repeat(automaton, node, start, end)
        case _:
            raise _Unknown


def _build_from(automaton: _Automaton, node: Node, start: int, end: int) -> None:
    """Builds from a state of its own, so that `start` can have several ordered ways out."""
    entry = automaton.state()
    automaton.empty[start].append(entry)
    _build(automaton, node, entry, end)


def _build_repeat(automaton: _Automaton, node: Repeat, start: int, end: int) -> None:
    high = node.low if node.high is None else node.high
    if high > _MOST_EXPANSION or len(automaton.empty) > _MOST_STATES:
        raise _Unknown
    state = start
    for count in range(high):
        following = automaton.state()
        _build_from(automaton, node.inner, state, following)
        if count >= node.low:
            automaton.empty[state].append(end)
        state = following
    if node.high is None:
        loop = automaton.state()
        automaton.empty[state].append(loop)
        _build_from(automaton, node.inner, loop, loop)
        automaton.empty[loop].append(end)
    else:
        automaton.empty[state].append(end)


def _closure(automaton: _Automaton, states: list[int]) -> tuple[int, ...]:
    """States reachable without reading, in order of priority; only those that read or accept matter."""
    closure: dict[int, None] = {}
    visited: set[int] = set()
    pending = list(reversed(states))
    while pending:
        state = pending.pop()
        if state in visited:
            continue
        visited.add(state)
        if automaton.moves[state] is not None or state == 1:
            closure[state] = None
        pending.extend(reversed(automaton.empty[state]))
    return tuple(closure)


def _step(automaton: _Automaton, states: tuple[int, ...], letter: str, ignore_case: bool) -> tuple[int, ...]:
    targets = []
    for state in states:
        move = automaton.moves[state]
        if move is not None and _reads(move[0], letter, ignore_case):
            targets.append(move[1])
    return _closure(automaton, targets) if targets else ()


def _reads(node: Node, letter: str, ignore_case: bool) -> bool:
    if isinstance(node, Any):
        return True
    if not isinstance(node, Chars):
        return False
    letters = {letter, letter.lower(), letter.upper()} if ignore_case else {letter}
    return any(_in_set(node, one) for one in letters if len(one) == 1) != node.negated


def _in_set(node: Chars, letter: str) -> bool:
    code = ord(letter)
    if any(low <= code <= high for low, high in node.ranges):
        return True
    return any(_in_class(name, letter) for name in node.classes)


def _in_class(name: str, letter: str) -> bool:
    test = _CLASSES.get(name)
    return test is None or test(letter)


_CLASSES: Final[dict[str, Callable[[str], bool]]] = {
    "digit": lambda letter: letter in "0123456789",
    "word": lambda letter: letter.isalnum() or letter == "_",
    "space": str.isspace,
    "alpha": str.isalpha,
    "alnum": str.isalnum,
    "lower": str.islower,
    "upper": str.isupper,
    "blank": lambda letter: letter in " \t",
    "xdigit": lambda letter: letter in "0123456789abcdefABCDEF",
    "punct": lambda letter: letter.isascii() and letter.isprintable() and not letter.isalnum() and letter != " ",
    "cntrl": lambda letter: ord(letter) < 32 or ord(letter) == 127,
}
