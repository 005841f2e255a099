"""How jsonb values compare, as texts that sort as the values do. Pure Python.

Source: PostgreSQL documentation, "jsonb Indexing", and the behaviour of compareJsonbContainers: an object is greater
than an array, an array than a boolean, a boolean than a number, a number than a string, a string than null; a
container with more members is greater; then the members decide, of an object first key, first value, second key. A
scalar at the top counts as an array of one, less than a written one.
"""

from decimal import Decimal
from typing import Final

from query.pg.json_text import Json, parse_json, stored_order

_NULL, _STRING, _NUMBER, _BOOLEAN, _ARRAY, _OBJECT = "012356"
_COUNT_DIGITS: Final = 9
_POWER_DIGITS: Final = 7
_POWER_OFFSET: Final = 10**6
_COMPLEMENT: Final = str.maketrans("0123456789 ", "9876543210~")


def comparison_key(text: str) -> str:
    """The key of a JSON document: equal for equal jsonb values, smaller for smaller ones.

    >>> comparison_key('{"a": 1}') == comparison_key('{"a":1.0}')
    True
    >>> comparison_key("[]") < comparison_key("null") < comparison_key('"a"') < comparison_key("[null]")
    True
    """
    value = parse_json(text)
    if isinstance(value, list | dict):
        return _key(value, text="1")
    return _ARRAY + _count(1) + "0" + _key(value)


def _key(value: Json, text: str = "") -> str:
    if value is None:
        return _NULL
    if isinstance(value, bool):
        return _BOOLEAN + str(int(value))
    if isinstance(value, int | Decimal):
        return _NUMBER + _number(Decimal(value))
    if isinstance(value, list):
        return _ARRAY + _count(len(value)) + text + "".join(map(_key, value))
    if isinstance(value, dict):
        members = (_text(name) + _key(item) for name, item in stored_order(value))
        return _OBJECT + _count(len(value)) + "".join(members)
    return _STRING + _text(value)


def _count(members: int) -> str:
    return str(members).zfill(_COUNT_DIGITS)


def _text(value: str) -> str:
    """Ended by what sorts before every character."""
    return value.replace("\0", "\0\1") + "\0\0"


def _number(value: Decimal) -> str:
    """The sign, the power of ten and the digits; of a negative number the complements of the latter two."""
    if not value:
        return "1"
    digits = "".join(map(str, value.as_tuple().digits)).lstrip("0").rstrip("0")
    size = str(value.adjusted() + _POWER_OFFSET).zfill(_POWER_DIGITS) + digits + " "
    return "2" + size if value > 0 else "0" + size.translate(_COMPLEMENT)
