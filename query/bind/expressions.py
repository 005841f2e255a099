"""Expressions of the syntax tree -> bound scalars."""

from collections.abc import Callable
from dataclasses import replace
from typing import Final

from sqlglot import exp

from query import fault
from query.allowlist import position_of
from query.bind import aggregates, operators, patterns, predicates, special, windows
from query.bind.block import Block
from query.bind.named import in_order
from query.bind.quotients import shown_quotient
from query.bind.resolve import call, coerce, common, settled
from query.bind.traverse import check_copies
from query.bind.types import TypeName, type_name
from query.bind.unicode import unescaped
from query.bound import (
    ArrayOf,
    Call,
    Case,
    Coalesce,
    Column,
    Constant,
    IsNull,
    Logic,
    Not,
    RowOf,
    Scalar,
    truth,
)
from query.functions.registry import AGGREGATES, REGISTRY, WINDOW_FUNCTIONS, type_named
from query.placing import operator_of
from query.types import BOOL, INT4, INT8, NUMERIC_DIGITS, TEXT, UNKNOWN, PgType, array_of, numeric

SERIES_FUNCTIONS: Final = {
    "unnest": "",
    "generate_series": "generate_series",
    "jsonb_array_elements": "jsonb_array_elements",
    "json_array_elements": "json_array_elements",
    "jsonb_array_elements_text": "jsonb_array_elements_text",
    "json_array_elements_text": "json_array_elements_text",
    "jsonb_object_keys": "jsonb_object_keys",
    "json_object_keys": "json_object_keys",
    "regexp_split_to_table": "regexp_split_to_array",
    "string_to_table": "string_to_array",
    "generate_subscripts": "generate_subscripts",
    "regexp_matches": "regexp_matches",
}
"""Set-returning functions, and the function of the registry that gives their rows as an array ('' the argument)."""


def bind(node: exp.Expr, block: Block) -> Scalar:
    """The bound form of an expression; string literals without a context keep type unknown."""
    handler = _HANDLERS.get(type(node))
    if handler is None:
        raise fault.unsupported(type(node).__name__, position_of(node))
    return block.environment.fold(handler(node, block))


def _literal(node: exp.Expr, block: Block) -> Scalar:
    text = str(node.this)
    if node.args.get("is_string"):
        return Constant(UNKNOWN, text, position_of(node))
    return number(text, node)


def number(text: str, node: exp.Expr) -> Constant:
    """A numeric literal: int4 or int8 when it fits, else numeric with the scale as written."""
    plain = text.replace("_", "")
    if plain.isdigit():
        value = int(plain)
        if value < 2**63:
            return Constant(INT4 if value < 2**31 else INT8, value)
    mantissa, _, exponent = plain.lower().partition("e")
    whole, _, fraction = mantissa.partition(".")
    shift = len(fraction) - int(exponent or 0)
    digits = int((whole + fraction) or 0)
    scale, value = (shift, digits) if shift >= 0 else (0, digits * 10 ** min(-shift, NUMERIC_DIGITS + 1))
    if len(str(value)) > NUMERIC_DIGITS or scale > NUMERIC_DIGITS - 2:
        raise fault.unsupported(f"a number of more than {NUMERIC_DIGITS} digits", position_of(node))
    return Constant(numeric(scale), value)


def _text(node: exp.Expr, block: Block) -> Scalar:
    return Constant(UNKNOWN, str(node.this), position_of(node))


def _continued(node: exp.Expr, block: Block) -> Scalar:
    """'a' and 'b' on the next line: one literal."""
    return Constant(UNKNOWN, "".join(str(part.this) for part in node.expressions), position_of(node))


def _unicode(node: exp.Expr, block: Block) -> Scalar:
    """U&'...': code points in hexadecimal behind an escape character."""
    sign = node.args.get("escape")
    escape = str(sign.name) if isinstance(sign, exp.Expr) else "\\"
    try:
        return Constant(UNKNOWN, unescaped(str(node.name), escape), position_of(node))
    except UnicodeError as error:
        raise fault.invalid(fault.SYNTAX_ERROR, "invalid Unicode escape", position_of(node)) from error


def _null(node: exp.Expr, block: Block) -> Scalar:
    return Constant(UNKNOWN, None, position_of(node))


def _boolean(node: exp.Expr, block: Block) -> Scalar:
    return truth(bool(node.this))


def _column(node: exp.Expr, block: Block) -> Scalar:
    if not isinstance(node, exp.Column) or isinstance(node.this, exp.Star):
        raise fault.invalid(fault.SYNTAX_ERROR, "* is not an expression", position_of(node))
    found = block.scope.column(node)
    return replace(found, position=position_of(node)) if isinstance(found, Column) else found


def _inner(node: exp.Expr, block: Block) -> Scalar:
    return block.bind(node.this)


