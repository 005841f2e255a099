"""An expression as Prometheus prints it: on one line, or over several (promql/parser/printer.go, prettier.go)."""

from typing import Final

from promql import tree
from promql.durations import format_duration
from promql.labels import METRIC_NAME, is_legacy_name, quoted
from promql.numbers import format_g, format_plain
from promql.tree import (
    Aggregate,
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

# An expression up to this length stays on one line.
LINE_LENGTH: Final = 100
_INDENT: Final = "  "


def formatted(node: Node) -> str:
    """The expression as people read it best.

    >>> from promql.parse import parse
    >>> formatted(parse("sum by(job)(rate(x{a='b'}[5m]))"))
    'sum by (job) (rate(x{a="b"}[5m]))'
    """
    return _pretty(node, 0)


def text_of(node: Node) -> str:
    """On one line."""
    match node:
        case Number():
            return number_text(node.value)
        case String():
            return quoted(node.value)
        case Selector():
            return f"{_selector(node)}{_modifiers(node.fixed, node.offset_ms)}"
        case Range():
            inner = node.selector
            return f"{_selector(inner)}[{format_duration(node.range_ms)}]{_modifiers(inner.fixed, inner.offset_ms)}"
        case Subquery():
            return text_of(node.expr) + _subquery(node)
        case Call():
            return f"{node.function}({', '.join(map(text_of, node.args))})"
        case Aggregate():
            return f"{_aggregation(node)}({', '.join(map(text_of, tree.children(node)))})"
        case Binary():
            return f"{text_of(node.left)} {operator_text(node)} {text_of(node.right)}"
        case Negation():
            return f"-{text_of(node.expr)}"
        case Paren():
            return f"({text_of(node.expr)})"
        case Invariant():
            return text_of(node.expr)


def _pretty(node: Node, level: int) -> str:
    line, indent = text_of(node), _INDENT * level
    if len(line) <= LINE_LENGTH or isinstance(node, Number | String | Selector | Range):
        return indent + line
    match node:
        case Call():
            return f"{indent}{node.function}({_block(node.args, level)}{indent})"
        case Aggregate():
            return f"{indent}{_aggregation(node)}({_block(tree.children(node), level)}{indent})"
        case Binary():
            left, right = _pretty(node.left, level + 1), _pretty(node.right, level + 1)
            return f"{left}\n{indent}{operator_text(node)}\n{right}"
        case Subquery():
            return _pretty(node.expr, level) + _subquery(node)
        case Negation():
            return f"{indent}-{_pretty(node.expr, level).lstrip()}"
        case Paren():
            return f"{indent}(\n{_pretty(node.expr, level + 1)}\n{indent})"
    return indent + line


def _block(nodes: tuple[Node, ...], level: int) -> str:
    return "\n" + ",\n".join(_pretty(each, level + 1) for each in nodes) + "\n"


def number_text(value: float) -> str:
    """Go's %v of a float, without a sign for positive infinity's exponent forms."""
    return format_g(value) if abs(value) >= 1e21 else format_plain(value)


def _selector(node: Selector) -> str:
    matchers = [each for each in node.matchers if not (each.name == METRIC_NAME and each.value == node.name)]
    name = node.name if not node.name or is_legacy_name(node.name.replace(":", "_")) else ""
    parts = [quoted(node.name)] if node.name and not name else []
    parts += [f"{_label(each.name)}{each.operation}{quoted(each.value)}" for each in matchers]
    return name + (f"{{{','.join(parts)}}}" if parts or not name else "")


def _label(name: str) -> str:
    return name if is_legacy_name(name) else quoted(name)


def _modifiers(fixed: tree.AtTime, offset_ms: int) -> str:
    at = ""
    if isinstance(fixed, int):
        at = f" @ {fixed / 1000:.3f}"
    elif fixed is not None:
        at = f" @ {fixed}()"
    return at + (f" offset {format_duration(offset_ms)}" if offset_ms else "")


def _subquery(node: Subquery) -> str:
    step = "" if node.step_ms is None else format_duration(node.step_ms)
    return f"[{format_duration(node.range_ms)}:{step}]{_modifiers(node.fixed, node.offset_ms)}"


def _aggregation(node: Aggregate) -> str:
    labels = ", ".join(map(_label, node.grouping))
    if node.without:
        return f"{node.operation} without ({labels}) "
    return f"{node.operation} by ({labels}) " if node.grouping else node.operation


def operator_text(node: Binary) -> str:
    return node.operation + (" bool" if node.return_bool else "") + _matching(node.matching)


def _matching(matching: Matching | None) -> str:
    if matching is None or not (matching.labels or matching.on or matching.card in ("many-to-one", "one-to-many")):
        return ""
    text = f" {'on' if matching.on else 'ignoring'} ({', '.join(map(_label, matching.labels))})"
    if matching.card in ("many-to-one", "one-to-many"):
        side = "left" if matching.card == "many-to-one" else "right"
        text += f" group_{side} ({', '.join(map(_label, matching.include))})"
    return text
