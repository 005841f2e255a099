"""Questions about the form of a text: its Unicode normal form, and whether it is JSON."""

import json
import unicodedata
from typing import Final, Literal, cast, get_args

import polars as pl

from query import fault
from query.expr.call_context import CallContext
from query.functions.registry import define
from query.pg.json_text import BadJson, parse_binary, parse_json

_FAMILY = "Text"
_SIZES: Final = ("bytes", "kB", "MB", "GB", "TB", "PB")
_Form = Literal["NFC", "NFD", "NFKC", "NFKD"]
_FORMS: Final = frozenset(get_args(_Form))


@define("normalize(text, text!) -> text", "The text in a Unicode normal form: NFC, NFD, NFKC, NFKD.", family=_FAMILY)
def normalize(context: CallContext, value: pl.Expr, form: object) -> pl.Expr:
    known = _form(context, form)
    return context.rowwise(lambda text: unicodedata.normalize(known, text), value)


@define("is_normalized(text, text!) -> bool", "`x IS [form] NORMALIZED`.", family=_FAMILY)
def is_normalized(context: CallContext, value: pl.Expr, form: object) -> pl.Expr:
    known = _form(context, form)
    return context.rowwise(lambda text: unicodedata.is_normalized(known, text), value)


def _form(context: CallContext, form: object) -> _Form:
    """The normal form of this name, in letters of any case. Raises 22023."""
    name = str(form).upper()
    if name not in _FORMS:
        raise fault.invalid(fault.INVALID_PARAMETER, f"invalid normalization form: {form}", context.position)
    return cast(_Form, name)


@define("is json(text, text!, bool!) -> bool", "`x IS JSON [kind] [WITH UNIQUE KEYS]`.", family="JSON")
def is_json(context: CallContext, value: pl.Expr, json_type: object, unique: object) -> pl.Expr:
    def holds(text: str) -> bool:
        try:
            parsed = parse_binary(text) if unique else parse_json(text)
            if unique:
                json.loads(text, object_pairs_hook=_once)
        except (BadJson, _TwiceError):
            return False
        parsed_type = "OBJECT" if isinstance(parsed, dict) else "ARRAY" if isinstance(parsed, list) else "SCALAR"
        return json_type in ("VALUE", parsed_type)

    return context.rowwise(holds, value)


class _TwiceError(ValueError):
    """A key stands twice in an object."""


def _once(members: list[tuple[str, object]]) -> dict[str, object]:
    result: Final = dict(members)
    if len(result) < len(members):
        raise _TwiceError
    return result


@define(
    "pg_size_pretty(int8) -> text; pg_size_pretty(numeric) -> text",
    "A number of bytes in the unit that suits it.",
    family=_FAMILY,
)
def pg_size_pretty(context: CallContext, value: pl.Expr) -> pl.Expr:
    if context.types[0].scale:
        raise fault.unsupported("pg_size_pretty of a fraction", context.position, "round it first")
    return context.rowwise(_size_text, value)


def _size_text(size: int) -> str:
    """Bytes up to 10 kB, then up to 20,479 of a unit, rounded half away from zero from one more binary digit."""
    if abs(size) < 10 * 1024:
        return f"{size} bytes"
    sign, halves = (1, size) if size >= 0 else (-1, -size)
    halves >>= 9
    for unit in _SIZES[1:]:
        if halves < 20 * 1024 - 1 or unit == _SIZES[-1]:
            break
        halves >>= 10
    return f"{sign * ((halves + 1) // 2)} {unit}"
