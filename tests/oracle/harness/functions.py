"""Calls of every function of the registry with the edges of its arguments' types, asked of both sides.

A call is tried over columns, many rows in one query, and with literals, which the compiler folds. Rows at which
PostgreSQL fails are asked one by one: their SQLSTATE has to be ours. A refusal passes, an answer has to be the same.
"""

import itertools
import math
import random
from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from query.functions.registry import REGISTRY, Function
from tests.oracle.harness import edges
from tests.oracle.harness.answer import Answer, Failure, Outcome
from tests.oracle.harness.session import Session
from tests.oracle.harness.verdict import Finding, Verdict, judge

ROWS: Final = 40
CONSTANT_SETS: Final = 60
FLOAT_PRECISION: Final = 1e-13
UNCALLABLE: Final = (
    *("json_each values", "jsonb_each values", "json_each_text values", "jsonb_each_text values"),
    *(
        "json rows",
        "json row",
        "row to json",
        "numeric text",
        "quotient digits",
        "mean of parts",
        "vector matches",
        "input is valid",
    ),
)
"""Entries that stand for a part of a construct in FROM, for what the binder makes of a numeric, or that take values of
a type without literals."""

INEXACT: Final = (
    *("log", "log10", "ln", "exp", "power", "pow", "^", "sin", "cos", "tan", "cot", "asin", "acos", "atan", "atan2"),
    *("sinh", "cosh", "tanh", "asinh", "acosh", "atanh", "erf", "erfc"),
    *("sind", "cosd", "tand", "cotd", "asind", "acosd", "atand", "atan2d"),
)
"""Functions of which the last digit depends on the library of the platform: their texts are not compared."""

FORMS: Final = {
    "@": "(@ ({0}))",
    "array element": "({0})[{1}]",
    "jsonb subscript": "({0})[{1}]",
    "periods overlap": "(({0}, {1}) OVERLAPS ({2}, {3}))",
    "array slice": "({0})[{1}:{2}]",
    "is not distinct from": "({0} IS NOT DISTINCT FROM {1})",
    "~~": "({0} LIKE {1} ESCAPE {2:plain})",
    "~~*": "({0} ILIKE {1} ESCAPE {2:plain})",
    "like": "({0} LIKE {1} ESCAPE {2:plain})",
    "ilike": "({0} ILIKE {1} ESCAPE {2:plain})",
    "similar to": "({0} SIMILAR TO {1} ESCAPE {2:plain})",
    "is json": "({0} IS JSON)",
    "text vector": "to_tsvector('simple', {0})",
    "has lexemes": "(to_tsvector('simple', {0}) @@ {1})",
    "extract": "extract({0:word} FROM {1})",
    "quotient text": "(({0}) / ({1}))::text",
    "normalize": "normalize({0}, {1:word})",
    "is_normalized": "({0} IS {1:word} NORMALIZED)",
    **{f"{symbol} any": f"({{0}} {symbol} ANY ({{1}}))" for symbol in ("=", "<>", "<", "<=", ">", ">=")},
    **{f"{symbol} all": f"({{0}} {symbol} ALL ({{1}}))" for symbol in ("=", "<>", "<", "<=", ">", ">=")},
}
"""How calls are written that are neither functions nor operators by their names."""


@dataclass(frozen=True)
class Argument:
    """The type of an argument and the values to try, as texts; None is NULL. A constant is written into the call."""

    type: str
    values: tuple[str | None, ...]
    constant: bool = False

    def literal(self, value: str | None) -> str:
        if value is None:
            return f"NULL::{self.type}"
        escaped = value if self.type == "text" and "''" in value else value.replace("'", "''")
        return f"'{escaped}'::{self.type}"


class _Word(str):
    """A literal that a form may ask for as a bare word, `{0:word}`, or without its type, `{0:plain}`."""

    def __format__(self, form: str) -> str:
        if form == "word" and "'" in self:
            return self.split("'")[1]
        return self.rpartition("::")[0] if form == "plain" else str(self)


def callables() -> list[Function]:
    """The functions of the registry that a query can call by one expression."""
    return [function for function in REGISTRY.all() if function.name not in UNCALLABLE and not function.volatile]


def check(session: Session, function: Function, rows: int = ROWS, sets: int = CONSTANT_SETS) -> list[str]:
    """What differs between the two sides, one line for each query."""
    source = random.Random(function.key)
    found: list[str] = []
    for arguments in _instances(function):
        for constants in _chosen([_constants(arguments)], source, sets):
            found += _differences(session, function, arguments, constants[0], source, rows)
    return found


