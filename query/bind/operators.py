"""Operators and casts: symbols of the syntax tree -> calls of the registry."""

from collections.abc import Sequence
from typing import Final

from sqlglot import exp

from errors import InvalidSQL
from query import fault
from query.bind.block import Block
from query.bind.endless import by_presence, compared, converted
from query.bind.literals import read_literal
from query.bind.matches import bind_match
from query.bind.type_names import TypeName
from query.bind.type_resolution import call, coerce, comparable
from query.functions.registry import syntax
from query.pg.types import (
    BOOL,
    INT4,
    INT8,
    INTEGERS,
    NUMBERS,
    NUMERIC,
    PgType,
    dimensions,
    leaf,
    natural,
    nested,
    numeric,
    same,
)
from query.plan.tree import Call, Cast, Constant, IsNull, Logic, Not, RowOf, Scalar, truth
from query.syntax.dialect import Plus
from query.syntax.positions import operator_of, position_of

_SYMBOLS: Final[dict[type[exp.Expr], str]] = {
    exp.Add: "+",
    exp.Sub: "-",
    exp.Mul: "*",
    exp.Div: "/",
    exp.Mod: "%",
    exp.Pow: "^",
    exp.BitwiseAnd: "&",
    exp.BitwiseOr: "|",
    exp.BitwiseXor: "#",
    exp.BitwiseLeftShift: "<<",
    exp.BitwiseRightShift: ">>",
    exp.Neg: "-",
    Plus: "+",
    exp.BitwiseNot: "~",
    exp.Abs: "@",
    exp.Sqrt: "|/",
    exp.Cbrt: "||/",
}
COMPARISONS: Final[dict[type[exp.Expr], str]] = {
    exp.EQ: "=",
    exp.NEQ: "<>",
    exp.GT: ">",
    exp.GTE: ">=",
    exp.LT: "<",
    exp.LTE: "<=",
}
OPERATOR_FUNCTIONS: Final = (
    "->",
    "->>",
    "#>",
    "#>>",
    "?",
    "?&",
    "?|",
    "@>",
    "<@",
    "&&",
    "#-",
    "^@",
    "<<=",
    ">>=",
    "@?",
    "@@",
)
_NEGATED: Final = ("int4", "int8", "numeric")
_UNSORTABLE: Final = {"json": "could not identify an ordering operator for type json"}


@syntax(*(exp.Add, exp.Sub, exp.Mul, exp.Div, exp.Mod, exp.Pow))
@syntax(*(exp.BitwiseAnd, exp.BitwiseOr, exp.BitwiseXor, exp.BitwiseLeftShift, exp.BitwiseRightShift))
def bind_binary(node: exp.Expr, block: Block) -> Scalar:
    """Arithmetic and bits."""
    symbol = _SYMBOLS[type(node)]
    left, right = block.bind(node.this), block.bind(node.args["expression"])
    return call(symbol, [left, right], operator_of(node))


@syntax(Plus, exp.Neg, exp.BitwiseNot, exp.Abs, exp.Sqrt, exp.Cbrt)
def bind_unary(node: exp.Expr, block: Block) -> Scalar:
    """Signs, bitwise not, and the prefix operators `@`, `|/`, `||/`."""
    value = block.bind(node.this)
    if isinstance(node, exp.Neg) and isinstance(value, Constant) and _is_number(node.this):
        return _negative(value)
    return call(_SYMBOLS[type(node)], [value], operator_of(node))


def _is_number(node: exp.Expr) -> bool:
    """True for a number as it is written, with its signs, in brackets or not."""
    while isinstance(node, exp.Neg | exp.Paren):
        node = node.this
    return isinstance(node, exp.Literal) and not node.is_string


def _negative(value: Constant) -> Constant:
    """A negative literal: the sign belongs to the number, so -2147483648 is an int4."""
    if not isinstance(value.value, int):
        raise TypeError("not a number literal")
    number = -value.value
    pg_type = value.type
    if pg_type.scale == 0 and pg_type.name in _NEGATED:
        pg_type = INT4 if -(2**31) <= number < 2**31 else INT8 if -(2**63) <= number < 2**63 else NUMERIC
    return Constant(pg_type, number)


