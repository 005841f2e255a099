"""The text of a computed numeric, whose digits after the point depend on what it was computed from."""

from collections.abc import Callable
from dataclasses import replace
from typing import Final

from query.bind.block import Block
from query.pg.types import INT4, INT8, INTEGERS, JSON, NUMERIC, TEXT, PgType, natural
from query.plan.tree import AggregateCall, Call, Case, Cast, Column, Constant, Scalar

_QUOTIENT: Final = "quotient text(numeric, numeric)"
_DIVISION: Final = "/(numeric, numeric)"
TEXTUAL: Final = ("concat", "concat_ws", "format", "quote_literal", "quote_nullable", "string_agg")
"""Functions that show their arguments as texts."""
JSON_VALUED: Final = ("to_json", "to_jsonb", "json_build_array", "jsonb_build_array", "json_build_object",
                      "jsonb_build_object")  # fmt: skip
"""Functions that show their arguments as numbers of JSON."""


def shown_quotient(value: Scalar, block: Block) -> Scalar:
    """A numeric as the text that PostgreSQL shows of it, if its digits are known only with the row; others as they
    are."""
    if value.type.name != "numeric" or value.type.exact:
        return value
    parts = _division(value) or _mean(value, block)
    if parts is not None and all(_is_exact(part.type) for part in parts):
        return Call(TEXT, _QUOTIENT, tuple(map(_as_numeric, parts)))
    digits = _digits(value, block)
    return value if digits is None else Call(TEXT, "numeric text(numeric, int4)", (value, digits))


def shown_argument(name: str, value: Scalar, block: Block) -> Scalar:
    """An argument of a function that shows it."""
    if name in TEXTUAL:
        return shown_quotient(value, block)
    if name not in JSON_VALUED:
        return value
    text = shown_quotient(value, block)
    return value if text is value else Cast(JSON, text)


def _as_numeric(value: Scalar) -> Scalar:
    return value if value.type.name == "numeric" else Cast(natural(value.type, NUMERIC), value)


def _is_exact(pg_type: PgType) -> bool:
    return pg_type.name in INTEGERS or (pg_type.name == "numeric" and pg_type.exact)


def _division(value: Scalar) -> tuple[Scalar, ...] | None:
    return value.args if isinstance(value, Call) and value.function == _DIVISION else None


def _mean(value: Scalar, block: Block) -> tuple[Scalar, ...] | None:
    """The sum and the number of values behind a mean that the block has computed."""
    if not isinstance(value, Column) or value.type.name != "numeric":
        return None
    calls = (call for call, field in block.aggregates.items() if field.id == value.id)
    mean = next((call for call in calls if call.function == "avg"), None)
    return None if mean is None else (block.aggregate(_total(mean)), block.aggregate(_count(mean)))


def _total(mean: AggregateCall) -> AggregateCall:
    source = mean.args[0].type
    pg_type = source if source.name == "numeric" else NUMERIC if source.name == "int8" else INT8
    return replace(mean, type=pg_type, function="sum")


def _count(mean: AggregateCall) -> AggregateCall:
    return replace(mean, type=INT8, function="count")


def _digits(value: Scalar, block: Block) -> Scalar | None:
    """How many digits after the point a value has; None if that is not known."""
    if _is_exact(value.type):
        return Constant(INT4, value.type.scale)
    if isinstance(value, Cast) and value.value.type.name in INTEGERS:
        return Constant(INT4, 0)
    parts = _division(value) or _mean(value, block)
    if parts is not None:
        known = all(_is_exact(part.type) for part in parts)
        return Call(INT4, "quotient digits(numeric, numeric)", tuple(map(_as_numeric, parts))) if known else None
    if isinstance(value, Case):
        return _of_case(value, block)
    if isinstance(value, Call) and value.function == "to_number(text, text!)":
        return Call(INT4, "to_number digits(text, text!)", value.args, value.position)
    rule = _RULES.get(value.function) if isinstance(value, Call) else None
    if rule is None or not isinstance(value, Call):
        return None
    digits = [_digits(arg, block) for arg in value.args]
    return rule([each for each in digits if each is not None]) if None not in digits else None


def _of_case(value: Case, block: Block) -> Scalar | None:
    digits = [_digits(result, block) for _, result in value.branches]
    rest = _digits(value.default, block)
    if rest is None or None in digits:
        return None
    pairs = zip(value.branches, digits, strict=True)
    return Case(INT4, tuple((condition, each) for (condition, _), each in pairs if each is not None), rest)


Rule = Callable[[list[Scalar]], Scalar]


def _greatest(digits: list[Scalar]) -> Scalar:
    return Call(INT4, "greatest(any...)", tuple(digits))


def _sum(digits: list[Scalar]) -> Scalar:
    return Call(INT4, "+(int4, int4)", tuple(digits))


def _same(digits: list[Scalar]) -> Scalar:
    return digits[0]


_RULES: Final[dict[str, Rule]] = {
    "+(numeric, numeric)": _greatest,
    "-(numeric, numeric)": _greatest,
    "*(numeric, numeric)": _sum,
    "-(numeric)": _same,
    "abs(numeric)": _same,
    "@(numeric)": _same,
}