def _and(node: exp.Expr, block: Block) -> Scalar:
    return _logic(node, block, exp.And, "and")


def _or(node: exp.Expr, block: Block) -> Scalar:
    return _logic(node, block, exp.Or, "or")


def _logic(node: exp.Expr, block: Block, kind: type[exp.Expr], operator: str) -> Scalar:
    parts: list[exp.Expr] = []
    rest = node
    while isinstance(rest, kind):
        parts.append(rest.args["expression"])
        rest = rest.this
    parts.append(rest)
    operands = tuple(block.bind_boolean(part, operator.upper()) for part in reversed(parts))
    return Logic(BOOL, operator, operands)


def _not(node: exp.Expr, block: Block) -> Scalar:
    return Not(BOOL, block.bind_boolean(node.this, "NOT"))


def _is(node: exp.Expr, block: Block) -> Scalar:
    value, test = block.bind(node.this), node.args["expression"]
    if isinstance(test, exp.JSON):
        result = special.is_json(value, test, position_of(node))
    elif isinstance(test, exp.Null):
        if isinstance(value, RowOf):
            return _row_is_null(value, bool(node.args.get("negate")))
        if value.type.name == "unknown" and isinstance(value, Constant):
            value = coerce(value, TEXT)
        result = IsNull(BOOL, value)
    else:
        value = block.bind_boolean(node.this, "IS")
        unknown = not isinstance(test, exp.Boolean)
        if unknown and str(getattr(test, "name", "")).upper() != "UNKNOWN":
            raise fault.unsupported("this IS test", position_of(node))
        wanted = truth(True) if isinstance(test, exp.Boolean) and test.this else truth(False)
        result = IsNull(BOOL, value) if unknown else Call(BOOL, "is not distinct from(any, any)", (value, wanted))
    return Not(BOOL, result) if node.args.get("negate") else result


def _row_is_null(row: RowOf, negate: bool) -> Scalar:
    """A row is NULL if all of its fields are, and not NULL if none is."""
    tests = tuple(IsNull(BOOL, coerce(item, TEXT) if item.type.name == "unknown" else item) for item in row.items)
    return Logic(BOOL, "and", tuple(Not(BOOL, test) for test in tests) if negate else tests)


def _case(node: exp.Expr, block: Block) -> Scalar:
    with block.without_series("CASE"):
        return _case_of(node, block)


def _case_of(node: exp.Expr, block: Block) -> Scalar:
    tested = block.bind(node.this) if node.this is not None else None
    if tested is not None:
        check_copies(tested, position_of(node))
    conditions: list[Scalar] = []
    for branch in node.args["ifs"]:
        if tested is None:
            conditions.append(block.bind_boolean(branch.this, "CASE/WHEN"))
        else:
            equal = operators.comparison("=", tested, block.bind(branch.this), position_of(branch))
            conditions.append(block.environment.fold(equal))
    written = [node.args.get("default") or exp.Null(), *(branch.args["true"] for branch in node.args["ifs"])]
    results = settled([block.bind(result) for result in written])
    places = list(map(position_of, written))
    target = common([result.type for result in results], "CASE", position_of(node), places)
    otherwise, *taken = [coerce(result, target) for result in results]
    return Case(target, tuple(zip(conditions, taken, strict=True)), otherwise)


def _cast(node: exp.Expr, block: Block) -> Scalar:
    wanted = type_name(node.args["to"])
    if isinstance(node.this, exp.Array) and not node.this.expressions:
        return Constant(wanted.type, ())
    value = block.bind(node.this)
    if wanted.type.name == "text":
        value = shown_quotient(value, block)
    return cast_to(value, wanted, node, lenient=isinstance(node, exp.TryCast))


def cast_to(value: Scalar, wanted: TypeName, node: exp.Expr, lenient: bool = False) -> Scalar:
    """An explicit cast with its modifiers."""
    return operators.cast(value, wanted, operator_of(node), lenient)


def _interval(node: exp.Expr, block: Block) -> Scalar:
    return special.interval(node)


def _array(node: exp.Expr, block: Block) -> Scalar:
    if not node.expressions:
        raise fault.invalid(
            "42P18", "cannot determine type of empty array", position_of(node), "cast it: ARRAY[]::text[]"
        )
    items = settled([block.bind(item) for item in node.expressions])
    element = common(
        [item.type for item in items], "ARRAY", position_of(node), list(map(position_of, node.expressions))
    )
    if element.element is not None:
        raise fault.unsupported("an array of more than one dimension", position_of(node))
    return ArrayOf(array_of(element), tuple(coerce(item, element) for item in items))


def _row(node: exp.Expr, block: Block) -> Scalar:
    items = tuple(block.bind(item) for item in node.expressions)
    return RowOf(PgType("record", fields=tuple(item.type for item in items)), items)