def _instances(function: Function) -> Iterator[list[Argument]]:
    """The function's arguments, once for each type that a polymorphic parameter stands for."""
    names = [parameter.type for parameter in function.parameters]
    if function.variadic:
        names.append(names[-1])
    generic = [name for name in names if name.startswith("any")]
    if not generic:
        yield _arguments(function, names)
    elif "any" in generic and not function.name.startswith(("=", "<", ">", "is not", "greatest", "least")):
        for kind in edges.ANYTHING:
            yield _arguments(function, ["text" if _is_key(function, i) else kind if n == "any" else n
                                        for i, n in enumerate(names)])  # fmt: skip
    else:
        kinds = edges.ANYTHING if "any" in generic else edges.ELEMENTS
        for kind in kinds:
            stands = {"any": kind, "anyelement": kind, "anynonarray": kind, "anyarray": f"{kind}[]"}
            yield _arguments(function, [stands.get(name, name) for name in names])


def _is_key(function: Function, index: int) -> bool:
    return function.name.endswith("build_object") and index % 2 == 0


def _arguments(function: Function, names: Sequence[str]) -> list[Argument]:
    made = []
    for index, name in enumerate(names):
        constant = function.parameter(index).constant
        values: tuple[str, ...] = edges.EDGES[name]
        if constant:
            values = edges.CONSTANTS.get((function.name, index), values)
        if function.name == "to_char" and index == 1:
            values = edges.TIME_TEMPLATES if names[0].startswith(("time", "interval")) else edges.NUMBER_TEMPLATES
        is_word = f"{{{index}:word}}" in FORMS.get(function.name, "")
        made.append(Argument(name, values if is_word else (*values, None), constant))
    if function.name == "generate_series":
        ends = edges.SERIES if names[0].startswith("int") else edges.SERIES_TIMES
        made = [argument if argument.constant else Argument(argument.type, ends) for argument in made]
    if function.name.startswith("make_"):
        made = [
            argument if argument.constant else Argument(argument.type, edges.PARTS[argument.type]) for argument in made
        ]
    if function.name == "split_part" or function.name.startswith("string_to"):
        made[1] = Argument("text", (",", "", "X", "b", None))
    return made


def _constants(arguments: Sequence[Argument]) -> list[tuple[str | None, ...]]:
    return list(itertools.product(*(argument.values for argument in arguments if argument.constant)))


def _chosen(spaces: list[list[tuple[str | None, ...]]], source: random.Random, most: int) -> list:
    combinations = list(itertools.product(*spaces))
    return combinations if len(combinations) <= most else source.sample(combinations, most)


def _rows(arguments: Sequence[Argument], source: random.Random, most: int) -> list[tuple[str | None, ...]]:
    """Combinations of the values of the arguments that are columns: all, or each value of each at least once."""
    columns = [argument.values for argument in arguments if not argument.constant]
    if math.prod(map(len, columns)) <= most:
        return list(itertools.product(*columns))
    needed = max(map(len, columns))
    rows = [tuple(source.choice(values) for values in columns) for _ in range(max(0, most - needed))]
    shuffled = [source.sample(values, len(values)) for values in columns]
    rows += [tuple(values[row % len(values)] for values in shuffled) for row in range(needed)]
    return list(dict.fromkeys(rows))


def _differences(
    session: Session,
    function: Function,
    arguments: Sequence[Argument],
    constants: tuple[str | None, ...],
    source: random.Random,
    most: int,
) -> list[str]:
    if function.name in edges.READ or function.name == "to_date":
        pairs = edges.READ["to_timestamp"]
        if len(arguments) == 2:
            queries = [f"SELECT {function.name}('{text}', '{form}') AS r" for text, form in pairs]
            return _each(session, queries) if constants[0] is None else []
    rows = _rows(arguments, source, most)
    columns = [argument for argument in arguments if not argument.constant]
    call = _call(function, arguments, constants, [f"v.c{index}" for index in range(len(columns))])
    single = {row: _over(call, columns, [row]) for row in rows}
    theirs = {row: session.reference.run(query) for row, query in single.items()}
    good = [row for row in rows if isinstance(theirs[row], Answer)]
    bad = [row for row in rows if row not in good]
    states = {outcome.sqlstate for outcome in theirs.values() if isinstance(outcome, Failure)}
    found: list[str] = []
    if good and columns:
        finding = _ask(session, _over(call, columns, good))
        if finding.verdict is not Verdict.PASS:
            alone = _each(session, [single[row] for row in good], states)
            found += alone or _told(finding, _over(call, columns, good), states)
        numeric = next((o for row in good if isinstance(o := theirs[row], Answer)), None)
        if (
            function.name not in INEXACT
            and numeric is not None
            and numeric.types[-1] in ("numeric", "float8", "interval", "float8[]", "timestamp")
        ):
            query = _over(f"({call})::text", columns, good)
            found += _told(_ask(session, query), query, states)
    found += _each(session, [single[row] for row in bad])
    few = source.sample(rows, min(len(rows), 6))
    few += [row for row in rows if None in row][:6]
    found += _each(session, [_literally(function, arguments, constants, row) for row in dict.fromkeys(few)])
    return found


