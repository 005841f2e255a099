"""Text to tree: `promql-parser` decides what the text means, the outline adds positions and the newest operators."""

import math
import re
from collections.abc import Iterator
from datetime import timedelta
from typing import Any, Final

import promql_parser

from errors import InvalidPromQL
from promql import tree
from promql.durations import parse_duration
from promql.fault import syntax_error
from promql.labels import METRIC_NAME
from promql.outline import MARKER, Item, Outline, outline
from promql.tree import Matcher, Matching, Node, Type

# By the names of the parser's enumerations, whose members cannot be keys.
_CARDS: Final = {"OneToOne": "one-to-one", "ManyToOne": "many-to-one", "OneToMany": "one-to-many"} | {
    "ManyToMany": "many-to-many"
}
_MATCH: Final = {"Equal": "=", "NotEqual": "!=", "Re": "=~", "NotRe": "!~"}
# promql/parser/functions.go and parse.go: what needs --enable-feature=promql-experimental-functions.
EXPERIMENTAL: Final = frozenset(
    """double_exponential_smoothing end histogram_quantiles info limit_ratio limitk mad_over_time max_of
    min_of range sort_by_label sort_by_label_desc start start_timestamp step ts_of_first_over_time ts_of_last_over_time
    ts_of_max_over_time ts_of_min_over_time""".split()
)
_BYTE: Final = re.compile(r"\\(?:x[89a-fA-F]|[2-3][0-7]{2})")
_ESCAPES: Final = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "f": "\f", "v": "\v"}
# Far beyond any sample, and far enough from the ends of 64 bits to compute with.
FURTHEST_MS: Final = 2**60
_MS: Final = timedelta(milliseconds=1)
# The parser quotes names as Rust does.
_QUOTED: Final = re.compile(r"'([^']*)'")


def parse(text: str, *, experimental: bool = False) -> Node:
    """The tree of an expression. Raises InvalidPromQL with Prometheus' text, line and column.

    >>> parse("1 + 2").operation
    '+'
    """
    if not text.strip():
        raise syntax_error("no expression found in input", text, 0)
    outlined = outline(text)
    return _Reader(text, outlined, experimental).read(_parsed(text, outlined.text))


def _parsed(text: str, mended: str) -> Any:
    try:
        return promql_parser.parse(mended)
    except ValueError as error:
        message = _QUOTED.sub(r'"\1"', str(error)).replace("illegal regex for ", "error parsing regexp: ")
        raise syntax_error(message, text, _suspect(text, message)) from error


def _suspect(text: str, message: str) -> int:
    """Where the error lies: at the name that the message quotes, or at the end of a text that is not complete."""
    quoted = re.search(r'"([^"]+)"', message)
    if quoted and quoted[1] in text:
        return text.index(quoted[1])
    return len(text) if "unexpected end" in message or "unclosed" in message else 0