def _anonymous(node: exp.Expr, block: Block) -> Scalar:
    name = str(node.name) if isinstance(node.this, exp.Identifier) else str(node.this).lower()
    position = position_of(node)
    if name == "array" and len(node.expressions) == 1 and isinstance(node.expressions[0], exp.Query):
        return predicates.array_subquery(node.expressions[0], block)
    if name == "row":
        return _row(node, block)
    if name in AGGREGATES:
        return aggregates.bind_aggregate(node, block)
    if name in WINDOW_FUNCTIONS:
        message = f"window function {name} requires an OVER clause"
        raise fault.invalid("42809", message, position)
    if name in SERIES_FUNCTIONS:
        return block.rows_of(series(node, block), position)
    special_form = _SPECIAL_FUNCTIONS.get(name)
    if special_form is not None:
        return special_form(node, block)
    if name in _CAST_FUNCTIONS and len(node.expressions) == 1 and not REGISTRY.named(name):
        return _function_cast(name, block.bind(node.expressions[0]), position)
    if any(isinstance(argument, exp.Star | exp.Distinct | exp.Order) for argument in node.expressions):
        message = f"{name} is not an aggregate function"
        raise fault.invalid("42809", message, position)
    return call(name, arguments(node, block), position)


_CAST_FUNCTIONS: Final = (
    *("int2", "int4", "int8", "float4", "float8", "text", "bool", "date", "timestamptz", "json", "jsonb", "bytea"),
)
"""Types whose names PostgreSQL's grammar takes as functions: `date(ts)` is a cast."""


def _function_cast(name: str, value: Scalar, position: int | None) -> Scalar:
    wanted = TypeName(type_named(name), name)
    if value.type.name != "unknown" and not operators.castable(value.type, wanted.type):
        message = f"function {name}({value.type.sql_name}) does not exist"
        raise fault.invalid(fault.UNDEFINED_FUNCTION, message, position)
    return operators.cast(value, wanted, position)


def arguments(node: exp.Expr, block: Block) -> list[Scalar]:
    """The bound arguments of a call, in the order of its parameters."""
    return [block.bind(argument) for argument in in_order(node)]


def series(node: exp.Expr, block: Block) -> Scalar:
    """The rows of a set-returning function as one array per input row."""
    name = str(node.this).lower()
    with block.binding(f"the arguments of {name}", block.aggregates_allowed, block.windows_allowed):
        values = arguments(node, block)
    position = position_of(node)
    if name == "unnest":
        if len(values) != 1:
            raise fault.unsupported("unnest of several arrays outside FROM", position)
        value = coerce(values[0], array_of(TEXT)) if values[0].type.name == "unknown" else values[0]
        if value.type.element is None:
            message = f"function unnest({value.type.sql_name}) does not exist"
            raise fault.invalid(fault.UNDEFINED_FUNCTION, message, position)
        return value
    return call(SERIES_FUNCTIONS[name], values, position)


def _coalesce(node: exp.Expr, block: Block) -> Scalar:
    with block.without_series("COALESCE"):
        values = settled(arguments(node, block))
    if not values:
        raise fault.invalid(fault.SYNTAX_ERROR, "COALESCE needs an argument", position_of(node))
    places = list(map(position_of, node.expressions))
    target = common([value.type for value in values], "COALESCE", position_of(node), places)
    return Coalesce(target, tuple(coerce(value, target) for value in values))


def _extremum(node: exp.Expr, block: Block) -> Scalar:
    name = str(node.this).lower()
    values = settled(arguments(node, block))
    if not values:
        raise fault.invalid(fault.SYNTAX_ERROR, f"{name} needs an argument", position_of(node))
    places = list(map(position_of, node.expressions))
    target = common([value.type for value in values], name.upper(), position_of(node), places)
    operators.require_sortable(target, position_of(node))
    return Call(target, f"{name}(any...)", tuple(coerce(value, target) for value in values))


def _nullif(node: exp.Expr, block: Block) -> Scalar:
    values = arguments(node, block)
    if len(values) != 2:
        raise fault.invalid(fault.SYNTAX_ERROR, "NULLIF takes two arguments", position_of(node))
    check_copies(values[0], position_of(node))
    equal = block.environment.fold(operators.comparison("=", values[0], values[1], position_of(node)))
    result = values[0]
    if result.type.name == "unknown":
        result = coerce(result, values[1].type if values[1].type.name != "unknown" else TEXT)
    return Case(result.type, ((equal, Constant(result.type, None)),), result)


