"""Which function or operator an overloaded name means, and the error where it means none.

Source: PostgreSQL documentation, chapter "Type Conversion": Operators (10.2), Functions (10.3).
"""

from collections.abc import Sequence
from typing import Final

from errors import WeirError
from query import advice, fault
from query.functions.postgres_names import has_form, postgresql_functions
from query.functions.registry import AGGREGATES, POLYMORPHIC, REGISTRY, Function, type_named
from query.pg.types import PREFERRED, PgType, implicit, same

_OPERATOR: Final = frozenset("+-*/<>=~!@#%^&|`?")


def _is_operator(name: str) -> bool:
    return name[0] in _OPERATOR


def choose(name: str, types: Sequence[PgType], position: int | None) -> Function:
    """The overload PostgreSQL picks. Raises 42883 when none fits, 42725 when it could not decide."""
    overloads = REGISTRY.named(name)
    fitting = [function for function in overloads if function.accepts(len(types)) and _fits(function, types)]
    if not fitting:
        raise missing(name, types, position)
    if _is_undecided(name, types):
        raise _not_unique(name, types, position)
    if len(fitting) == 1:
        return fitting[0]
    guessed = _same_as_other(types)
    best = [item for item in fitting if _matches(item, guessed) == len(types) and _fits(item, guessed)]
    if best:
        return best[0]
    best = _most(fitting, [_matches(function, types) for function in fitting])
    best = _most(best, [_preference_score(function, types) for function in best])
    if len(best) > 1:
        best = _by_known(_by_unknowns(best, types), types)
    if len(best) > 1:
        raise _not_unique(name, types, position)
    return best[0]


def _is_undecided(name: str, types: Sequence[PgType]) -> bool:
    """True for operands between which PostgreSQL cannot decide, though we have one form that fits."""
    if [pg_type.name for pg_type in types] == ["time", "time"]:
        # Either could be the interval beside the other.
        return name == "+"
    undecided = {1: _AMBIGUOUS_PREFIXES, 2: _AMBIGUOUS}.get(len(types), ())
    return name in undecided and all(pg_type.name == "unknown" for pg_type in types)


def _not_unique(name: str, types: Sequence[PgType], position: int | None) -> WeirError:
    signature = _signature(name, types)
    message = f"operator is not unique: {signature}" if _is_operator(name) else f"function {signature} is not unique"
    return fault.invalid(fault.AMBIGUOUS_FUNCTION, message, position, CASTS_HINT)


_AMBIGUOUS: Final = (*"+-*/%&|#", "->", "->>", "#>", "#>>", "#-", "@>", "<@", "&&", "?&", "?|")
"""Operators of several categories of types: between two untyped literals PostgreSQL cannot decide (10.2 step 3)."""


_AMBIGUOUS_PREFIXES: Final = ("-", "~")


def _same_as_other(types: Sequence[PgType]) -> list[PgType]:
    """For two arguments of which one is an untyped literal: take it for the other's type (10.2 step 2a)."""
    if len(types) == 2 and types[0].name == "unknown":
        return [types[1], types[1]]
    if len(types) == 2 and types[1].name == "unknown":
        return [types[0], types[0]]
    return list(types)


def _most(functions: list[Function], scores: list[int]) -> list[Function]:
    top = max(scores)
    return [function for function, score in zip(functions, scores, strict=True) if score == top]


def _fits(function: Function, types: Sequence[PgType]) -> bool:
    if not _agree(function, types):
        return False
    if any(parameter.type == "anyarray" for parameter in function.parameters):
        plain = [pg_type for index, pg_type in enumerate(types) if function.parameter(index).type == "anyelement"]
        arrays = [pg_type for index, pg_type in enumerate(types) if function.parameter(index).type == "anyarray"]
        if any(pg_type.element is not None for pg_type in plain):
            return False
        if plain and all(pg_type.element is None for pg_type in arrays):
            return False
    return all(_fits_one(function.parameter(index).type, pg_type) for index, pg_type in enumerate(types))


def _agree(function: Function, types: Sequence[PgType]) -> bool:
    """True when one type can stand for anyelement. Most functions convert to a common one, some take it as it is."""
    agreed: PgType | None = None
    for index, pg_type in enumerate(types):
        candidate = stands_for(function.parameter(index).type, pg_type)
        if candidate is None or agreed is None:
            agreed = agreed or candidate
        elif same(agreed, candidate) or (function.name not in _EXACT and implicit(agreed, candidate)):
            agreed = candidate
        elif function.name in _EXACT or not implicit(candidate, agreed):
            return False
    return True


_EXACT: Final = ("@>", "<@", "&&")
"""Functions of two arrays that PostgreSQL declares over anyarray; the others are over anycompatiblearray."""


def stands_for(parameter: str, pg_type: PgType) -> PgType | None:
    """The type that an argument gives anyelement."""
    candidate = pg_type.element if parameter == "anyarray" else pg_type if parameter in POLYMORPHIC[1:] else None
    return None if candidate is None or candidate.name == "unknown" else candidate