class _Reader:
    """Walks over the parser's tree and the outline's items together."""

    def __init__(self, text: str, outlined: Outline, experimental: bool) -> None:
        self._text, self._experimental = text, experimental
        self._items = iter(outlined.items)
        self._ahead: Item | None = next(self._items, None)

    def read(self, expr: Any) -> Node:
        self._skip({"plus"})
        match expr:
            case promql_parser.NumberLiteral():
                return self._number(expr)
            case promql_parser.StringLiteral():
                item = self._take("string")
                return tree.String(_with_bytes(item.text, expr.val), item.start)
            case promql_parser.VectorSelector():
                return self._selector(expr)
            case promql_parser.MatrixSelector():
                selector = self._selector(expr.vector_selector)
                return tree.Range(selector, self._positive(expr.range, selector.at), selector.at)
            case promql_parser.SubqueryExpr():
                return self._subquery(expr)
            case promql_parser.ParenExpr():
                start = self._take("paren").start
                return tree.Paren(self.read(expr.expr), start)
            case promql_parser.UnaryExpr():
                start = self._take("minus").start
                return tree.Negation(self.read(expr.expr), start)
            case promql_parser.BinaryExpr():
                return self._binary(expr)
            case promql_parser.AggregateExpr():
                return self._aggregate(expr)
            case promql_parser.Call():
                return self._call(expr)
        raise self._error(f"an expression of type {type(expr).__name__} is not supported", 0)

    def _error(self, message: str, at: int) -> InvalidPromQL:
        return syntax_error(message, self._text, at)

    def _take(self, kind: str) -> Item:
        item = self._ahead
        if item is None or item.kind != kind:
            raise self._error("unexpected end of input" if item is None else f"unexpected {item.text!r}", 0)
        self._ahead = next(self._items, None)
        return item

    def _skip(self, kinds: set[str]) -> int | None:
        """Pass over items of these kinds; where the first was."""
        start = None
        while self._ahead is not None and self._ahead.kind in kinds:
            start = self._ahead.start if start is None else start
            self._ahead = next(self._items, None)
        return start

    def _number(self, expr: Any) -> Node:
        # The parser has folded the sign into the number.
        sign = self._skip({"plus", "minus"})
        start = self._take("number").start
        return tree.Number(expr.val, start if sign is None else sign)

    def _selector(self, expr: Any) -> tree.Selector:
        start = self._take("selector").start
        found = [Matcher(each.name, _MATCH[_member(each.op)], each.value) for each in expr.matchers.matchers]
        matchers = [each for each in found if each.name != MARKER]
        if expr.name:
            self._refuse_second_name(expr.name, matchers, start)
            matchers.append(Matcher(METRIC_NAME, "=", expr.name))
        fixed = None if expr.at is None else self._fixed()
        return tree.Selector(expr.name or "", tuple(matchers), _ms(expr.offset), fixed, start)

    def _refuse_second_name(self, name: str, matchers: list[Matcher], start: int) -> None:
        twice = next((each.value for each in matchers if each.name == METRIC_NAME), None)
        if twice is not None:
            raise self._error(f'metric name must not be set twice: "{name}" or "{twice}"', start)

    def _fixed(self) -> tree.AtTime:
        """The time of an @ modifier in ms; the text is read anew, since the parser's times begin in 1970."""
        item = self._take("at")
        if item.text == "start":
            return "start"
        if item.text == "end":
            return "end"
        seconds = _seconds(item.text)
        if not math.isfinite(seconds) or abs(seconds) >= 2**63 / 1_000:
            raise self._error(f"timestamp out of bounds for @ modifier: {seconds:f}", item.start)
        return max(-FURTHEST_MS, min(FURTHEST_MS, _half_up(seconds * 1_000)))

    def _subquery(self, expr: Any) -> Node:
        inner = self.read(expr.expr)
        if tree.type_of(inner) != Type.VECTOR:
            raise self._error(
                f"subquery is only allowed on instant vector, got {tree.type_of(inner)} instead", inner.at
            )
        fixed = None if expr.at is None else self._fixed()
        step = None if expr.step is None else self._positive(expr.step, inner.at)
        return tree.Subquery(inner, self._positive(expr.range, inner.at), step, _ms(expr.offset), fixed, inner.at)

    def _positive(self, duration: timedelta, at: int) -> int:
        ms = _ms(duration)
        if ms <= 0:
            raise self._error("duration must be greater than 0", at)
        return ms

    def _binary(self, expr: Any) -> Node:
        left = self.read(expr.lhs)
        operation = self._take("operator").text
        right = self.read(expr.rhs)
        are_vectors = tree.type_of(left) == tree.type_of(right) == Type.VECTOR
        modifier = expr.modifier
        matching = _matching(modifier, operation) if are_vectors else None
        if operation in ("</", ">/") and tree.type_of(left) == tree.type_of(right) == Type.SCALAR:
            raise self._error(f'operator "{operation}" not allowed for Scalar operations', left.at)
        return_bool = bool(modifier is not None and modifier.return_bool)
        if return_bool and operation not in tree.COMPARISONS:
            raise self._error("bool modifier can only be used on comparison operators", left.at)
        return tree.Binary(operation, left, right, matching, return_bool, left.at)

    def _aggregate(self, expr: Any) -> Node:
        item = self._take("call")
        operation = str(expr.op)
        self._refuse_experimental(operation, item.start)
        parameter = None if expr.param is None else self.read(expr.param)
        inner = self.read(expr.expr)
        modifier = expr.modifier
        without = modifier is not None and modifier.type == promql_parser.AggModifierType.Without
        grouping = () if modifier is None else tuple(modifier.labels)
        return tree.Aggregate(operation, inner, parameter, grouping, without, item.start)

    def _call(self, expr: Any) -> Node:
        item = self._take("call")
        name = expr.func.name
        self._refuse_experimental(name, item.start)
        types = tuple(Type(_member(each).lower()) for each in expr.func.arg_types)
        return tree.Call(name, tuple(map(self.read, expr.args)), item.start, types, expr.func.variadic)

    def _refuse_experimental(self, name: str, at: int) -> None:
        if name in EXPERIMENTAL and not self._experimental:
            flag = "--enable-feature=promql-experimental-functions"
            raise self._error(f"{name}() is experimental and must be enabled with {flag}", at)


def _with_bytes(literal: str, value: str) -> str:
    """The value of a literal; single bytes that are no UTF-8 become lone surrogates, which no name may have."""
    if literal.startswith("`") or not _BYTE.search(literal):
        return value
    parts = re.split(r"(\\x[0-9a-fA-F]{2}|\\[0-7]{3}|\\u[0-9a-fA-F]{4}|\\U[0-9a-fA-F]{8}|\\.)", literal[1:-1])
    return b"".join(map(_escaped_bytes, parts)).decode("utf-8", "surrogateescape")


def _escaped_bytes(part: str) -> bytes:
    if not part.startswith("\\"):
        return part.encode()
    if part[1] == "x":
        return bytes([int(part[2:], 16)])
    if part[1].isdigit():
        return bytes([int(part[1:], 8) & 0xFF])
    return (chr(int(part[2:], 16)) if part[1] in "uU" else _ESCAPES.get(part[1], part[1])).encode()


def _matching(modifier: Any, operation: str) -> Matching:
    if modifier is None:
        return Matching("many-to-many" if operation in tree.SET_OPERATIONS else "one-to-one")
    on = modifier.matching
    is_on = on is not None and on.type == promql_parser.LabelModifierType.Include
    labels = () if on is None else tuple(on.labels)
    return Matching(_CARDS[_member(modifier.card)], is_on, labels, tuple(modifier.group_labels or ()))


def _member(value: Any) -> str:
    """The name of an enumeration's member, out of a text such as MatchOp.Equal."""
    return str(value).rpartition(".")[2]


def _ms(duration: timedelta | None) -> int:
    return 0 if duration is None else duration // _MS


def _seconds(text: str) -> float:
    try:
        return float(int(text, 16)) if text.lower().lstrip("-").startswith("0x") else float(text.replace("_", ""))
    except ValueError:
        return _duration_seconds(text)


def _duration_seconds(text: str) -> float:
    try:
        return parse_duration(text.lstrip("-")) / 1_000 * (-1 if text.startswith("-") else 1)
    except ValueError:
        return math.nan


def _half_up(value: float) -> int:
    """math.Round of Go: halves go away from zero."""
    return math.floor(abs(value) + 0.5) * (-1 if value < 0 else 1)


def nodes(root: Node) -> Iterator[Node]:
    """All nodes, each before those within it."""
    yield root
    for child in tree.children(root):
        yield from nodes(child)
