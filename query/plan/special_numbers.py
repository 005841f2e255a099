"""NaN and infinity as numeric: which functions take them, and what the others get."""

from dataclasses import replace
from typing import Final

from query.plan.tree import Call, Scalar

TAKING_SPECIAL: Final = frozenset(
    "+ - * / @ abs sqrt ln exp round trunc ceil ceiling floor greatest least || concat concat_ws format"
    " width_bucket to_json to_jsonb json_build_array jsonb_build_array json_build_object jsonb_build_object".split()
)
"""Functions that give what PostgreSQL gives for NaN and infinity."""


def finite(value: Scalar) -> Scalar:
    """The numeric, which is an error where it is NaN or infinite."""
    return Call(replace(value.type, special=False), "finite number(numeric)", (value,))