def _fits_one(parameter: str, pg_type: PgType) -> bool:
    if parameter in ("any", "anyelement"):
        return True
    if parameter == "anynonarray":
        return pg_type.element is None
    if parameter == "anyarray":
        return pg_type.element is not None or pg_type.name == "unknown"
    return implicit(pg_type, type_named(parameter))


def _matches(function: Function, types: Sequence[PgType]) -> int:
    """How many arguments have exactly the parameter's type."""
    return sum(_is_exact(function.parameter(index).type, pg_type) for index, pg_type in enumerate(types))


def _is_exact(parameter: str, pg_type: PgType) -> bool:
    if parameter in POLYMORPHIC:
        return parameter != "anyarray" or pg_type.element is not None
    return same(pg_type, type_named(parameter))


def _preference_score(function: Function, types: Sequence[PgType]) -> int:
    """How many arguments are exact or become their category's preferred type."""
    score = 0
    for index, pg_type in enumerate(types):
        parameter = function.parameter(index).type
        if _is_exact(parameter, pg_type) or (pg_type.name != "unknown" and parameter in PREFERRED):
            score += 1
    return score


def _by_unknowns(functions: list[Function], types: Sequence[PgType]) -> list[Function]:
    """Decides by the positions of untyped literals (10.3 steps 4e and 4f)."""
    remaining = functions
    for index, pg_type in enumerate(types):
        if pg_type.name != "unknown":
            continue
        texts = [function for function in remaining if function.parameter(index).type in ("text", "any")]
        if texts:
            remaining = texts
            continue
        preferred = [function for function in remaining if function.parameter(index).type in PREFERRED]
        categories = {_category(function.parameter(index).type) for function in remaining}
        if preferred and len(categories) == 1:
            remaining = preferred
    return remaining


def _by_known(functions: list[Function], types: Sequence[PgType]) -> list[Function]:
    """The one function that takes the only known type in the place of the untyped literals, too (10.3 step 4f)."""
    known = {pg_type.name: pg_type for pg_type in types if pg_type.name != "unknown"}
    if len(functions) < 2 or len(known) != 1:
        return functions
    (pg_type,) = known.values()
    taking = [function for function in functions if _fits(function, [pg_type] * len(types))]
    return taking if len(taking) == 1 else functions


def _category(parameter: str) -> str:
    return parameter if parameter in POLYMORPHIC else type_named(parameter).category


def _signature(name: str, types: Sequence[PgType]) -> str:
    if _is_operator(name):
        # The third operand is the escape character, which PostgreSQL's operators have not.
        names = [pg_type.sql_name for pg_type in types[:2]]
        return f" {name} ".join(names) if len(names) == 2 else f"{name} {names[0]}"
    return f"{name}({', '.join(pg_type.sql_name for pg_type in types)})"


def missing(name: str, types: Sequence[PgType], position: int | None) -> WeirError:
    """The error for a name of which no form takes these types: 42883, or 0A000 where PostgreSQL has one."""
    shown, operator = _signature(name, types), _is_operator(name)
    if name == "extract":
        shown = f"pg_catalog.extract(unknown, {types[1].sql_name})"
    if operator and [pg_type.name for pg_type in types[:2]] == ["record", "record"]:
        return fault.unsupported(f"operator {shown}", position)
    message = f"operator does not exist: {shown}" if operator else f"function {shown} does not exist"
    place = advice.TIME_ARGUMENTS.get(name)
    if place is not None and place < len(types) and types[place].name == "text":
        return fault.invalid(fault.UNDEFINED_FUNCTION, message, position, _TIME_HINT)
    if has_form(_PATTERNS.get(name, name), types[:2] if operator else types):
        return fault.unsupported(f"operator {shown}" if operator else f"function {shown}", position)
    if REGISTRY.named(name):
        return fault.invalid(fault.UNDEFINED_FUNCTION, message, position, CASTS_HINT)
    if name in postgresql_functions():
        return fault.unsupported(f"function {name}", position)
    if name.startswith("pg_"):
        return fault.unsupported(f"function {name}", position)
    hint = advice.instead_of_function(name) or fault.nearest("function", name, _function_names(), fault.VERY_NEAR)
    return fault.invalid(fault.UNDEFINED_FUNCTION, message, position, hint)


_PATTERNS: Final = {"similar to": "~", "like": "~~", "ilike": "~~*"}
"""Operators that PostgreSQL has by other names."""

_TIME_HINT: Final = "Text is no time: cast it, as text::timestamptz."
CASTS_HINT: Final = "You might need to add explicit type casts."


def _function_names() -> list[str]:
    """Names that a user can write: those of the registry that are words."""
    return [name for name in (*REGISTRY.names(), *AGGREGATES) if name.isidentifier()]
