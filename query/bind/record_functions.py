"""jsonb_to_recordset(value) AS x(a int, b text): rows whose columns are named and typed where they are used."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from sqlglot import exp

from query import fault
from query.bind import operators
from query.bind.arguments import arguments
from query.bind.block import Block
from query.bind.type_names import TypeName, type_name
from query.bind.type_resolution import call, coerce
from query.functions.json_records import ITEMS
from query.functions.registry import type_named
from query.pg.types import INT4, TEXT, dimensions, leaf, nested
from query.plan.tree import Call, Constant, Scalar, truth
from query.syntax.identifiers import fold
from query.syntax.positions import position_of

RECORD_FUNCTIONS: Final = {
    "jsonb_to_recordset": "json rows",
    "json_to_recordset": "json rows",
    "jsonb_to_record": "json row",
    "json_to_record": "json row",
}
"""Functions that give records, and the function that gives their objects as an array."""


def objects(node: exp.Expr, block: Block) -> Scalar:
    """The array of the objects that become rows."""
    name, values = str(node.this).lower(), arguments(node, block)
    if len(values) != 1:
        message = f"function {name} takes one argument"
        raise fault.invalid(fault.UNDEFINED_FUNCTION, message, position_of(node))
    value = coerce(values[0], type_named(name.split("_", 1)[0]), position_of(node))
    return call(RECORD_FUNCTIONS[name], [value], position_of(node))


def definitions(alias: exp.Expr | None, node: exp.Expr) -> list[tuple[str, TypeName]]:
    """The names and types of the columns. Raises 42601 without them."""
    columns: Sequence[exp.Expr] = alias.args.get("columns") or [] if alias is not None else []
    if not columns or not all(isinstance(column, exp.ColumnDef) for column in columns):
        message = 'a column definition list is required for functions returning "record"'
        raise fault.invalid(fault.SYNTAX_ERROR, message, position_of(node))
    return [(fold(column.this), _with_dimensions(column.args["kind"])) for column in columns]


def _with_dimensions(node: exp.DataType) -> TypeName:
    """The type of a column, an array with as many dimensions as it is written with."""
    name, count = type_name(node), 0
    while isinstance(node, exp.DataType) and node.this == exp.DType.ARRAY and node.expressions:
        node, count = node.expressions[0], count + 1
    return replace(name, type=nested(leaf(name.type), count)) if count > 1 else name


def member(document: Scalar, name: str, target: TypeName, position: int | None) -> Scalar:
    """A column's value: the member of its name, read as its type; JSON's null is NULL."""
    key = Constant(TEXT, name)
    text = call("->>", [document, key], position)
    if target.type.name in ("json", "jsonb"):
        return operators.cast(call("->", [document, key], position), target, position)
    if target.type.element is None:
        return text if target.type == TEXT and not target.modifiers else operators.cast(text, target, position)
    count = dimensions(target.type)
    is_json = leaf(target.type).name in ("json", "jsonb")
    arguments = (call("->", [document, key], position), Constant(INT4, count), truth(is_json))
    return operators.cast(Call(nested(TEXT, count), ITEMS[document.type.name], arguments, position), target, position)
