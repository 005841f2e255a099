"""Looking for elements in arrays: comparisons with ANY and ALL, containment, and the array functions that search.

An element is equal to a value as `=` says, and here NULL is equal to NULL where PostgreSQL compares so. NaN is equal
to NaN, an interval to any of the same length, a JSON document to any with the same content.
"""

import math
from collections.abc import Callable, Sequence

import polars as pl

from query import fault
from query.expr.call_context import CallContext
from query.expr.row_errors import declare_row_error
from query.functions.registry import define
from query.pg.json_order import comparison_key
from query.pg.types import FLOATS, PgType

declare_row_error("null_position", "22004", "initial position must not be null")

_FAMILY = "Arrays"
_PLAIN = ("interval", "json", "jsonb", "record")
Key = Callable[[object], object]


def _key(pg_type: PgType, position: int | None) -> Key:
    """The key that values of a type compare by, in Python."""
    if pg_type.name == "json":
        message = "could not identify an equality operator for type json"
        raise fault.invalid(fault.UNDEFINED_FUNCTION, message, position)
    if pg_type.name == "record":
        raise fault.unsupported("searching an array of records", position)
    if pg_type.name in FLOATS:
        return _float_key
    keys: dict[str, Key] = {"interval": _interval_key, "jsonb": lambda value: comparison_key(str(value))}
    return keys.get(pg_type.name, lambda value: value)


def _float_key(value: object) -> object:
    return (math.isnan(value), 0.0 if math.isnan(value) else value) if isinstance(value, float) else value


def _interval_key(value: object) -> object:
    """Microseconds with months of 30 days."""
    if not isinstance(value, dict):
        return value
    return (value["months"] * 30 + value["days"]) * 86_400_000_000 + value["us"]


def _keys(items: Sequence[object], key: Key) -> list[object]:
    return [None if item is None else key(item) for item in items]


def _box(value: pl.Expr) -> pl.Expr:
    """A value in a list, which is not NULL where the value is."""
    return pl.concat_list([value])


@define("= any(anyelement, anyarray) -> bool", "`x = ANY (array)`.", family=_FAMILY, strict=False)
def equal_any(context: CallContext, value: pl.Expr, array: pl.Expr) -> pl.Expr:
    """NULL unless found, when the value or an element is NULL."""
    if context.types[0].name in _PLAIN:
        return _quantify(context, value, array, "=", any_of=True)
    size = array.list.len()
    contains = array.list.contains(value)
    unknown = value.is_null() | (array.list.drop_nulls().list.len() < size)
    result = pl.when(contains & value.is_not_null()).then(True).when(size == 0).then(False)
    return pl.when(array.is_not_null()).then(result.when(unknown).then(None).otherwise(False))


@define("<> all(anyelement, anyarray) -> bool", "`x <> ALL (array)`.", family=_FAMILY, strict=False)
def differs_from_all(context: CallContext, value: pl.Expr, array: pl.Expr) -> pl.Expr:
    return ~equal_any(context, value, array)


def _nullable(result: list[bool | None], any_of: bool) -> bool | None:
    if any_of in result:
        return any_of
    return None if None in result else not any_of


def _holds(symbol: str, value: object, item: object) -> bool:
    if symbol in ("=", "<>"):
        return (value == item) == (symbol == "=")
    less = value < item  # type: ignore[operator]
    equal = value == item
    results: dict[str, bool] = {"<": less, "<=": less or equal, ">": not less and not equal, ">=": not less}
    return results[symbol]


def _quantify(context: CallContext, value: pl.Expr, array: pl.Expr, symbol: str, any_of: bool) -> pl.Expr:
    key = _key(context.types[0], context.position)

    def test(boxed: list[object], items: list[object]) -> bool | None:
        (element_key,) = _keys(boxed, key)
        return _nullable(
            [
                None if item is None or element_key is None else _holds(symbol, element_key, item)
                for item in _keys(items, key)
            ],
            any_of,
        )

    return context.rowwise(test, _box(value), array)


def _define_quantifier(symbol: str, any_of: bool) -> None:
    word = "any" if any_of else "all"

    @define(
        f"{symbol} {word}(anyelement, anyarray) -> bool",
        f"`x {symbol} {word.upper()} (array)`.",
        family=_FAMILY,
        strict=False,
    )
    def quantified(context: CallContext, value: pl.Expr, array: pl.Expr) -> pl.Expr:
        return _quantify(context, value, array, symbol, any_of)