def _grouping(node: exp.Expr, block: Block) -> Scalar:
    """GROUPING(...): one bit per argument; the block fills in the columns once it knows its grouping sets."""
    if not block.aggregates_allowed:
        raise fault.invalid(fault.GROUPING_ERROR, f"grouping operations are not allowed in {block.clause}")
    values = tuple(block.bind(argument) for argument in node.expressions)
    for value, argument in zip(values, node.expressions, strict=True):
        if value not in block.group_keys:
            message = "arguments to GROUPING must be grouping expressions of the associated query level"
            raise fault.invalid(fault.GROUPING_ERROR, message, position_of(argument))
    call_ = Call(INT4, "grouping", values)
    if call_ not in block.grouping:
        block.grouping.append(call_)
    return call_


def _some_or_all(node: exp.Expr, block: Block) -> Scalar:
    raise fault.invalid(fault.SYNTAX_ERROR, "ANY and ALL stand on the right of a comparison", position_of(node))


def _column_or_whole(node: exp.Expr, block: Block) -> Scalar:
    raise fault.invalid(fault.SYNTAX_ERROR, "* is not an expression", position_of(node))


_SPECIAL_FUNCTIONS: Final[dict[str, Callable[[exp.Expr, Block], Scalar]]] = {
    "coalesce": _coalesce,
    "greatest": _extremum,
    "least": _extremum,
    "nullif": _nullif,
    "grouping": _grouping,
    "now": special.now,
    "transaction_timestamp": special.now,
    "statement_timestamp": special.now,
    "date_part": special.date_part,
    "round": special.rounded,
    "trunc": special.rounded,
    "age": special.age,
    "pg_typeof": special.type_of,
    "normalize": special.normalize,
    "row_to_json": special.row_to_json,
}

_HANDLERS: Final[dict[type[exp.Expr], Callable[[exp.Expr, Block], Scalar]]] = {
    exp.Literal: _literal,
    exp.ByteString: _text,
    exp.RawString: _text,
    exp.National: _text,
    exp.Concat: _continued,
    exp.UnicodeString: _unicode,
    exp.Null: _null,
    exp.Boolean: _boolean,
    exp.Column: _column,
    exp.Star: _column_or_whole,
    exp.Paren: _inner,
    exp.And: _and,
    exp.Or: _or,
    exp.Not: _not,
    exp.Is: _is,
    exp.Case: _case,
    exp.Cast: _cast,
    exp.TryCast: _cast,
    exp.Interval: _interval,
    exp.Array: _array,
    exp.Tuple: _row,
    exp.Anonymous: _anonymous,
    exp.Filter: aggregates.bind_filtered,
    exp.WithinGroup: aggregates.bind_within,
    exp.Window: windows.bind_window,
    exp.Exists: predicates.bind_exists,
    exp.In: predicates.bind_in,
    exp.Between: predicates.bind_between,
    exp.Subquery: predicates.bind_scalar_subquery,
    exp.Select: predicates.bind_scalar_subquery,
    exp.Union: predicates.bind_scalar_subquery,
    exp.Intersect: predicates.bind_scalar_subquery,
    exp.Except: predicates.bind_scalar_subquery,
    exp.Values: predicates.bind_scalar_subquery,
    exp.Like: patterns.bind_like,
    exp.ILike: patterns.bind_like,
    exp.Escape: patterns.bind_escape,
    exp.SimilarTo: patterns.bind_similar,
    exp.RegexpLike: patterns.bind_regexp,
    exp.RegexpILike: patterns.bind_regexp,
    exp.Collate: special.collate,
    exp.AtTimeZone: special.at_time_zone,
    exp.Extract: special.extract,
    exp.StrPosition: special.position,
    exp.Substring: special.substring,
    exp.Trim: special.trim,
    exp.Overlay: special.overlay,
    exp.CurrentDate: special.current_date,
    exp.CurrentTimestamp: special.now,
    exp.Localtimestamp: special.localtimestamp,
    exp.Localtime: special.localtime,
    exp.Bracket: special.bracket,
    exp.Neg: operators.bind_unary,
    **dict.fromkeys((exp.BitwiseNot, exp.Abs, exp.Sqrt, exp.Cbrt), operators.bind_unary),
    exp.Operator: operators.bind_operator,
    exp.EQ: predicates.bind_comparison,
    exp.NEQ: predicates.bind_comparison,
    exp.GT: predicates.bind_comparison,
    exp.GTE: predicates.bind_comparison,
    exp.LT: predicates.bind_comparison,
    exp.LTE: predicates.bind_comparison,
    exp.NullSafeEQ: predicates.bind_distinct_from,
    exp.NullSafeNEQ: predicates.bind_distinct_from,
    **dict.fromkeys((exp.Add, exp.Sub, exp.Mul, exp.Div, exp.Mod, exp.Pow, exp.DPipe), operators.bind_binary),
    **dict.fromkeys((exp.BitwiseAnd, exp.BitwiseOr, exp.BitwiseXor), operators.bind_binary),
    **dict.fromkeys((exp.BitwiseLeftShift, exp.BitwiseRightShift), operators.bind_binary),
}
