"""The one list of functions and operators: names, types, meaning and how each becomes a Polars expression.

An entry is written as PostgreSQL writes a signature, `split_part(text, text, int4) -> text`, with two marks:
`!` after a parameter that has to be a constant (the builder gets its value, not an expression), and `...` after the
last one when it repeats. An operator is a function whose name is the operator itself.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Final, Protocol

import polars as pl

from query.pg.types import SIMPLE, PgType, array_of

ResultRule = Callable[[tuple[PgType, ...]], PgType]
POLYMORPHIC: Final = ("any", "anyelement", "anyarray", "anynonarray")


class Site(Protocol):
    """What a builder may ask about the call it builds: types, place, and ways to fail at run time."""

    @property
    def types(self) -> tuple[PgType, ...]:
        """The arguments' types."""

    @property
    def result(self) -> PgType:
        """The call's type."""

    @property
    def position(self) -> int | None:
        """Its place in the statement, from 1."""

    def constant(self, index: int) -> object | None:
        """The value of an argument that is a constant; None if it is not, or is NULL."""

    def trap(self, value: pl.Expr, bad: pl.Expr, fault: str) -> pl.Expr:
        """`value`, but an error of kind `fault` (expr.row_errors) if `bad` holds for a row that is needed."""

    def needed(self, value: pl.Expr) -> pl.Expr:
        """`value`, null on rows whose result nobody needs, so that a strict conversion cannot fail on them."""

    def rowwise(self, function: Callable[..., object], *args: pl.Expr) -> pl.Expr:
        """`function` over each row's values, null if one is null; for what Polars has no expression for."""


Builder = Callable[..., pl.Expr]


@dataclass(frozen=True, slots=True)
class Parameter:
    type: str
    constant: bool = False


@dataclass(frozen=True, slots=True)
class Function:
    """One form of a function. `strict`: NULL where an argument is, the others not looked at (PostgreSQL's proisstrict).
    `guarded`: strict, but what `build` makes of a NULL is not, so the lowering keeps such rows from it and its errors.
    Every function is tried with NULL at every place: tests/oracle/test_functions.py."""

    key: str
    name: str
    parameters: tuple[Parameter, ...]
    variadic: bool
    result: str | ResultRule
    result_text: str
    build: Builder
    summary: str
    family: str
    volatile: bool = False
    strict: bool = True
    guarded: bool = False

    def parameter(self, index: int) -> Parameter:
        return self.parameters[min(index, len(self.parameters) - 1)]

    def accepts(self, count: int) -> bool:
        """True when the function can be called with `count` arguments."""
        if self.variadic:
            return count >= len(self.parameters)
        return count == len(self.parameters)


class Registry:
    """Functions by name. Filled while the family modules are imported, constant afterwards."""

    def __init__(self) -> None:
        self._by_name: dict[str, list[Function]] = {}
        self._by_key: dict[str, Function] = {}

    def add(self, function: Function) -> None:
        if function.key in self._by_key:
            raise ValueError(f"{function.key} is registered twice")
        self._by_name.setdefault(function.name, []).append(function)
        self._by_key[function.key] = function

    def named(self, name: str) -> list[Function]:
        return self._by_name.get(name, [])

    def get(self, key: str) -> Function:
        return self._by_key[key]

    def names(self) -> list[str]:
        return list(self._by_name)

    def all(self) -> list[Function]:
        return list(self._by_key.values())


REGISTRY: Final = Registry()
_SIGNATURE: Final = re.compile(r"^([^()]+)\((.*)\) -> (.+)$")


def define(
    signatures: str,
    summary: str,
    *,
    family: str,
    result: ResultRule | None = None,
    volatile: bool = False,
    strict: bool = True,
    guarded: bool = False,
) -> Callable[[Builder], Builder]:
    """Registers a builder for every signature in `signatures`, separated by `;`. `result` overrides the type after
    the arrow when it depends on the arguments; for the flags see `Function`."""

    def register(build: Builder) -> Builder:
        for signature in signatures.split(";"):
            made = _parsed(signature.strip(), build, summary, family)
            made = replace(made, result=result or made.result, volatile=volatile, strict=strict, guarded=guarded)
            REGISTRY.add(made)
        return build

    return register


def _parsed(signature: str, build: Builder, summary: str, family: str) -> Function:
    match = _SIGNATURE.match(signature)
    if match is None:
        raise ValueError(f"bad signature {signature!r}")
    name, inside, returned = match.groups()
    words = [word.strip() for word in inside.split(",") if word.strip()]
    variadic = bool(words) and words[-1].endswith("...")
    parameters = tuple(Parameter(word.removesuffix("...").removesuffix("!"), "!" in word) for word in words)
    key = f"{name}({inside})"
    return Function(key, name, parameters, variadic, returned, returned, build, summary, family)


def type_named(name: str) -> PgType:
    """The type of a signature's word: `int4`, `text[]`."""
    if name.endswith("[]"):
        return array_of(type_named(name[:-2]))
    return SIMPLE[name]


@dataclass(frozen=True, slots=True)
class Aggregate:
    """An aggregate's signatures are looked up like a function's; building it is lower.aggregates' business."""

    name: str
    parameters: tuple[str, ...]
    result: ResultRule
    result_text: str
    summary: str
    ordered_set: bool = False
    direct: int = 0


AGGREGATES: Final[dict[str, list[Aggregate]]] = {}
WINDOW_FUNCTIONS: Final[dict[str, str]] = {
    "row_number": "Number of the row within its partition, from 1.",
    "rank": "Rank with gaps.",
    "dense_rank": "Rank without gaps.",
    "percent_rank": "Relative rank: (rank - 1) / (rows - 1).",
    "cume_dist": "Share of rows at or before the current one.",
    "ntile": "Bucket number from 1 to n.",
    "lag": "Value of an earlier row of the partition.",
    "lead": "Value of a later row of the partition.",
    "first_value": "Value of the first row of the frame.",
    "last_value": "Value of the last row of the frame.",
    "nth_value": "Value of the n-th row of the frame.",
}


def by_family() -> Mapping[str, list[Function]]:
    """All functions, grouped for the documentation."""
    families: dict[str, list[Function]] = {}
    for function in REGISTRY.all():
        families.setdefault(function.family, []).append(function)
    return families
