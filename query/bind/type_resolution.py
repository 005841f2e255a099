"""PostgreSQL's conversions: of the arguments of a call, and of several values to their common type.

Source: PostgreSQL documentation, chapter "Type Conversion": UNION and CASE (10.5).
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from errors import WeirError
from query import fault
from query.bind.dimensions import JOINING, is_nested, require_one_dimension, with_dimensions
from query.bind.endless import converted, large_float
from query.bind.literals import read_literal
from query.bind.overloads import choose, missing, stands_for
from query.functions.registry import POLYMORPHIC, Function, type_named
from query.pg.text_input import Numeric
from query.pg.types import (
    FLOAT8,
    FLOATS,
    IMPLICIT,
    INTEGER_LIMITS,
    INTEGERS,
    NUMERIC,
    TEXT,
    TIMESTAMPS,
    UNKNOWN,
    PgType,
    array_of,
    dimensions,
    implicit,
    leaf,
    natural,
    nested,
    same,
    widest,
)
from query.plan.special_numbers import TAKING_SPECIAL, finite
from query.plan.tree import ArrayOf, Call, Cast, Constant, Scalar, is_endless, is_large


def call(name: str, args: Sequence[Scalar], position: int | None = None) -> Call:
    """The call that `name` means for arguments of these types, with the conversions PostgreSQL would add."""
    if name in JOINING and any(map(is_nested, args)):
        args = [_read_as_array(arg, args, position) for arg in args]
    args = with_dimensions(name, args, position)
    function = choose(name, [arg.type for arg in args], position)
    if name in _OF_A_TYPE and args[0].type.name == "unknown":
        message = "could not determine polymorphic type because input has type unknown"
        raise fault.invalid(fault.DATATYPE_MISMATCH, message, position)
    return apply(function, args, position)


def _read_as_array(value: Scalar, args: Sequence[Scalar], position: int | None) -> Scalar:
    """An untyped literal beside arrays: an array of the same elements, of as many dimensions as it has itself."""
    if not isinstance(value, Constant) or value.type.name != "unknown":
        return value
    target = array_of(next(leaf(arg.type) for arg in args if is_nested(arg)))
    if value.value is None:
        return Constant(target, None)
    return read_literal(value, target, position)


_OF_A_TYPE: Final = ("to_json", "to_jsonb")
"""Functions of anyelement, which an untyped literal is none of."""


def apply(function: Function, args: Sequence[Scalar], position: int | None) -> Call:
    """`function` over `args`, each converted to the parameter's type."""
    element = _element([arg.type for arg in args], function)
    if element is not None and element.name == "numeric":
        readers = {"anyelement": NUMERIC, "anynonarray": NUMERIC, "anyarray": array_of(NUMERIC)}
        read_types = [readers.get(function.parameter(index).type) for index in range(len(args))]
        args = [
            arg if pg_type is None else _digits(arg, position, pg_type)
            for arg, pg_type in zip(args, read_types, strict=True)
        ]
        element = _element([arg.type for arg in args], function)
    converted = []
    for index, arg in enumerate(args):
        converted.append(_argument(function, index, arg, element, position))
    types = tuple(arg.type for arg in converted)
    return Call(_result(function, types, element), function.key, tuple(converted), position)


def _argument(function: Function, index: int, arg: Scalar, element: PgType | None, position: int | None) -> Scalar:
    parameter = function.parameter(index)
    if parameter.type == "any":
        converted = coerce(arg, TEXT) if arg.type.name == "unknown" else arg
    elif parameter.type == "anyarray":
        require_one_dimension(function.name, arg, position)
        converted = coerce(arg, array_of(element or TEXT), position)
    elif parameter.type in POLYMORPHIC:
        converted = coerce(arg, element or TEXT, position)
    else:
        converted = coerce(arg, type_named(parameter.type), position)
    if converted.type.special and function.name not in TAKING_SPECIAL and " " not in function.name:
        converted = finite(converted)
    if parameter.constant and isinstance(converted, ArrayOf):
        converted = _constant_array(converted)
    if parameter.constant and not isinstance(converted, Constant):
        raise fault.unsupported(f"{function.name} with argument {index + 1} that is not a constant", position)
    return converted


def _constant_array(array: ArrayOf) -> Scalar:
    """The constant that an array of constants is."""
    values = [item.value for item in array.items if isinstance(item, Constant)]
    return Constant(array.type, tuple(values)) if len(values) == len(array.items) else array


def _element(types: Sequence[PgType], function: Function) -> PgType | None:
    """The type that anyelement stands for in this call."""
    element: PgType | None = None
    for index, pg_type in enumerate(types):
        candidate = stands_for(function.parameter(index).type, pg_type)
        if candidate is not None:
            element = candidate if element is None else common([element, candidate], function.name)
    return element


