"""The one list of functions and operators: names, types, meaning and how each becomes a Polars expression.

An entry is written as PostgreSQL writes a signature, `split_part(text, text, int4) -> text`, with two marks:
`!` after a parameter that has to be a constant (the builder gets its value, not an expression), and `...` after the
last one when it repeats. An operator is a function whose name is the operator itself.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Final, Protocol

import polars as pl

from query.expr.aggregate_plans import Plan
from query.pg.types import SIMPLE, PgType, array_of
from query.plan.tree import Scalar, WindowCall

ResultRule = Callable[[tuple[PgType, ...]], PgType]
POLYMORPHIC: Final = ("any", "anyelement", "anyarray", "anynonarray")


Builder = Callable[..., pl.Expr]


@dataclass(frozen=True, slots=True)
class Parameter:
    type: str
    constant: bool = False


@dataclass(frozen=True, slots=True)
class Function:
    """One form of a function. `strict`: NULL where an argument is, the others not looked at (PostgreSQL's proisstrict).
    `skips_null_rows`: strict, but the expression that `build` makes is not, so the lowering keeps NULLs from it.
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
    skips_null_rows: bool = False

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
    skips_null_rows: bool = False,
    mirrored: str = "",
) -> Callable[[Builder], Builder]:
    """Registers a builder for every signature in `signatures`, separated by `;`. `result` overrides the type after
    the arrow when it depends on the arguments; `mirrored` is the operator that means the same with its operands
    exchanged, which is registered too; for the flags see `Function`."""

    def register(build: Builder) -> Builder:
        for signature in signatures.split(";"):
            function = _parse_signature(signature.strip(), build, summary, family)
            function = replace(
                function,
                result=result or function.result,
                volatile=volatile,
                strict=strict,
                skips_null_rows=skips_null_rows,
            )
            REGISTRY.add(function)
            if mirrored:
                REGISTRY.add(_mirror(function, mirrored))
        return build

    return register


class _CallContext(Protocol):
    """query.expr.call_context.CallContext, as far as it matters here."""

    def swapped(self) -> "_CallContext": ...


def _mirror(function: Function, name: str) -> Function:
    """The operator with its operands exchanged; its builder is asked with the call as it would be for the original."""
    left, right = function.parameters
    result = function.result

    def build(context: _CallContext, first: pl.Expr, second: pl.Expr) -> pl.Expr:
        return function.build(context.swapped(), second, first)

    return replace(
        function,
        key=f"{name}({_parameter_text(right)}, {_parameter_text(left)})",
        name=name,
        parameters=(right, left),
        result=result if isinstance(result, str) else lambda types: result(types[::-1]),
        build=build,
    )


def _parameter_text(parameter: Parameter) -> str:
    return parameter.type + ("!" if parameter.constant else "")


@dataclass(frozen=True, slots=True)
class ArgumentNames:
    """The names of a function's arguments, in order. `short` are those of a form whose names are not the first ones of
    the longest; `defaults` are those of the last arguments, which may be left out."""

    names: tuple[str, ...]
    short: tuple[str, ...] = ()
    defaults: tuple[int | bool | str, ...] = ()


ARGUMENT_NAMES: Final[dict[str, ArgumentNames]] = {}
"""A function that is not here has no names in pg_proc.proargnames of PostgreSQL 18 either."""


def argument_names(functions: str, names: str, short: str = "", defaults: tuple[int | bool | str, ...] = ()) -> None:
    """Lets calls of these functions name their arguments: `make_date(year => 2024, month => 1, day => 1)`."""
    for function in _words(functions):
        ARGUMENT_NAMES[function] = ArgumentNames(_words(names), _words(short), defaults)


def _parse_signature(signature: str, build: Builder, summary: str, family: str) -> Function:
    match = _SIGNATURE.match(signature)
    if match is None:
        raise ValueError(f"bad signature {signature!r}")
    name, inside, returned = match.groups()
    words = [word.strip() for word in inside.split(",") if word.strip()]
    variadic = bool(words) and words[-1].endswith("...")
    parameters = tuple(Parameter(word.removesuffix("...").removesuffix("!"), "!" in word) for word in words)
    key = f"{name}({inside})"
    return Function(key, name, parameters, variadic, returned, returned, build, summary, family)


@cache
def type_named(name: str) -> PgType:
    """The type of a signature's word: `int4`, `text[]`."""
    if name.endswith("[]"):
        return array_of(type_named(name[:-2]))
    return SIMPLE[name]


AggregateBuilder = Callable[..., Plan]
"""Makes the plan of query.expr.aggregate_inputs.AggregateInputs."""

_AGGREGATE: Final = re.compile(r"^([^()]+)\((.*?)\)(?: WITHIN GROUP \(ORDER BY (.+)\))? -> (.+)$")


