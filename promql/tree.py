"""The tree of an expression, as Prometheus' promql/parser/ast.go has it. Times are milliseconds."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final, Literal, NamedTuple

AtTime = int | Literal["start", "end"] | None


class Type(StrEnum):
    """The types of PromQL's values, as its API calls them."""

    SCALAR = "scalar"
    VECTOR = "vector"
    MATRIX = "matrix"
    STRING = "string"


DOCUMENTED: Final = {
    Type.SCALAR: "scalar",
    Type.VECTOR: "instant vector",
    Type.MATRIX: "range vector",
    Type.STRING: "string",
}


class Matcher(NamedTuple):
    """`operation` is =, !=, =~ or !~."""

    name: str
    operation: str
    value: str


@dataclass(frozen=True, slots=True)
class Matching:
    """How the two sides of an operation find each other. `card`: one-to-one, many-to-one, one-to-many, many-to-many."""

    card: str = "one-to-one"
    on: bool = False
    labels: tuple[str, ...] = ()
    include: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Number:
    value: float
    at: int = 0


@dataclass(frozen=True, slots=True)
class String:
    value: str
    at: int = 0


@dataclass(frozen=True, slots=True)
class Selector:
    """`name` is what stands before the braces; it is among the matchers too. `fixed`: the time after `@`.

    `statistics`: of histograms only count and sum will be asked."""

    name: str
    matchers: tuple[Matcher, ...]
    offset_ms: int = 0
    fixed: AtTime = None
    at: int = 0
    statistics: bool = False


@dataclass(frozen=True, slots=True)
class Range:
    selector: Selector
    range_ms: int
    at: int = 0


@dataclass(frozen=True, slots=True)
class Subquery:
    expr: "Node"
    range_ms: int
    step_ms: int | None
    offset_ms: int = 0
    fixed: AtTime = None
    at: int = 0


@dataclass(frozen=True, slots=True)
class Call:
    """`types` and `variadic`: what the function takes, and how many more of the last there may be (-1: any)."""

    function: str
    args: tuple["Node", ...]
    at: int = 0
    types: tuple[Type, ...] = ()
    variadic: int = 0


@dataclass(frozen=True, slots=True)
class Aggregate:
    operation: str
    expr: "Node"
    parameter: "Node | None"
    grouping: tuple[str, ...]
    without: bool
    at: int = 0


@dataclass(frozen=True, slots=True)
class Binary:
    """`matching` is None unless both sides are vectors."""

    operation: str
    left: "Node"
    right: "Node"
    matching: Matching | None
    return_bool: bool
    at: int = 0


@dataclass(frozen=True, slots=True)
class Negation:
    expr: "Node"
    at: int = 0


@dataclass(frozen=True, slots=True)
class Paren:
    expr: "Node"
    at: int = 0


@dataclass(frozen=True, slots=True)
class Invariant:
    """What has the same value at every step, so it is evaluated once (promql.StepInvariantExpr)."""

    expr: "Node"
    at: int = 0


Node = Number | String | Selector | Range | Subquery | Call | Aggregate | Binary | Negation | Paren | Invariant

COMPARISONS: Final = frozenset({"==", "!=", "<", ">", "<=", ">="})
SET_OPERATIONS: Final = frozenset({"and", "or", "unless"})
# Functions that give a scalar; all others give a vector.
SCALAR_FUNCTIONS: Final = frozenset({"time", "pi", "scalar", "max_of", "min_of", "start", "end", "range", "step"})


def type_of(node: Node) -> Type:
    match node:
        case Number():
            return Type.SCALAR
        case String():
            return Type.STRING
        case Range() | Subquery():
            return Type.MATRIX
        case Call():
            return Type.SCALAR if node.function in SCALAR_FUNCTIONS else Type.VECTOR
        case Negation() | Paren() | Invariant():
            return type_of(node.expr)
        case Binary():
            is_scalar = type_of(node.left) == type_of(node.right) == Type.SCALAR
            return Type.SCALAR if is_scalar else Type.VECTOR
        case _:
            return Type.VECTOR


def unwrapped(node: Node) -> Node:
    """The expression within any parentheses."""
    while isinstance(node, Paren):
        node = node.expr
    return node


def children(node: Node) -> tuple[Node, ...]:
    match node:
        case Range():
            return (node.selector,)
        case Subquery() | Negation() | Paren() | Invariant():
            return (node.expr,)
        case Call():
            return node.args
        case Aggregate():
            return (node.expr,) if node.parameter is None else (node.parameter, node.expr)
        case Binary():
            return (node.left, node.right)
        case _:
            return ()