@syntax(exp.Operator)
def bind_operator(node: exp.Expr, block: Block) -> Scalar:
    """JSON and array operators, written as they are."""
    symbol = str(node.args["operator"])
    if symbol not in OPERATOR_FUNCTIONS:
        raise fault.unsupported(f"operator {symbol}", position_of(node))
    left, right = block.bind(node.this), block.bind(node.args["expression"])
    if symbol == "@@":
        return bind_match(left, right, operator_of(node))
    return call(symbol, [left, right], operator_of(node))


def comparison(symbol: str, left: Scalar, right: Scalar, position: int | None) -> Scalar:
    """A comparison in one common type."""
    if isinstance(left, RowOf) and isinstance(right, RowOf):
        if left.presence is not None or right.presence is not None:
            raise fault.unsupported("comparing a whole row of an outer join", position, "compare its columns")
        return _rows(symbol, left, right, position)
    if "record" in (left.type.name, right.type.name):
        raise fault.unsupported("comparing a row with something else", position)
    chosen = by_presence(left, right, lambda a, b: comparison(symbol, a, b, position))
    folded = chosen or _integer_bound(symbol, left, right)
    if folded is not None:
        return folded
    left, right = comparable(left, right, position, symbol)
    _require_comparable(symbol, left.type, position)
    endless = compared(symbol, left, right)
    if endless is not None:
        return endless
    return Call(BOOL, f"{symbol}(any, any)", (left, right), position)


def _require_comparable(symbol: str, pg_type: PgType, position: int | None) -> None:
    if pg_type.element is not None and leaf(pg_type).name == "record":
        raise fault.unsupported("comparing arrays of rows", position)
    _refuse_search_types(pg_type, position)
    if pg_type.name == "json":
        raise fault.invalid(
            fault.UNDEFINED_FUNCTION, f"operator does not exist: json {symbol} json", position, "cast to jsonb or text"
        )
    if symbol not in ("=", "<>", "is not distinct from"):
        require_sortable(pg_type, position)


def _integer_bound(symbol: str, left: Scalar, right: Scalar) -> Scalar | None:
    """`integer > 100.5` as `integer > 100`: a plain comparison that reaches a scan's statistics."""
    flipped = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}
    if isinstance(left, Constant) and left.type.name == "numeric":
        left, right, symbol = right, left, flipped.get(symbol, symbol)
    if left.type.name not in INTEGERS or isinstance(left, Constant):
        return None
    if not isinstance(right, Constant) or right.type.name != "numeric" or not isinstance(right.value, int):
        return None
    unit = 10**right.type.scale
    whole, rest = divmod(right.value, unit)
    if rest and symbol in ("=", "<>", "is not distinct from"):
        return None
    bound = whole + 1 if rest and symbol in ("<", ">=") else whole
    if not -(2**63) <= bound < 2**63:
        return None
    constant = Constant(INT8, bound)
    return Call(BOOL, f"{symbol}(any, any)", (coerce(left, INT8), constant))


def _rows(symbol: str, left: RowOf, right: RowOf, position: int | None) -> Scalar:
    """Row-wise comparison: equality of all fields, or the first that differs decides."""
    if len(left.items) != len(right.items) and (left.table or right.table):
        message = "cannot compare record types with different numbers of columns"
        raise fault.invalid(fault.DATATYPE_MISMATCH, message, position)
    if len(left.items) != len(right.items):
        raise fault.invalid(fault.SYNTAX_ERROR, "unequal number of entries in row expressions", position)
    if not left.items:
        raise fault.unsupported("comparing rows of no columns", position)
    pairs = list(zip(left.items, right.items, strict=True))
    if left.table or right.table:
        _require_same_types(pairs, position)
        if symbol != "is not distinct from":
            return _records(symbol, left, right, position)
    if symbol in ("=", "<>", "is not distinct from"):
        parts = tuple(comparison(symbol, a, b, position) for a, b in pairs)
        return Logic(BOOL, "or" if symbol == "<>" else "and", parts)
    strict = symbol[0]
    result = comparison(symbol, *pairs[-1], position)
    for a, b in reversed(pairs[:-1]):
        equal = Logic(BOOL, "and", (comparison("=", a, b, position), result))
        result = Logic(BOOL, "or", (comparison(strict, a, b, position), equal))
    return result