@dataclass(frozen=True, slots=True)
class Aggregate:
    """One form of an aggregate. Of an ordered-set aggregate `direct` are the types before WITHIN GROUP, `parameters`
    the ordering ones. `shares_values`: calls with equal order and FILTER read one list of values, sorted once."""

    name: str
    parameters: tuple[str, ...]
    result: ResultRule
    result_text: str
    build: AggregateBuilder
    summary: str
    direct: tuple[str, ...] | None = None
    shares_values: bool = False

    @property
    def ordered_set(self) -> bool:
        return self.direct is not None


AGGREGATES: Final[dict[str, list[Aggregate]]] = {}


def aggregate(
    signatures: str, summary: str, *, result: ResultRule | None = None, shares_values: bool = False
) -> Callable[[AggregateBuilder], AggregateBuilder]:
    """Registers a builder of plans for every signature, separated by `;`: `sum(int4) -> int8`, of an ordered-set
    aggregate `mode() WITHIN GROUP (ORDER BY any) -> anyelement`. `result` as for `define`."""

    def register(build: AggregateBuilder) -> AggregateBuilder:
        for signature in signatures.split(";"):
            aggregate = _parsed_aggregate(signature.strip(), build, summary)
            aggregate = replace(aggregate, result=result or aggregate.result, shares_values=shares_values)
            AGGREGATES.setdefault(aggregate.name, []).append(aggregate)
        return build

    return register


def _parsed_aggregate(signature: str, build: AggregateBuilder, summary: str) -> Aggregate:
    match = _AGGREGATE.match(signature)
    if match is None:
        raise ValueError(f"bad signature {signature!r}")
    name, inside, ordering, returned = match.groups()
    if ordering is None:
        return Aggregate(name, _words(inside), _rule(returned), returned, build, summary)
    return Aggregate(name, _words(ordering), _rule(returned), returned, build, summary, _words(inside))


def _words(parameters: str) -> tuple[str, ...]:
    return tuple(word.strip() for word in parameters.split(",") if word.strip())


def _rule(returned: str) -> ResultRule:
    """The type after an arrow: `anyelement` and `anyarray` are made of the first argument's."""
    if returned == "anyelement":
        return lambda types: types[0]
    if returned == "anyarray":
        return lambda types: array_of(types[0])
    pg_type = type_named(returned)
    return lambda types: pg_type


def aggregate_of(name: str, types: Sequence[PgType]) -> Aggregate | None:
    """The form of an aggregate for arguments, or ordering values, that have its types already."""
    forms = [form for form in AGGREGATES.get(name, ()) if len(form.parameters) == len(types)]
    exact = (form for form in forms if all(map(_has_type, form.parameters, types)))
    return next(exact, None)


def shares_values(name: str) -> bool:
    """True for an aggregate whose calls over the same values in the same order read one list."""
    return any(form.shares_values for form in AGGREGATES.get(name, ()))


def _has_type(word: str, pg_type: PgType) -> bool:
    return word == "any" or (word == "anyarray" and pg_type.element is not None) or word == pg_type.name


WindowBuilder = Callable[[WindowCall], pl.Expr]


@dataclass(frozen=True, slots=True)
class WindowFunction:
    """One form of a window function; a `framed` one looks at the frame of a row, the others at its partition."""

    name: str
    parameters: tuple[str, ...]
    result: str
    build: WindowBuilder
    summary: str
    framed: bool = False


WINDOW_FUNCTIONS: Final[dict[str, list[WindowFunction]]] = {}


def window(signatures: str, summary: str, *, framed: bool = False) -> Callable[[WindowBuilder], WindowBuilder]:
    """Registers a builder over the columns of query.expr.window_columns for every signature: `ntile(int4) -> int4`."""

    def register(build: WindowBuilder) -> WindowBuilder:
        for signature in signatures.split(";"):
            match = _SIGNATURE.match(signature.strip())
            if match is None:
                raise ValueError(f"bad signature {signature!r}")
            name, inside, returned = match.groups()
            function = WindowFunction(name, _words(inside), returned, build, summary, framed)
            WINDOW_FUNCTIONS.setdefault(name, []).append(function)
        return build

    return register


SyntaxBinder = Callable[..., Scalar]


@dataclass(frozen=True, slots=True)
class Syntax:
    """A construct with a binder of its own: `form` as it is written, for the documentation unless empty."""

    form: str
    summary: str
    bind: SyntaxBinder


SYNTAX: Final[dict[str | type, Syntax]] = {}


def syntax(*keys: str | type, form: str = "", summary: str = "") -> Callable[[SyntaxBinder], SyntaxBinder]:
    """Registers the binder, of a node and its block, for nodes of these types or calls by these names."""

    def register(bind: SyntaxBinder) -> SyntaxBinder:
        for key in keys:
            if key in SYNTAX:
                raise ValueError(f"{key} is registered twice")
            SYNTAX[key] = Syntax(form, summary, bind)
        return bind

    return register


def by_family() -> Mapping[str, list[Function]]:
    """All functions, grouped for the documentation."""
    families: dict[str, list[Function]] = {}
    for function in REGISTRY.all():
        families.setdefault(function.family, []).append(function)
    return families