def _call(
    function: Function, arguments: Sequence[Argument], constants: Sequence[str | None], columns: Sequence[str]
) -> str:
    rest, given = iter(columns), iter(constants)
    parts = [_Word(argument.literal(next(given)) if argument.constant else next(rest)) for argument in arguments]
    form = FORMS.get(function.name)
    if form is not None:
        return form.format(*parts)
    if function.name[0].isalpha():
        return f"{function.name}({', '.join(parts)})"
    return f"({parts[0]} {function.name} {parts[1]})" if len(parts) == 2 else f"({function.name} {parts[0]})"


def _over(call: str, columns: Sequence[Argument], rows: Sequence[tuple[str | None, ...]]) -> str:
    """The call over a table of these rows."""
    if not columns:
        return f"SELECT {call} AS r"
    names = ", ".join(f"c{index}" for index in range(len(columns)))
    lines = (
        ", ".join([str(number), *(column.literal(value) for column, value in zip(columns, row, strict=True))])
        for number, row in enumerate(rows)
    )
    return f"SELECT v.n, {call} AS r FROM (VALUES {', '.join(f'({line})' for line in lines)}) AS v(n, {names})"


def _literally(
    function: Function, arguments: Sequence[Argument], constants: Sequence[str | None], row: Sequence[str | None]
) -> str:
    columns = [argument for argument in arguments if not argument.constant]
    written = [column.literal(value) for column, value in zip(columns, row, strict=True)]
    return f"SELECT {_call(function, arguments, constants, written)} AS r"


def _each(session: Session, queries: Sequence[str], states: Container[str | None] = ()) -> list[str]:
    return [line for query in queries for line in _told(_ask(session, query), query, states)]


def _told(finding: Finding, query: str, states: Container[str | None] = ()) -> list[str]:
    """What does not pass. An error of these `states` does, where PostgreSQL does not look at the constant that is
    wrong because another argument is NULL in all rows: we say so when the statement is compiled."""
    early = finding.verdict is Verdict.WRONG_ERROR and finding.reason[4:9] in states
    passes = early or finding.verdict in (Verdict.PASS, Verdict.REFUSED)
    return [] if passes else [f"{finding.verdict}: {query}\n        {finding.reason}"]


def _ask(session: Session, query: str) -> Finding:
    theirs, ours = session.reference.run(query), session.subject.run(query)
    finding = judge(theirs, ours, ordered=False)
    if finding.verdict is not Verdict.PASS:
        return finding
    reason = _imprecise(theirs, ours)
    return Finding(Verdict.WRONG, reason) if reason else finding


def _imprecise(theirs: Outcome, ours: Outcome) -> str:
    """A float that the oracle's tolerance for sums lets pass: a tiny one for zero, a zero of the other sign."""
    if isinstance(theirs, Failure) or isinstance(ours, Failure) or theirs.types[-1] != "float8":
        return ""
    by_number = {row[0]: row[-1] for row in ours.rows} if len(theirs.types) > 1 else {None: ours.rows[0][0]}
    for row in theirs.rows:
        expected, got = row[-1], by_number[int(str(row[0])) if len(row) > 1 else None]
        if isinstance(expected, str) and isinstance(got, float) and not _precise(float(expected), got):
            return f"row {row[0]}: got {got!r} instead of {expected}"
    return ""


def _precise(expected: float, got: float) -> bool:
    if math.isnan(expected) or math.isinf(expected):
        return True
    same_sign = math.copysign(1, expected) == math.copysign(1, got)
    return same_sign and math.isclose(expected, got, rel_tol=FLOAT_PRECISION, abs_tol=0)
