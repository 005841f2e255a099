"""Expressions with a syntax of their own: EXTRACT, SUBSTRING, TRIM, AT TIME ZONE, INTERVAL, the clock, subscripts."""

from datetime import datetime
from typing import Final

from sqlglot import exp

from query import fault
from query.bind.block import Block
from query.bind.dimensions import require_few_dimensions
from query.bind.operators import shown_field
from query.bind.type_names import interval_fields
from query.bind.type_resolution import call, coerce
from query.functions.registry import syntax
from query.pg.bad_values import BadLiteral, UnsupportedLiteral
from query.pg.intervals import IntervalOutOfRange, cut_interval
from query.pg.text_input import read_interval
from query.pg.timestamps import EPOCH, US_PER_DAY
from query.pg.types import (
    BOOL,
    DATE,
    INT4,
    INTEGER_LIMITS,
    INTERVAL_TYPE,
    NUMBERS,
    TEXT,
    TIME,
    TIMESTAMP,
    TIMESTAMPTZ,
    dimensions,
    leaf,
    numeric,
)
from query.plan.tree import Cast, Constant, Scalar
from query.syntax.dialect import NORMAL_FORMS
from query.syntax.positions import operator_of, position_of

_COLLATIONS: Final = ("c", "posix", "default", "ucs_basic", "c.utf-8", "c.utf8")
_TRIMS: Final = {"LEADING": "ltrim", "TRAILING": "rtrim"}


def _microseconds(moment: datetime) -> int:
    difference = moment - EPOCH
    return (difference.days * 86_400 + difference.seconds) * 1_000_000 + difference.microseconds


@syntax(
    exp.CurrentTimestamp,
    "now",
    "transaction_timestamp",
    "statement_timestamp",
    form="CURRENT_TIMESTAMP, now(), transaction_timestamp(), statement_timestamp()",
    summary="When the statement started.",
)
def now(node: exp.Expr, block: Block) -> Scalar:
    """The statement's start, the same everywhere in it."""
    if getattr(node, "expressions", None):
        raise fault.invalid(fault.UNDEFINED_FUNCTION, "now takes no argument", position_of(node))
    return Constant(TIMESTAMPTZ, _microseconds(block.environment.now))


@syntax("current_timestamp", form="CURRENT_TIMESTAMP(3)", summary="The same, rounded to so many digits of the second.")
def rounded_now(node: exp.Expr, block: Block) -> Scalar:
    return Constant(TIMESTAMPTZ, _rounded(_microseconds(block.environment.now), node))


@syntax(
    *(exp.Localtimestamp, "localtimestamp"),
    form="LOCALTIMESTAMP, LOCALTIMESTAMP(3)",
    summary="When the statement started, without a time zone.",
)
def localtimestamp(node: exp.Expr, block: Block) -> Scalar:
    return Constant(TIMESTAMP, _rounded(_microseconds(block.environment.local_now), node))