def _result(function: Function, types: tuple[PgType, ...], element: PgType | None) -> PgType:
    if callable(function.result):
        result = function.result(types)
        return replace(result, special=True) if _is_special(function, types, result) else result
    if function.result == "anyelement":
        return element or TEXT
    if function.result == "anyarray":
        return array_of(element or TEXT)
    result = type_named(function.result)
    return replace(result, special=True) if _is_special(function, types, result) else result


def _is_special(function: Function, types: tuple[PgType, ...], result: PgType) -> bool:
    """True for a number that may be NaN or infinite since an argument may."""
    return result.name == "numeric" and function.name in TAKING_SPECIAL and any(each.special for each in types)


def common(
    types: Sequence[PgType], construct: str, position: int | None = None, positions: Sequence[int | None] = ()
) -> PgType:
    """The type of UNION, CASE, VALUES, ARRAY and the like (10.5). `positions` are the values', for errors."""
    known_types = [pg_type for pg_type in types if pg_type.name != "unknown"]
    if not known_types:
        return TEXT
    chosen = known_types[0]
    for pg_type, own_position in zip(types, positions or [position] * len(types), strict=True):
        if pg_type.name == "unknown":
            continue
        if dimensions(pg_type) != dimensions(chosen) and "A" == pg_type.category == chosen.category:
            raise _mixed_dimensions(own_position or position)
        if same(pg_type, chosen):
            chosen = widest(chosen, pg_type)
        elif pg_type.category != chosen.category:
            message = f"{construct} types {chosen.sql_name} and {pg_type.sql_name} cannot be matched"
            raise fault.invalid(fault.DATATYPE_MISMATCH, message, own_position or position)
        elif implicit(chosen, pg_type):
            chosen = pg_type
        elif not implicit(pg_type, chosen):
            message = f"{construct} types {chosen.sql_name} and {pg_type.sql_name} cannot be matched"
            raise fault.invalid(fault.DATATYPE_MISMATCH, message, own_position or position)
    for pg_type in known_types:
        chosen = widest(natural(pg_type, chosen), chosen) if implicit(pg_type, chosen) else chosen
    return _as_shown(known_types, chosen)


def _as_shown(pg_types: Sequence[PgType], chosen: PgType) -> PgType:
    """The chosen type; numeric as not exact if PostgreSQL would show some of the values with fewer digits: 1 beside
    2.50 stays 1."""
    if chosen.element is not None:
        return array_of(_as_shown([kind.element or kind for kind in pg_types], chosen.element))
    shorter = any(kind.name in INTEGERS or (kind.name == "numeric" and kind.scale < chosen.scale) for kind in pg_types)
    return replace(chosen, exact=False) if chosen.name == "numeric" and chosen.scale and shorter else chosen


def read_numeric_literals(values: Sequence[Scalar], position: int | None = None) -> list[Scalar]:
    """Read untyped literals among numerics, so that their digits count for the common type."""
    pg_types = [value.type for value in values if value.type.name != "unknown"]
    if not any(pg_type.name == "numeric" for pg_type in pg_types) or any(
        pg_type.name in FLOATS for pg_type in pg_types
    ):
        return list(values)
    return [_digits(value, position) for value in values]


def _digits(value: Scalar, position: int | None, pg_type: PgType = NUMERIC) -> Scalar:
    """An untyped literal as the numeric, or array of them, that it spells."""
    if not isinstance(value, Constant) or value.type.name != "unknown" or value.value is None:
        return value
    return read_literal(value, pg_type, position)


def coerce(value: Scalar, target: PgType, position: int | None = None, construct: str = "") -> Scalar:
    """`value` as `target` by PostgreSQL's implicit conversion; the scale or unit that keeps every value."""
    if value.type == target:
        return value
    if value.type.element is not None and target.element is not None:
        value = _with_dimensions(value, target, position)
    if isinstance(value, Constant):
        folded = _constant(value, target, position)
        if folded is not None:
            return _with_dimensions(folded, target, position)
    if value.type.name == "unknown":
        return Cast(target, Cast(TEXT, value), position=position)
    if not implicit(value.type, target):
        verb = construct or "expression"
        message = f"{verb} is of type {value.type.sql_name} but {target.sql_name} was expected"
        raise fault.invalid(fault.DATATYPE_MISMATCH, message, position)
    natural_type = _holding(value.type, target)
    return value if value.type == natural_type else Cast(natural_type, value, explicit=False, position=position)


def _with_dimensions(value: Scalar, target: PgType, position: int | None) -> Scalar:
    """The value if it has as many dimensions as the target, or none yet: NULL and the empty array."""
    if dimensions(value.type) == dimensions(target):
        return value
    if isinstance(value, Constant) and value.value in (None, ()):
        return Constant(nested(leaf(value.type), dimensions(target)), value.value)
    raise _mixed_dimensions(position)


