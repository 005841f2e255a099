"""The verdict on one query: what PostgreSQL said, what we said, and how far apart they are."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum
from itertools import zip_longest

from tests.oracle.harness.answer import Answer, Failure, Outcome
from tests.oracle.harness.values import Plain, read_ours, read_theirs, same

# These differ in what may be stored, not in what a result shows.
TEXT_FAMILY = frozenset({"text", "varchar", "name", "unknown", "regtype"})


_FAMILY_OF = {False: TEXT_FAMILY, True: frozenset(f"{name}[]" for name in TEXT_FAMILY)}


ENGINE_WORDS = re.compile(
    r"polars|rust|panick|lazyframe|dtype|supertype|ComputeError|SchemaError|InvalidOperation|ShapeError|ColumnNotFound"
    r"|\b[iuf](?:8|16|32|64|128)\b|datetime\[|list\[|conversion from|\bc\d+\b|failed in column|sqlglot",
    re.IGNORECASE,
)
"""What only the engine below would say, or the parser; no user may read it."""


class Verdict(StrEnum):
    """`WRONG`: both answer, differently. `MISSED_ERROR`: PostgreSQL fails, we answer. `REFUSED`: PostgreSQL answers, we
    name a construct that we do not support. `WRONG_ERROR`: we fail otherwise than PostgreSQL, or for no reason."""

    PASS = "pass"
    WRONG = "wrong"
    MISSED_ERROR = "missed_error"
    REFUSED = "refused"
    WRONG_ERROR = "wrong_error"


@dataclass(frozen=True)
class Finding:
    verdict: Verdict
    reason: str = ""


def judge(theirs: Outcome, ours: Outcome, ordered: bool) -> Finding:
    """How our outcome compares. `ordered`: the order of the rows is part of the answer."""
    if isinstance(ours, Failure) and not ours.crash and ENGINE_WORDS.search(ours.message):
        return Finding(Verdict.WRONG_ERROR, f"the engine's own words: {ours.message}")
    if isinstance(theirs, Failure):
        return _judge_error(theirs, ours)
    if isinstance(ours, Failure):
        verdict = Verdict.REFUSED if ours.refusal else Verdict.WRONG_ERROR
        return Finding(verdict, f"got {_shown(ours)}")
    reason = _shape_difference(theirs, ours) or _row_difference(theirs, ours, ordered, read_ours)
    return Finding(Verdict.WRONG, reason) if reason else Finding(Verdict.PASS)


def instability(first: Outcome, second: Outcome, ordered: bool) -> str:
    """How two answers of PostgreSQL to one query differ, over the same rows stored in another order."""
    if isinstance(first, Failure) or isinstance(second, Failure):
        return "" if isinstance(first, Failure) and isinstance(second, Failure) else "only one of them fails"
    return _row_difference(first, second, ordered, read_theirs)


def _judge_error(theirs: Failure, ours: Outcome) -> Finding:
    expected = f"expected {theirs.sqlstate}: {theirs.message}"
    if isinstance(ours, Answer):
        return Finding(Verdict.MISSED_ERROR, f"{expected}; got {len(ours.rows)} rows: {str(ours.rows[:2])[:200]}")
    if ours.crash or (ours.sqlstate not in (None, theirs.sqlstate) and not ours.refusal):
        return Finding(Verdict.WRONG_ERROR, f"{expected}; got {_shown(ours)}")
    return Finding(Verdict.PASS, _misplaced(theirs, ours))


def _shown(failure: Failure) -> str:
    return f"{'crash' if failure.crash else failure.sqlstate}: {failure.message}"


def _misplaced(theirs: Failure, ours: Failure) -> str:
    """A remark on an error that passes but points to another place than PostgreSQL's, or to none."""
    if ours.refusal or theirs.position in (None, ours.position):
        return ""
    return f"position {ours.position} instead of {theirs.position}: {ours.message}"


def _shape_difference(theirs: Answer, ours: Answer) -> str:
    if unique_names(theirs.names) != unique_names(ours.names):
        return f"names: got {list(ours.names)} instead of {list(theirs.names)}"
    for name, expected, got in zip(theirs.names, theirs.types, ours.types, strict=True):
        if got is not None and expected != got and not {expected, got} <= _FAMILY_OF[expected.endswith("[]")]:
            return f"types: {name} is {got} instead of {expected}"
    return ""


def unique_names(names: Sequence[str]) -> list[str]:
    """Names as an answer shows them: a repeated one gets the first free one of `_1`, `_2` ... (api.md section 5)."""
    seen: list[str] = []
    for name in names:
        shown, number = name, 0
        while shown in seen or (number and shown in names):
            number += 1
            shown = f"{name}_{number}"
        seen.append(shown)
    return seen


def _row_difference(theirs: Answer, ours: Answer, ordered: bool, read: Callable[[object, str], Plain]) -> str:
    kinds = [kind or "text" for kind in theirs.types]
    expected = [[read_theirs(value, kind) for value, kind in zip(row, kinds, strict=True)] for row in theirs.rows]
    got = [[read(value, kind) for value, kind in zip(row, kinds, strict=True)] for row in ours.rows]
    if len(expected) != len(got):
        return f"rows: got {len(got)} instead of {len(expected)}; {_sample(got)} against {_sample(expected)}"
    if not ordered:
        expected, got = sorted(expected, key=_sort_key), sorted(got, key=_sort_key)
    difference = _first_difference(expected, got)
    if difference and not ordered and len(got) <= ROWS_TO_MATCH:
        return "" if _matches(expected, got) else difference
    return difference


ROWS_TO_MATCH = 2000
"""Rows up to which an unordered answer is matched row by row when the sorted ones differ."""


def _first_difference(expected: list[list[Plain]], got: list[list[Plain]]) -> str:
    for number, (left, right) in enumerate(zip_longest(expected, got), 1):
        if not all(map(same, left, right)):
            return f"row {number}: got {str(right)[:300]} instead of {str(left)[:300]}"
    return ""


def _matches(expected: list[list[Plain]], got: list[list[Plain]]) -> bool:
    """Whether every row has a partner: sorting alone may part two rows whose floats differ in the last digit."""
    rest = list(got)
    for row in expected:
        partner = next((index for index, other in enumerate(rest) if all(map(same, row, other))), None)
        if partner is None:
            return False
        del rest[partner]
    return True


def _sort_key(row: list[Plain]) -> list[str]:
    """Numbers that are not whole come last and cut to six digits, so that noise does not change the order."""
    exact = [repr(value) for value in row if not isinstance(value, float | Decimal)]
    return exact + [f"{value:.6e}" for value in row if isinstance(value, float | Decimal)]


def _sample(rows: list[list[Plain]]) -> str:
    return str(rows[:2])[:200]