def _require_same_types(pairs: Sequence[tuple[Scalar, Scalar]], position: int | None) -> None:
    """Raises 42804 unless a table's row is compared with one of the same types (record_eq)."""
    for number, (left, right) in enumerate(pairs, 1):
        if not same(left.type, right.type):
            kinds = f"{left.type.sql_name} and {right.type.sql_name}"
            message = f"cannot compare dissimilar column types {kinds} at record column {number}"
            raise fault.invalid(fault.DATATYPE_MISMATCH, message, position)


def _records(symbol: str, left: RowOf, right: RowOf, position: int | None) -> Scalar:
    """A comparison with a table's row: two NULLs are equal, and NULL is greater than anything else (record_cmp)."""
    pairs = list(zip(left.items, right.items, strict=True))
    if symbol[0] == ">":
        pairs = [(second, first) for first, second in pairs]
    equals = [comparison("is not distinct from", *pair, position) for pair in pairs]
    result: Scalar = Logic(BOOL, "and", tuple(equals))
    if symbol == "<>":
        result = Not(BOOL, result)
    elif symbol != "=":
        result = truth(symbol.endswith("="))
        for pair, equal in reversed(list(zip(pairs, equals, strict=True))):
            rest = Logic(BOOL, "and", (equal, result))
            result = Logic(BOOL, "or", (_is_less(*pair, position), rest))
    return result


def _is_less(left: Scalar, right: Scalar, position: int | None) -> Scalar:
    """Whether a field comes before another, where NULL comes last."""
    less = Logic(BOOL, "or", (IsNull(BOOL, right), comparison("<", left, right, position)))
    return Logic(BOOL, "and", (Not(BOOL, IsNull(BOOL, left)), less))


def _refuse_search_types(pg_type: PgType, position: int | None) -> None:
    """PostgreSQL compares vectors and searches by what they are made of, which their texts do not tell."""
    if leaf(pg_type).name in ("tsvector", "tsquery"):
        raise fault.unsupported(f"comparing values of type {pg_type.sql_name}", position)


def require_sortable(pg_type: PgType, position: int | None) -> None:
    """Refuses ORDER BY, GREATEST and the like for types without an order."""
    _refuse_search_types(pg_type, position)
    if pg_type.name in _UNSORTABLE:
        raise fault.invalid(fault.UNDEFINED_FUNCTION, _UNSORTABLE[pg_type.name], position, "cast to text or jsonb")
    if pg_type.element is not None and leaf(pg_type).name == "json":
        message = "could not identify an ordering operator for type json[]"
        raise fault.invalid(fault.UNDEFINED_FUNCTION, message, position)
    if pg_type.name == "record" or (pg_type.element is not None and leaf(pg_type).name in ("bytea", "record")):
        raise fault.unsupported(f"ordering values of type {pg_type.sql_name}", position)


def require_hashable(pg_type: PgType, position: int | None) -> None:
    """Refuses DISTINCT, GROUP BY and the like for types without equality."""
    _refuse_search_types(pg_type, position)
    if pg_type.name == "json" or (pg_type.element is not None and leaf(pg_type).name == "json"):
        message = f"could not identify an equality operator for type {pg_type.sql_name}"
        raise fault.invalid(fault.UNDEFINED_FUNCTION, message, position, "cast to jsonb or text")
    if any(field.name == "json" for field in pg_type.fields):
        raise fault.unsupported("comparing rows with json in them", position, "cast it to jsonb or text")