@syntax(exp.CurrentDate, form="CURRENT_DATE", summary="The day on which the statement started.")
def current_date(node: exp.Expr, block: Block) -> Scalar:
    return Constant(DATE, _microseconds(block.environment.local_now) // US_PER_DAY)


@syntax(
    *(exp.Localtime, "localtime"),
    form="LOCALTIME, LOCALTIME(3)",
    summary="The time of the day at which the statement started.",
)
def localtime(node: exp.Expr, block: Block) -> Scalar:
    us = _rounded(_microseconds(block.environment.local_now) % US_PER_DAY, node)
    if us == US_PER_DAY:
        raise fault.unsupported("the time 24:00:00", position_of(node))
    return Constant(TIME, us)


@syntax("current_time")
def current_time(node: exp.Expr, block: Block) -> Scalar:
    """CURRENT_TIME(n) has a time zone, and no type of ours has it."""
    if isinstance(node, exp.Anonymous):
        _digits_of_second(node)
    raise fault.unsupported("CURRENT_TIME", position_of(node), "write LOCALTIME")


@syntax("current_date")
def no_digits(node: exp.Expr, block: Block) -> Scalar:
    """A day has no digits of the second: CURRENT_DATE takes no brackets."""
    if isinstance(node.this, exp.Identifier):
        raise fault.invalid(fault.UNDEFINED_FUNCTION, f"function {node.name} does not exist", position_of(node))
    raise fault.invalid(fault.SYNTAX_ERROR, "CURRENT_DATE takes no arguments", position_of(node))


def _rounded(us: int, node: exp.Expr) -> int:
    """The moment with as many digits of the second as are named; with all of them if none is."""
    if not isinstance(node, exp.Anonymous):
        return us
    unit = int(10 ** (_CLOCK_DIGITS - min(_digits_of_second(node), _CLOCK_DIGITS)))
    return (us + unit // 2) // unit * unit


_CLOCK_DIGITS: Final = 6


def _digits_of_second(node: exp.Anonymous) -> int:
    """One whole number, as PostgreSQL's grammar has it. A name in quotes is that of a function, and there is none."""
    if isinstance(node.this, exp.Identifier):
        raise fault.invalid(fault.UNDEFINED_FUNCTION, f"function {node.name} does not exist", position_of(node))
    digits = node.expressions[0] if len(node.expressions) == 1 else None
    if not isinstance(digits, exp.Literal) or digits.is_string or not str(digits.this).isdigit():
        raise fault.invalid(fault.SYNTAX_ERROR, f"{node.name} takes a number of digits", position_of(node))
    return int(str(digits.this))


@syntax(exp.Interval, form="INTERVAL '1 day', INTERVAL '5' MINUTE", summary="A span of time.")
def interval(node: exp.Expr, block: Block) -> Scalar:
    """INTERVAL '...' [field]."""
    text, unit = str(node.this.this), node.args.get("unit")
    fields, modifiers = interval_fields("" if unit is None else str(unit.name))
    try:
        value = read_interval(text, INTERVAL_TYPE, fields)
    except BadLiteral as error:
        raise fault.invalid(error.sqlstate, error.message, position_of(node)) from error
    except UnsupportedLiteral as error:
        raise fault.unsupported(str(error), position_of(node)) from error
    try:
        return Constant(INTERVAL_TYPE, cut_interval(value, *modifiers) if modifiers else value)
    except IntervalOutOfRange as error:
        raise fault.invalid(fault.DATETIME_OVERFLOW, "interval out of range", position_of(node)) from error


@syntax(exp.Collate, form='a COLLATE "C"', summary="The text in the order of its code points.")
def collate(node: exp.Expr, block: Block) -> Scalar:
    """Only the collations that order by code point, which is how all text is ordered here."""
    name = str(node.args["expression"].name).lower()
    if name not in _COLLATIONS:
        raise fault.unsupported(f'collation "{name}"', position_of(node), 'text is ordered as by COLLATE "C"')
    value = block.bind(node.this)
    if leaf(value.type).name not in ("text", "unknown"):
        message = f"collations are not supported by type {value.type.sql_name}"
        raise fault.invalid(fault.DATATYPE_MISMATCH, message, position_of(node))
    return value


@syntax(exp.AtTimeZone, form="a AT TIME ZONE zone", summary="The local time there, or the moment of a local time.")
def at_time_zone(node: exp.Expr, block: Block) -> Scalar:
    value = block.bind(node.this)
    if value.type.name == "unknown":
        value = coerce(value, TIMESTAMPTZ, position_of(node))
    return call("timezone", [block.bind(node.args["zone"]), value], position_of(node))


@syntax(exp.Overlaps, form="(a, b) OVERLAPS (c, d)", summary="Whether two periods have a moment in common.")
def overlaps(node: exp.Expr, block: Block) -> Scalar:
    """Each period is two times, or a time and an interval."""
    position = operator_of(node)
    periods = [_period(side, block, position) for side in (node.this, node.args["expression"])]
    return call("periods overlap", [*periods[0], *periods[1]], position)


def _period(node: exp.Expr, block: Block, position: int | None) -> list[Scalar]:
    if not isinstance(node, exp.Tuple) or len(node.expressions) != 2:
        message = "wrong number of parameters on a side of OVERLAPS expression"
        raise fault.invalid(fault.SYNTAX_ERROR, message, position)
    start, end = (block.bind(part) for part in node.expressions)
    if end.type.name == "interval":
        start = coerce(start, TIMESTAMPTZ) if start.type.name == "unknown" else start
        return [start, call("+", [start, end], position)]
    return [start, end]


@syntax(exp.Extract, form="EXTRACT(field FROM a)", summary="A field of a time or interval.")
def extract(node: exp.Expr, block: Block) -> Scalar:
    field = str(node.this.name).lower()
    field_call = call("extract", [Constant(TEXT, field), block.bind(node.args["expression"])], position_of(node))
    return shown_field(field_call) if isinstance(field_call.args[1], Constant) else field_call


@syntax("date_part", form="date_part(field, a)", summary="A field of a time or interval, as float8.")
def date_part(node: exp.Expr, block: Block) -> Scalar:
    if len(node.expressions) != 2:
        raise fault.invalid(fault.UNDEFINED_FUNCTION, "date_part takes a field and a time", position_of(node))
    field, value = (block.bind(argument) for argument in node.expressions)
    if isinstance(field, Constant) and field.value is not None:
        field = Constant(TEXT, str(field.value).lower())
    return call("date_part", [field, value], position_of(node))


@syntax(exp.StrPosition, form="POSITION(part IN a)", summary="Where the part starts, from 1; 0 if nowhere.")
def position(node: exp.Expr, block: Block) -> Scalar:
    operands = [block.bind(node.this), block.bind(node.args["substr"])]
    is_binary = any(operand.type.name == "bytea" for operand in operands)
    return call("position of bytes" if is_binary else "strpos", operands, position_of(node))


@syntax(exp.Substring, form="SUBSTRING(a FROM start FOR length)", summary="A part of a text.")
def substring(node: exp.Expr, block: Block) -> Scalar:
    values = [block.bind(node.this)]
    start, length = node.args.get("start"), node.args.get("length")
    values.append(block.bind(start) if start is not None else Constant(INT4, 1))
    if length is not None:
        values.append(block.bind(length))
    return call("substring", values, position_of(node))


@syntax(
    exp.Trim,
    form="TRIM([LEADING | TRAILING | BOTH] [characters] FROM a)",
    summary="The text without these characters at its ends.",
)
def trim(node: exp.Expr, block: Block) -> Scalar:
    name = _TRIMS.get(str(node.args.get("position")), "btrim")
    values = [block.bind(node.this)]
    if node.args.get("expression") is not None:
        values.append(block.bind(node.args["expression"]))
    return call(name, values, position_of(node))


@syntax(exp.Overlay, form="OVERLAY(a PLACING b FROM start FOR length)", summary="The text with a part replaced.")
def overlay(node: exp.Expr, block: Block) -> Scalar:
    parts = [node.this, node.args["expression"], node.args["from_"], node.args.get("for_")]
    return call("overlay", [block.bind(part) for part in parts if part is not None], position_of(node))


@syntax(exp.Bracket, form="a[1], a[1:2]", summary="An element or a slice of an array; a member of jsonb.")
def bracket(node: exp.Expr, block: Block) -> Scalar:
    """Subscripts: of an array counted from 1, or of jsonb."""
    subscripts, inner = list[exp.Expr](), node
    while isinstance(inner, exp.Bracket):
        subscripts[:0] = inner.expressions
        inner = inner.this
    value = block.bind(inner)
    if any(isinstance(subscript, exp.Slice) for subscript in subscripts):
        _require_array(value, node)
        require_few_dimensions(len(subscripts), position_of(node))
        return _slice(value, [_bounds(subscript, block) for subscript in subscripts], position_of(node))
    if value.type.name == "jsonb":
        for subscript in subscripts:
            value = call("jsonb subscript", [value, _json_subscript(subscript, block)], position_of(node))
        return value
    _require_array(value, node)
    require_few_dimensions(len(subscripts), position_of(node))
    return _element(value, [_subscript(subscript, block) for subscript in subscripts], position_of(node))


def _element(array: Scalar, subscripts: list[Scalar], position: int | None) -> Scalar:
    """One element; NULL where there are more or fewer subscripts than dimensions (array_get_element)."""
    if len(subscripts) != dimensions(array.type):
        return Constant(leaf(array.type), None)
    for subscript in subscripts:
        array = call("array element", [array, subscript], position)
    return array


def _bounds(subscript: exp.Expr, block: Block) -> tuple[Scalar, Scalar]:
    """From where to where: beside a slice, `n` means `1:n`."""
    if not isinstance(subscript, exp.Slice):
        return Constant(INT4, 1), _subscript(subscript, block)
    low, high = subscript.this, subscript.args.get("expression")
    first = _subscript(low, block) if low is not None else Constant(INT4, 1)
    return first, _subscript(high, block) if high is not None else Constant(INT4, INTEGER_LIMITS["int4"] - 1)


def _slice(array: Scalar, bounds: list[tuple[Scalar, Scalar]], position: int | None) -> Scalar:
    """A part of an array with as many dimensions; those without a slice are taken whole."""
    if len(bounds) > dimensions(array.type):
        raise fault.unsupported("more slices than the array has dimensions", position)
    for number, (first, last) in enumerate(bounds[1:], 2):
        array = call("inner slice", [array, Constant(INT4, number), first, last], position)
    return call("array slice", [array, *bounds[0]], position)


def _json_subscript(node: exp.Expr, block: Block) -> Scalar:
    """A subscript of jsonb is a text or an integer; 42804 for any other type."""
    index = block.bind(node)
    if index.type.name in ("int2", "int4"):
        return Cast(TEXT, index)
    if index.type.name not in ("text", "bpchar", "unknown"):
        message = f"subscript type {index.type.sql_name} is not supported"
        hint = "jsonb subscript must be coercible to either integer or text."
        raise fault.invalid(fault.DATATYPE_MISMATCH, message, position_of(node), hint)
    return coerce(index, TEXT)


def _require_array(value: Scalar, node: exp.Expr) -> None:
    if value.type.element is None:
        message = f"cannot subscript type {value.type.sql_name} because it does not support subscripting"
        raise fault.invalid(fault.DATATYPE_MISMATCH, message, position_of(node))


def _subscript(node: exp.Expr, block: Block) -> Scalar:
    """An index, converted to integer as an assignment would."""
    index = block.bind(node)
    if index.type.name in NUMBERS and index.type.name != "int4":
        return Cast(INT4, index, position=position_of(node))
    if index.type.name not in ("int4", "unknown"):
        raise fault.invalid(fault.DATATYPE_MISMATCH, "array subscript must have type integer", position_of(node))
    return coerce(index, INT4, position_of(node))


@syntax("round", "trunc", form="round(a [, places]), trunc(a [, places])", summary="The number of so many digits.")
def round_or_trunc(node: exp.Expr, block: Block) -> Scalar:
    """round and trunc; to a number of digits, the result has exactly those digits."""
    values = [block.bind(argument) for argument in node.expressions]
    rounding = call(str(node.this).lower(), values, position_of(node))
    places = rounding.args[1].value if len(rounding.args) == 2 and isinstance(rounding.args[1], Constant) else None
    if not isinstance(places, int):
        return rounding
    return Cast(numeric(max(places, 0), special=rounding.type.special), rounding, position=position_of(node))


@syntax("age", form="age(a [, b])", summary="The span from b, or from a to midnight today, in years, months and days.")
def age(node: exp.Expr, block: Block) -> Scalar:
    """age of one time counts from midnight today."""
    values = [block.bind(argument) for argument in node.expressions]
    if len(values) == 1:
        today = Constant(DATE, _microseconds(block.environment.local_now) // US_PER_DAY)
        pg_type = values[0].type if values[0].type.name == "timestamptz" else TIMESTAMP
        values = [Cast(pg_type, today), values[0]]
    return call("age", values, position_of(node))


@syntax("normalize", form="normalize(a [, form])", summary="The text in a Unicode normal form, NFC unless named.")
def normalize(node: exp.Expr, block: Block) -> Scalar:
    """normalize(text [, form]), the form a keyword."""
    values = list(node.expressions)
    form = "NFC"
    if len(values) == 2 and isinstance(values[1], exp.Column) and values[1].name.upper() in NORMAL_FORMS:
        form = values.pop().name.upper()
    arguments = [block.bind(value) for value in values]
    return call("normalize", [*arguments, Constant(TEXT, form)], position_of(node))


@syntax("row_to_json", form="row_to_json(row [, in_lines])", summary="The row as a JSON object.")
def row_to_json(node: exp.Expr, block: Block) -> Scalar:
    """row_to_json(row), which is to_json of nothing but rows."""
    values = [block.bind(argument) for argument in node.expressions]
    if len(values) == 2 and values[0].type.name == "record" and values[1].type.name in ("bool", "unknown"):
        return call("row to json", values, position_of(node))
    if len(values) != 1 or values[0].type.name != "record":
        type_list = ", ".join(value.type.sql_name for value in values)
        message = f"function row_to_json({type_list}) does not exist"
        raise fault.invalid(fault.UNDEFINED_FUNCTION, message, position_of(node))
    return call("to_json", values, position_of(node))


def is_json(value: Scalar, test: exp.Expr, position: int | None) -> Scalar:
    """`value IS JSON [VALUE | SCALAR | ARRAY | OBJECT] [WITH UNIQUE KEYS]`."""
    if value.type.name not in ("text", "bpchar", "unknown", "json", "jsonb"):
        message = f"cannot use type {value.type.sql_name} in IS JSON predicate"
        raise fault.invalid(fault.DATATYPE_MISMATCH, message, position)
    json_type = str(test.this or "VALUE").upper()
    unique = bool(test.args.get("unique")) and bool(test.args.get("with_"))
    text = value if value.type.name != "unknown" else coerce(value, TEXT)
    text = text if text.type.name in ("text", "bpchar") else Cast(TEXT, text)
    return call("is json", [coerce(text, TEXT), Constant(TEXT, json_type), Constant(BOOL, unique)], position)


@syntax("pg_typeof", form="pg_typeof(a)", summary="The type's name.")
def type_of(node: exp.Expr, block: Block) -> Scalar:
    """pg_typeof: known when the statement is compiled."""
    if len(node.expressions) != 1:
        raise fault.invalid(fault.UNDEFINED_FUNCTION, "pg_typeof takes one argument", position_of(node))
    argument = node.expressions[0]
    pg_type = block.bind(argument).type
    name = pg_type.sql_name
    if leaf(pg_type) != TEXT or not any(map(_is_varchar, node.root().find_all(exp.DataType))):
        return Constant(TEXT, name)
    if not isinstance(argument, exp.Cast):
        raise fault.unsupported("pg_typeof of a text beside a cast to varchar", position_of(node))
    is_varchar = any(map(_is_varchar, argument.to.find_all(exp.DataType)))
    return Constant(TEXT, name.replace("text", "character varying") if is_varchar else name)


def _is_varchar(name: exp.DataType) -> bool:
    return bool(name.this == exp.DType.VARCHAR)
