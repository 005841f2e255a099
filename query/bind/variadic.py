"""VARIADIC: the elements of an array as the last arguments of a call."""

from typing import Final

from query import fault
from query.bind.dimensions import items_of
from query.bind.type_resolution import coerce
from query.pg.types import INT4, TEXT, array_of
from query.plan.tree import Constant, Scalar

_PARAMETERS: Final = {
    **dict.fromkeys(("concat", "num_nulls", "num_nonnulls"), 0),
    **dict.fromkeys(("json_build_array", "jsonb_build_array", "json_build_object", "jsonb_build_object"), 0),
    **dict.fromkeys(("concat_ws", "format"), 1),
    **dict.fromkeys(("json_extract_path", "jsonb_extract_path"), 1),
    **dict.fromkeys(("json_extract_path_text", "jsonb_extract_path_text"), 1),
}
"""Functions that take VARIADIC, and how many arguments they have before it."""

_NOTHING: Final = {
    **dict.fromkeys(("concat", "concat_ws", "num_nonnulls"), Constant(TEXT, None)),
    "num_nulls": Constant(INT4, 0),
}
"""What has the effect of no argument, for functions of which we have no form without any."""

_GRAMMAR: Final = ("coalesce", "greatest", "least", "nullif", "grouping")


def elements(array: Scalar, name: str, before: list[Scalar], position: int | None) -> list[Scalar]:
    """The arguments that VARIADIC and an array stand for, behind those before it; the array has to be written out.

    Of a function that has no such parameter it is an argument like any other, as in PostgreSQL.
    """
    if name in _GRAMMAR:
        raise fault.invalid(fault.SYNTAX_ERROR, 'syntax error at or near "variadic"', position)
    if name not in _PARAMETERS:
        return [array]
    if name.endswith(("_extract_path", "_extract_path_text")) and array.type.name == "unknown":
        array = coerce(array, array_of(TEXT), position)
    if _PARAMETERS[name] != len(before):
        types = ", ".join(value.type.sql_name for value in (*before, array))
        raise fault.invalid(fault.UNDEFINED_FUNCTION, f"function {name}({types}) does not exist", position)
    if array.type.element is None:
        raise fault.invalid(fault.DATATYPE_MISMATCH, "VARIADIC argument must be an array", position)
    items = items_of(array)
    if items is None or (not items and name.startswith(("json_extract", "jsonb_extract"))):
        raise fault.unsupported("VARIADIC with an array that is empty or not written out", position)
    return items or ([_NOTHING[name]] if name in _NOTHING else [])
