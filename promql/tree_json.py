"""An expression's tree in JSON, as Prometheus' API describes it (web/api/v1/translate_ast.go)."""

from typing import Any

from promql import tree
from promql.numbers import format_plain
from promql.tree import (
    Aggregate,
    AtTime,
    Binary,
    Call,
    Invariant,
    Matching,
    Negation,
    Node,
    Number,
    Paren,
    Range,
    Selector,
    String,
    Subquery,
)


def as_json(node: Node) -> dict[str, Any]:
    match node:
        case Number():
            return {"type": "numberLiteral", "val": format_plain(node.value)}
        case String():
            return {"type": "stringLiteral", "val": node.value}
        case Selector():
            return _selector(node, "vectorSelector")
        case Range():
            return {**_selector(node.selector, "matrixSelector"), "range": node.range_ms, "rangeExpr": None}
        case Subquery():
            timing = {"range": node.range_ms, "offset": node.offset_ms, "step": node.step_ms or 0}
            unset = dict.fromkeys(("rangeExpr", "offsetExpr", "stepExpr"))
            return {"type": "subquery", "expr": as_json(node.expr), **timing, **unset, **_at(node.fixed)}
        case Call():
            return {"type": "call", "func": _function(node), "args": [as_json(each) for each in node.args]}
        case Aggregate():
            parameter = None if node.parameter is None else as_json(node.parameter)
            grouping = {"grouping": list(node.grouping), "without": node.without}
            return {
                "type": "aggregation",
                "op": node.operation,
                "expr": as_json(node.expr),
                "param": parameter,
                **grouping,
            }
        case Binary():
            return _binary(node)
        case Negation():
            return {"type": "unaryExpr", "op": "-", "expr": as_json(node.expr)}
        case Paren():
            return {"type": "parenExpr", "expr": as_json(node.expr)}
        case Invariant():
            return as_json(node.expr)


def _selector(node: Selector, kind: str) -> dict[str, Any]:
    matchers = [{"name": each.name, "type": each.operation, "value": each.value} for each in node.matchers]
    members = {"name": node.name, "offset": node.offset_ms, "offsetExpr": None, "matchers": matchers, **_at(node.fixed)}
    return {"type": kind, **members, "anchored": False, "smoothed": False}


def _at(fixed: AtTime) -> dict[str, Any]:
    is_time = isinstance(fixed, int)
    return {"timestamp": fixed if is_time else None, "startOrEnd": None if is_time else fixed}


def _binary(node: Binary) -> dict[str, Any]:
    members: dict[str, Any] = {"type": "binaryExpr", "op": node.operation}
    members |= {"lhs": as_json(node.left), "rhs": as_json(node.right), "bool": node.return_bool}
    return members | {"matching": None if node.matching is None else _matching(node.matching)}


def _matching(matching: Matching) -> dict[str, Any]:
    fills = {"fillValues": {"lhs": None, "rhs": None}}
    labels = {"labels": list(matching.labels), "on": matching.on, "include": list(matching.include)}
    return {"card": matching.card, **labels, **fills}


def _function(node: Call) -> dict[str, Any]:
    returned = str(tree.type_of(node))
    types = [str(each) for each in node.types]
    return {"name": node.function, "argTypes": types, "variadic": node.variadic, "returnType": returned}
