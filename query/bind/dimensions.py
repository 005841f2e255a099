"""Arrays of several dimensions: which functions take them, and which their elements in one row."""

from collections.abc import Sequence
from typing import Final

from query import fault
from query.pg.array_input import MOST_DIMENSIONS
from query.pg.types import array_of, dimensions, leaf
from query.plan.tree import ArrayOf, Call, Constant, Scalar

_OF_ELEMENTS: Final = ("array_to_string", "cardinality", "@>", "<@", "&&")
"""Functions that do not look at dimensions."""

_OF_DIMENSIONS: Final = frozenset(
    "array_length array_upper array_lower array_ndims array_dims array_reverse array_sample array_shuffle array_cat"
    " generate_subscripts trim_array array_to_json".split()
)
"""Functions of arrays that count, cut or order the first dimension, or all of them."""

JOINING: Final = ("||", "array_cat")


def is_nested(value: Scalar) -> bool:
    return dimensions(value.type) > 1


def flat(value: Scalar) -> Scalar:
    """The elements of all dimensions as an array of one."""
    if not is_nested(value):
        return value
    return Call(array_of(leaf(value.type)), "all elements(anyarray)", (value,))


def with_dimensions(name: str, args: Sequence[Scalar], position: int | None) -> Sequence[Scalar]:
    """The arguments of a call as the function takes arrays of several dimensions. Raises UnsupportedSQL."""
    if not any(map(is_nested, args)):
        return args
    if name in JOINING and len(args) == 2:
        return _joinable(args[0], args[1], position)
    return [flat(arg) for arg in args] if name in _OF_ELEMENTS else args


def require_one_dimension(name: str, value: Scalar, position: int | None) -> None:
    """Refuses what a function would have to look into the dimensions of an array for."""
    if is_nested(value) and name not in _OF_DIMENSIONS | {"||"} and " " not in name:
        raise fault.unsupported(f"{name} of an array of several dimensions", position)


def require_few_dimensions(count: int, position: int | None) -> None:
    """Refuses an array, or subscripts, of more dimensions than PostgreSQL has."""
    if count > MOST_DIMENSIONS:
        message = f"number of array dimensions ({count}) exceeds the maximum allowed ({MOST_DIMENSIONS})"
        raise fault.invalid(fault.PROGRAM_LIMIT, message, position)


def _joinable(left: Scalar, right: Scalar, position: int | None) -> tuple[Scalar, Scalar]:
    """Both sides with as many dimensions: an array joins the arrays that another one consists of (array_cat)."""
    more = dimensions(left.type) - dimensions(right.type)
    if abs(more) > 1 or 0 in (dimensions(left.type), dimensions(right.type)):
        raise fault.unsupported("joining arrays of such different dimensions", position)
    return (left if more >= 0 else _array_of(left), right if more <= 0 else _array_of(right))


def _array_of(value: Scalar) -> Scalar:
    return Call(array_of(value.type), "array of(anyarray)", (value,))


def items_of(value: Scalar) -> list[Scalar] | None:
    """The elements of an array that is known when the statement is compiled, of all dimensions."""
    if isinstance(value, ArrayOf):
        parts: Sequence[Scalar] = value.items
    elif isinstance(value, Constant) and isinstance(value.value, tuple) and value.type.element is not None:
        parts = [Constant(value.type.element, item) for item in value.value]
    else:
        return None
    found = [[part] if part.type.element is None else items_of(part) for part in parts]
    # Arrays of different sizes are an error, which is raised by row.
    if len({None if each is None else len(each) for each in found}) > 1:
        return None
    return None if None in found else [item for each in found for item in each or ()]


def constant_of_arrays(array: ArrayOf) -> Scalar:
    """The constant that an array of constant arrays is. Other arrays, and sizes that differ, stay as they are.

    Functions of constants are computed when a statement is bound: written out, each would mention the array anew.
    """
    values = [_constant_items(item) for item in array.items]
    if not is_nested(array) or leaf(array.type).unit == "ns" or _UNKNOWN in values:
        return array
    shapes = {_shape(value, dimensions(array.type) - 1) for value in values}
    if len(shapes) > 1:
        return array
    return Constant(array.type, () if shapes <= {()} else tuple(values))


_UNKNOWN: Final = object()


def _constant_items(value: Scalar) -> object:
    """The value of a constant, or of an array of constants."""
    if isinstance(value, Constant):
        return value.value
    if not isinstance(value, ArrayOf) or not all(isinstance(item, Constant) for item in value.items):
        return _UNKNOWN
    return tuple(item.value for item in value.items if isinstance(item, Constant))


def _shape(value: object, count: int) -> tuple[int, ...]:
    """The sizes of an array's so many dimensions; none of an empty one, and of NULL."""
    if not isinstance(value, tuple) or not value or count == 0:
        return ()
    return (len(value), *_shape(value[0], count - 1))
