"""The functions behind PostgreSQL's operators, by their own names: `jsonb_contains(a, b)` is `a @> b`."""

from typing import Final

from sqlglot import exp

from query import fault
from query.bind.arguments import arguments
from query.bind.block import Block
from query.bind.operators import comparison
from query.bind.type_resolution import call, coerce
from query.functions.registry import syntax, type_named
from query.pg.types import implicit
from query.plan.tree import Scalar
from query.syntax.positions import position_of

_ARRAYS: Final = {"arraycontains": "@>", "arraycontained": "<@", "arrayoverlap": "&&"}

_SAME: Final = (
    *("jsonb_contains jsonb @> jsonb", "jsonb_contained jsonb <@ jsonb", "jsonb_concat jsonb || jsonb"),
    *("jsonb_exists jsonb ? text", "jsonb_exists_any jsonb ?| text[]", "jsonb_exists_all jsonb ?& text[]"),
    *("jsonb_delete jsonb - text", "jsonb_delete jsonb - int4", "jsonb_delete jsonb - text[]"),
    "jsonb_delete_path jsonb #- text[]",
    *(f"{kind}_object_field {kind} -> text" for kind in ("json", "jsonb")),
    *(f"{kind}_object_field_text {kind} ->> text" for kind in ("json", "jsonb")),
    *(f"{kind}_array_element {kind} -> int4" for kind in ("json", "jsonb")),
    *(f"{kind}_array_element_text {kind} ->> int4" for kind in ("json", "jsonb")),
    *("textcat text || text", "textregexeq text ~ text", "texticregexeq text ~* text"),
    *("numeric_add numeric + numeric", "numeric_sub numeric - numeric", "numeric_mul numeric * numeric"),
    *("numeric_div numeric / numeric", "numeric_mod numeric % numeric"),
    *("date_pli date + int4", "date_mii date - int4", "date_mi date - date"),
    *("timestamp_mi timestamp - timestamp", "timestamptz_mi timestamptz - timestamptz"),
    *("interval_pl interval + interval", "interval_mi interval - interval"),
)
_ARITHMETIC: Final = {"pl": "+", "mi": "-", "mul": "*", "div": "/", "mod": "%"}
_COMPARISONS: Final = {"eq": "=", "ne": "<>", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}
_SHORT: Final = ("int2", "int4", "int8", "float4", "float8", "bool", "bytea")
_LONG: Final = ("numeric", "text", "date", "time", "timestamp", "timestamptz", "interval", "jsonb")
_WITHOUT_LINE: Final = ("texteq", "textne")


def _forms() -> dict[str, list[tuple[str, str, str]]]:
    """The left type, the operator and the right type of each function's forms."""
    lines = list(_SAME)
    for kind in ("int2", "int4", "int8", "float4", "float8"):
        lines += [
            f"{kind}{name} {kind} {symbol} {kind}"
            for name, symbol in _ARITHMETIC.items()
            if "float" not in kind or name != "mod"
        ]
    for name, symbol in _COMPARISONS.items():
        lines += [f"{kind}{name} {kind} {symbol} {kind}" for kind in _SHORT]
        for kind in _LONG:
            function = f"{kind}{name}" if f"{kind}{name}" in _WITHOUT_LINE else f"{kind}_{name}"
            lines.append(f"{function} {kind} {symbol} {kind}")
    forms: dict[str, list[tuple[str, str, str]]] = {}
    for line in lines:
        name, left, symbol, right = line.split()
        forms.setdefault(name, []).append((left, symbol, right))
    return forms


_FORMS: Final = _forms()


@syntax(*_ARRAYS)
def array_operator(node: exp.Expr, block: Block) -> Scalar:
    """The operators of arrays of any type."""
    return call(_ARRAYS[str(node.this).lower()], arguments(node, block), position_of(node))


@syntax(*_FORMS)
def operator_function(node: exp.Expr, block: Block) -> Scalar:
    """A call of such a function, as the operator."""
    name, position = str(node.this).lower(), position_of(node)
    values = arguments(node, block)
    for left, symbol, right in _FORMS[name]:
        types = (type_named(left), type_named(right))
        if len(values) == 2 and all(implicit(value.type, kind) for value, kind in zip(values, types, strict=True)):
            first, second = (coerce(value, kind, position) for value, kind in zip(values, types, strict=True))
            compares = symbol in _COMPARISONS.values()
            return comparison(symbol, first, second, position) if compares else call(symbol, [first, second], position)
    shown = ", ".join(value.type.sql_name for value in values)
    raise fault.invalid(fault.UNDEFINED_FUNCTION, f"function {name}({shown}) does not exist", position)