def cast(value: Scalar, type_name: TypeName, position: int | None, lenient: bool = False) -> Scalar:
    """An explicit cast. Raises 42846 for a pair of types PostgreSQL has no cast for, UnsupportedSQL."""
    target = type_name.type
    if target.name in ("text", "bpchar"):
        value = shown_field(value)
    if isinstance(value, Constant) and value.type.name == "unknown" and value.value is not None:
        try:
            value = read_literal(value, target, position, type_name.fields)
        except InvalidSQL:
            if not lenient:
                raise
            return Constant(target, None)
    if value.type.name == "unknown":
        value = coerce(value, target)
    if value.type.element is not None and target.element is not None:
        target = nested(leaf(target), dimensions(value.type))
    if type_name.fields and value.type.name == "text":
        raise fault.unsupported(f"a cast of text to interval {type_name.fields.lower()}", position, "cast to interval")
    if not castable(value.type, target):
        if target.name in ("text", "bpchar"):
            # PostgreSQL writes the text of every type.
            raise fault.unsupported(f"the text of {value.type.sql_name}", position)
        message = f"cannot cast type {value.type.sql_name} to {target.sql_name}"
        raise fault.invalid(fault.CANNOT_COERCE, message, position)
    if target.name == "numeric" and type_name.modifiers:
        whole = natural(value.type, target)
        if type_name.modifiers[1] < 0 and value.type != whole:
            value = Cast(whole, value, lenient=lenient, position=position)
        target = numeric(max(type_name.modifiers[1], 0), special=natural(value.type, target).special)
    else:
        target = natural(value.type, target)
    if value.type == target and not type_name.modifiers:
        return value
    endless = converted(value, target)
    if endless is not None:
        return endless
    return Cast(
        target, value, lenient=lenient, modifiers=type_name.modifiers, character=type_name.character, position=position
    )


def shown_field(value: Scalar) -> Scalar:
    """A field that extract gives, with the digits that PostgreSQL shows of it."""
    if not isinstance(value, Call) or not value.function.startswith("extract("):
        return value
    field, source = value.args
    name = str(field.value).lower().rstrip("s") if isinstance(field, Constant) else ""
    digits = {"second": 6, "sec": 6, "millisecond": 3, "epoch": 0 if source.type.name == "date" else 6}.get(name, 0)
    has_scale = name in _WHOLE_FIELDS or name in ("second", "millisecond", "epoch")
    return Cast(numeric(digits), value, position=value.position) if has_scale else value


_WHOLE_FIELDS: Final = (
    *("year", "month", "day", "hour", "minute", "week", "quarter", "dow", "isodow", "doy", "isoyear", "decade"),
    *("century", "millennium", "microsecond"),
)


def castable(source: PgType, target: PgType) -> bool:
    """True when PostgreSQL has an explicit cast (pg_cast, and text in and out)."""
    if same(source, target):
        return True
    if source.element is not None or target.element is not None:
        if source.element is not None and target.element is not None:
            return castable(source.element, target.element)
        return "text" in (source.name, target.name)
    if "record" in (source.name, target.name):
        return target.name == "text"
    if "text" in (source.name, target.name):
        return True
    if "bpchar" in (source.name, target.name):
        return target.name == "bpchar"
    if source.name in NUMBERS and target.name in NUMBERS:
        return True
    return target.name in _CASTS.get(source.name, ())


_CASTS: Final[dict[str, tuple[str, ...]]] = {
    "int2": ("bytea",),
    "int4": ("bool", "bytea"),
    "int8": ("bytea",),
    "bytea": INTEGERS,
    "bool": ("int4",),
    "date": ("timestamp", "timestamptz"),
    "timestamp": ("date", "time", "timestamptz"),
    "timestamptz": ("date", "time", "timestamp"),
    "time": ("interval",),
    "interval": ("time",),
    "json": ("jsonb",),
    "inet": ("cidr",),
    "cidr": ("inet",),
    "jsonb": ("json", "bool", *NUMBERS),
}