for _symbol in ("<", "<=", ">", ">=", "<>"):
    _define_quantifier(_symbol, True)
for _symbol in ("<", "<=", ">", ">=", "="):
    _define_quantifier(_symbol, False)


@define(
    "array_remove(anyarray, anyelement) -> anyarray",
    "Without the elements equal to a value.",
    family=_FAMILY,
    strict=False,
)
def array_remove(context: CallContext, array: pl.Expr, value: pl.Expr) -> pl.Expr:
    key = _key(context.types[1], context.position)

    def remove(items: list[object], boxed: list[object]) -> list[object]:
        (element_key,) = _keys(boxed, key)
        return [item for item, known in zip(items, _keys(items, key), strict=True) if known != element_key]

    return context.rowwise(remove, array, _box(value))


@define(
    "array_replace(anyarray, anyelement, anyelement) -> anyarray",
    "Elements equal to a value replaced.",
    family=_FAMILY,
    strict=False,
)
def array_replace(context: CallContext, array: pl.Expr, old: pl.Expr, new: pl.Expr) -> pl.Expr:
    key = _key(context.types[1], context.position)

    def replace(items: list[object], boxed: list[object], by: list[object]) -> list[object]:
        (element_key,) = _keys(boxed, key)
        return [by[0] if known == element_key else item for item, known in zip(items, _keys(items, key), strict=True)]

    return context.rowwise(replace, array, _box(old), _box(new))


def _places(context: CallContext, array: pl.Expr, value: pl.Expr, start: pl.Expr | None, first: bool) -> pl.Expr:
    """The positions of a value in an array, from 1: the first or all."""
    key = _key(context.types[1], context.position)

    def find(items: list[object], boxed: list[object], low: int = 1) -> object:
        (element_key,) = _keys(boxed, key)
        positions = [
            position for position, known in enumerate(_keys(items, key), 1) if known == element_key and position >= low
        ]
        return positions if not first else positions[0] if positions else None

    return context.rowwise(find, array, _box(value), *([] if start is None else [start]))


@define(
    "array_position(anyarray, anyelement) -> int4",
    "Index of the first element equal to a value.",
    family=_FAMILY,
    strict=False,
)
def array_position(context: CallContext, array: pl.Expr, value: pl.Expr) -> pl.Expr:
    return _places(context, array, value, None, first=True)


@define(
    "array_position(anyarray, anyelement, int4) -> int4",
    "The same from a starting index on.",
    family=_FAMILY,
    strict=False,
)
def array_position_from(context: CallContext, array: pl.Expr, value: pl.Expr, start: pl.Expr) -> pl.Expr:
    """Raises 22004 for a starting index that is NULL, where there is something to look for."""
    sought = value.is_not_null() | (array.list.drop_nulls().list.len() < array.list.len())
    missing = (array.list.len() > 0) & sought & start.is_null()
    return _places(context, array, value, context.fail_where(start, missing, "null_position"), first=True)


@define(
    "array_positions(anyarray, anyelement) -> int4[]",
    "Indexes of the elements equal to a value.",
    family=_FAMILY,
    strict=False,
)
def array_positions(context: CallContext, array: pl.Expr, value: pl.Expr) -> pl.Expr:
    return _places(context, array, value, None, first=False)


@define(
    "@>(anyarray, anyarray) -> bool",
    "Contains every element; `<@` with the arrays exchanged.",
    family=_FAMILY,
    mirrored="<@",
)
def contains(context: CallContext, left: pl.Expr, right: pl.Expr) -> pl.Expr:
    """A NULL element is in no array."""
    key = _key(context.types[0].element or context.types[0], context.position)

    def holds(whole: list[object], part: list[object]) -> bool:
        keys = _keys(whole, key)
        return all(item is not None and item in keys for item in _keys(part, key))

    return context.rowwise(holds, left, right)


@define("&&(anyarray, anyarray) -> bool", "Have an element in common.", family=_FAMILY)
def overlaps(context: CallContext, left: pl.Expr, right: pl.Expr) -> pl.Expr:
    key = _key(context.types[0].element or context.types[0], context.position)

    def meet(items: list[object], other: list[object]) -> bool:
        keys = _keys(other, key)
        return any(item is not None and item in keys for item in _keys(items, key))

    return context.rowwise(meet, left, right)