def _mixed_dimensions(position: int | None) -> WeirError:
    return fault.unsupported("arrays of different numbers of dimensions in one place", position)


def _holding(source: PgType, target: PgType) -> PgType:
    """`target` with the scale or unit that keeps every value of `source` and, of the same type, of `target`."""
    if source.element is not None and target.element is not None:
        return array_of(_holding(source.element, target.element))
    natural_type = natural(source, target)
    if target.name == "numeric" and target.scale > natural_type.scale:
        return replace(target, special=target.special or natural_type.special)
    if target.name == "numeric" and 0 < target.scale < natural_type.scale:
        raise fault.unsupported(
            f"a numeric of {natural_type.scale} digits after the point among ones of {target.scale}"
        )
    if source.name in TIMESTAMPS and target.name in TIMESTAMPS:
        return replace(target, unit="ns" if "ns" in (source.unit, target.unit) else "us")
    return natural_type


def _constant(value: Constant, target: PgType, position: int | None) -> Constant | None:
    """Folds the conversions of constants that need no computing."""
    if value.value is None:
        return Constant(target, None)
    if is_endless(value):
        return converted(value, target)
    if is_large(value) and target.name == "float8":
        return large_float(value, target)
    if value.type.name == "unknown":
        return _pad_scale(read_literal(value, target, position), target)
    if value.type.name in INTEGERS and isinstance(value.value, int):
        if target.name in INTEGERS:
            return Constant(target, value.value) if abs(value.value) < INTEGER_LIMITS[target.name] else None
        if target.name == "numeric":
            whole = replace(NUMERIC, scale=target.scale, exact=not target.scale)
            return Constant(whole, value.value * 10**target.scale)
        if target.name == "float8":
            return Constant(FLOAT8, float(value.value))
    longer = value.type.name == "numeric" and target.name == "numeric" and target.scale > value.type.scale
    if longer and isinstance(value.value, int):
        exact = replace(target, exact=target.exact and value.type.exact)
        return Constant(exact, value.value * 10 ** (target.scale - value.type.scale))
    if value.type.name == "numeric" and target.name == "float8" and isinstance(value.value, int):
        return Constant(FLOAT8, value.value / 10**value.type.scale)
    return None


def _pad_scale(constant: Constant, target: PgType) -> Constant:
    """A numeric that was read, with at least as many digits after the point as the target."""
    if target.name != "numeric" or constant.type.scale >= target.scale or not isinstance(constant.value, int):
        return constant
    return Constant(replace(target, exact=False), Numeric(constant.value, constant.type.scale).at_scale(target.scale))


def comparable(left: Scalar, right: Scalar, position: int | None, operator: str) -> tuple[Scalar, Scalar]:
    """Both sides of a comparison in one type. Raises 42883 as PostgreSQL does for types that do not compare."""
    if "bpchar" in (left.type.name, right.type.name):
        left, right = coerce(left, TEXT, position), coerce(right, TEXT, position)
    types = (left.type, right.type)
    if all(pg_type.name == "unknown" for pg_type in types):
        return coerce(left, TEXT), coerce(right, TEXT)
    if types[0].name == "unknown":
        left = coerce(left, types[1], position)
    elif types[1].name == "unknown":
        right = coerce(right, types[0], position)
    types = (left.type, right.type)
    if "A" == types[0].category == types[1].category and dimensions(types[0]) != dimensions(types[1]):
        left, right = _of_as_many_dimensions(left, right, position)
        types = (left.type, right.type)
    if same(*types):
        target = widest(*types)
    elif types[0].element is None and types[1].element is None and types[1].name in IMPLICIT.get(types[0].name, ()):
        target = widest(natural(types[0], types[1]), types[1])
    elif types[0].element is None and types[1].element is None and types[0].name in IMPLICIT.get(types[1].name, ()):
        target = widest(natural(types[1], types[0]), types[0])
    else:
        raise missing(operator, types, position)
    if target.name == "float4" and not same(*types):
        target = FLOAT8  # float4 compares with no other number but float8
    return coerce(left, target, position), coerce(right, target, position)


def _of_as_many_dimensions(left: Scalar, right: Scalar, position: int | None) -> tuple[Scalar, Scalar]:
    """Both sides, of which one is NULL or the empty array."""
    if isinstance(left, Constant) and left.value in (None, ()):
        return _with_dimensions(left, right.type, position), right
    return left, _with_dimensions(right, left.type, position)


def unknown_to_text(value: Scalar) -> Scalar:
    """Convert an untyped literal to text, the type that it has in an answer."""
    return coerce(value, TEXT) if value.type.name == UNKNOWN.name else value
