"""SQL/JSON paths over a document: what a path finds, and whether a predicate holds (SQL:2016, 9.39)."""

import math
import operator
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any, Final, TypeGuard

from query import fault
from query.functions.quotient_text import shown_quotient
from query.pg.bad_values import BadLiteral, UnsupportedLiteral
from query.pg.json_path import LAST_LEVEL, PREDICATES, Path, Step, regex_options
from query.pg.json_text import Json, jsonb_text, number_text, stored_order
from query.pg.patterns.dissect import Dissector
from query.pg.patterns.tree import parse_regex

_ORDERS: Final[dict[str, Callable[[Any, Any], bool]]] = {
    "=": operator.eq, "<>": operator.ne, "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
}  # fmt: skip
_INT4: Final = (-(2**31), 2**31)
_INT8: Final = (-(2**63), 2**63)


class PathError(BadLiteral):
    """What a path asks cannot be; operators and silent functions answer NULL instead."""


def _is_number(value: Json) -> TypeGuard[int | Decimal]:
    return isinstance(value, int | Decimal) and not isinstance(value, bool)


def _type_of(value: Json) -> str:
    names: list[tuple[type, str]] = [(bool, "boolean"), (dict, "object"), (list, "array"), (str, "string")]
    return "null" if value is None else next((name for kind, name in names if isinstance(value, kind)), "number")


@dataclass(frozen=True, slots=True)
class Evaluation:
    """A path over one document. `size` is that of the array whose subscripts are worked out."""

    path: Path
    root: Json
    variables: dict[str, Json]
    current: Json = None
    size: int | None = None

    @property
    def lax(self) -> bool:
        return not self.path.is_strict

    def items(self, step: Step) -> list[Json]:
        """What a step finds."""
        if step.kind in PREDICATES:
            return [self.holds(step)]
        match step.kind:
            case "root":
                return [self.root]
            case "current":
                return [self.current]
            case "constant":
                return [step.value]  # type: ignore[list-item]
            case "variable":
                if step.value not in self.variables:
                    raise BadLiteral(fault.UNDEFINED_OBJECT, f'could not find jsonpath variable "{step.value}"')
                return [self.variables[str(step.value)]]
            case "last":
                if self.size is None:
                    raise BadLiteral(fault.SYNTAX_ERROR, "LAST is allowed only in array subscripts")
                return [self.size - 1]
            case "arithmetic":
                return [self._computed(step)]
            case "sign":
                return [self._signed(item, str(step.value)) for item in self._unwrapped(self.items(step.parts[0]))]
            case _:
                return [found for item in self.items(step.parts[0]) for found in self._found(step, item)]

    def _unwrapped(self, items: list[Json]) -> list[Json]:
        """In lax mode the elements of arrays in their place."""
        if not self.lax:
            return items
        return [inner for item in items for inner in (item if isinstance(item, list) else [item])]

    def _found(self, step: Step, item: Json) -> Iterator[Json]:
        """What an accessor finds in one item."""
        unwraps = step.kind in ("key", "any key", "filter") or (
            step.kind == "method" and step.value not in ("type", "size")
        )
        if unwraps and self.lax and isinstance(item, list):
            for inner in item:
                yield from self._found_in(step, inner)
        else:
            yield from self._found_in(step, item)

    def _found_in(self, step: Step, item: Json) -> Iterator[Json]:
        match step.kind:
            case "key":
                yield from self._member(str(step.value), item)
            case "any key":
                if isinstance(item, dict):
                    yield from (value for _, value in stored_order(item))
                elif not self.lax:
                    raise PathError("2203C", "jsonpath wildcard member accessor can only be applied to an object")
            case "any element":
                yield from self._elements(
                    item, "22039", "jsonpath wildcard array accessor can only be applied to an array"
                )
            case "elements":
                yield from self._subscripts(step, item)
            case "any level":
                bounds: Any = step.value
                yield from _levels(item, *bounds)
            case "filter":
                if replace(self, current=item).holds(step.parts[1]) is True:
                    yield item
            case "method":
                yield from self._method(str(step.value), item)

    def _member(self, name: str, item: Json) -> Iterator[Json]:
        if isinstance(item, dict) and name in item:
            yield item[name]
        elif not self.lax:
            if isinstance(item, dict):
                raise PathError("2203A", f'JSON object does not contain key "{name}"')
            raise PathError("2203A", "jsonpath member accessor can only be applied to an object")

    def _elements(self, item: Json, sqlstate: str, message: str) -> list[Json]:
        if isinstance(item, list):
            return item
        if not self.lax:
            raise PathError(sqlstate, message)
        return [item]

    def _subscripts(self, step: Step, item: Json) -> Iterator[Json]:
        elements = self._elements(item, "22039", "jsonpath array accessor can only be applied to an array")
        inner = replace(self, size=len(elements))
        for part in step.parts[1:]:
            ends = [inner._index(end) for end in part.parts]
            low, high = ends[0], ends[-1]
            if not self.lax and (low < 0 or low > high or high >= len(elements)):
                raise PathError("22033", "jsonpath array subscript is out of bounds")
            yield from elements[max(low, 0) : max(high + 1, 0)]

    def _index(self, step: Step) -> int:
        items = self.items(step)
        if len(items) != 1 or not _is_number(items[0]):
            raise PathError("22033", "jsonpath array subscript is not a single numeric value")
        index = int(items[0])
        if not _INT4[0] <= index < _INT4[1]:
            raise PathError("22033", "jsonpath array subscript is out of integer range")
        return index

    def _method(self, name: str, item: Json) -> Iterator[Json]:
        if name == "type":
            yield _type_of(item)
        elif name == "size":
            if not isinstance(item, list) and not self.lax:
                raise PathError("22039", "jsonpath item method .size() can only be applied to an array")
            yield len(item) if isinstance(item, list) else 1
        elif name == "keyvalue":
            raise UnsupportedLiteral("the jsonpath method keyvalue()")
        elif name in ("ceiling", "floor", "abs"):
            yield _rounded(name, item)
        else:
            yield _converted(name, item)

    def _computed(self, step: Step) -> Json:
        symbol = str(step.value)
        operands = []
        for side, part in zip(("left", "right"), step.parts, strict=True):
            found = self._unwrapped(self.items(part))
            if len(found) != 1 or not _is_number(found[0]):
                message = f"{side} operand of jsonpath operator {symbol} is not a single numeric value"
                raise PathError("22038", message)
            operands.append(Decimal(found[0]))
        return _arithmetic(symbol, *operands)

    def _signed(self, item: Json, symbol: str) -> Json:
        if not _is_number(item):
            raise PathError("2203B", f"operand of unary jsonpath operator {symbol} is not a numeric value")
        return -item if symbol == "-" else item

    # --- predicates: true, false, or None for unknown ---

    def holds(self, step: Step) -> bool | None:
        """Whether a predicate holds."""
        match step.kind:
            case "or" | "and":
                decides = step.kind == "or"
                results = []
                for part in step.parts:
                    results.append(self.holds(part))
                    if results[-1] is decides:
                        return decides
                return None if None in results else not decides
            case "not":
                result = self.holds(step.parts[0])
                return None if result is None else not result
            case "is unknown":
                return self.holds(step.parts[0]) is None
            case "exists":
                try:
                    return bool(self.items(step.parts[0]))
                except PathError:
                    return None
            case "compare":
                return self._some(step, lambda left, right: _compared(str(step.value), left, right))
            case "starts with":
                return self._some(step, _starts_with)
            case "like_regex":
                matcher = _matcher(*step.value)  # type: ignore[misc]
                return self._some(step, lambda left, _: matcher(left) if isinstance(left, str) else None)
        items = self.items(step)
        return items[0] if len(items) == 1 and isinstance(items[0], bool) else None

    def _some(self, step: Step, test: Callable[[Json, Json], bool | None]) -> bool | None:
        """Whether the test holds for some pair of items; unknown after an error, in lax mode unless one came before."""
        try:
            sides = [self._unwrapped(self.items(part)) for part in step.parts]
        except PathError:
            return None
        results: list[bool | None] = []
        for left in sides[0]:
            for right in sides[1] if len(sides) > 1 else [None]:
                results.append(test(left, right))
                if self.lax and results[-1] is True:
                    return True
                if not self.lax and results[-1] is None:
                    return None
        if True in results:
            return True
        return None if None in results else False


def _levels(item: Json, low: int, high: int) -> Iterator[Json]:
    """The item and all below it, of these levels; of the last level those that hold nothing."""
    if low == 0:
        yield item
    yield from _below(item, 1, low, high)


def _below(item: Json, level: int, low: int, high: int) -> Iterator[Json]:
    if level > high or not isinstance(item, dict | list):
        return
    for value in [value for _, value in stored_order(item)] if isinstance(item, dict) else item:
        is_leaf = low == high == LAST_LEVEL and not isinstance(value, dict | list)
        if level >= low or is_leaf:
            yield value
        yield from _below(value, level + 1, low, high)


def _rounded(name: str, item: Json) -> Json:
    if not _is_number(item):
        raise PathError("22036", f"jsonpath item method .{name}() can only be applied to a numeric value")
    number = Decimal(item)
    if name == "abs":
        return abs(number)
    return int(number.to_integral_value("ROUND_CEILING" if name == "ceiling" else "ROUND_FLOOR"))


def _converted(name: str, item: Json) -> Json:
    """double(), number(), integer(), bigint(), boolean() and string()."""
    if name == "string":
        if isinstance(item, dict | list) or item is None:
            raise PathError("22036", "jsonpath item method .string() can only be applied to a scalar")
        return item if isinstance(item, str) else jsonb_text(item)
    if name == "boolean":
        return _boolean(item)
    text = item.strip() if isinstance(item, str) else number_text(item) if _is_number(item) else ""
    if not re.fullmatch(r"[-+]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d+)?", text):
        raise PathError("22036", f"argument of jsonpath item method .{name}() is invalid for its type")
    number = Decimal(text)
    if name == "number":
        return number
    if name == "double":
        return _double(number)
    if isinstance(item, str) and number != number.to_integral_value():
        raise PathError("22036", f"argument of jsonpath item method .{name}() is invalid for its type")
    whole = int(number.to_integral_value("ROUND_HALF_UP"))
    low, high = _INT4 if name == "integer" else _INT8
    if not low <= whole < high:
        raise PathError("22036", f"argument of jsonpath item method .{name}() is invalid for its type")
    return whole


def _double(number: Decimal) -> Json:
    """The float next to a number, as a number of jsonb."""
    value = float(number)
    if math.isinf(value) or (value == 0 and number):
        raise PathError("22036", "argument of jsonpath item method .double() is invalid for its type")
    text = repr(value)
    return int(value) if text.endswith(".0") else Decimal(text)


_TRUE: Final = ("t", "true", "yes", "y", "on", "1")
_FALSE: Final = ("f", "false", "no", "n", "off", "0")


def _boolean(item: Json) -> Json:
    if isinstance(item, bool):
        return item
    if isinstance(item, str) and item.strip().lower() in (*_TRUE, *_FALSE):
        return item.strip().lower() in _TRUE
    if isinstance(item, int) and _INT4[0] <= item < _INT4[1]:
        return bool(item)
    raise PathError("22036", "argument of jsonpath item method .boolean() is invalid for its type")


def _arithmetic(symbol: str, left: Decimal, right: Decimal) -> Json:
    if symbol in ("/", "%") and right == 0:
        raise PathError(fault.DIVISION_BY_ZERO, "division by zero")
    if symbol == "/":
        return Decimal(shown_quotient(_digits(left), _digits(right)))
    results = {"+": operator.add, "-": operator.sub, "*": operator.mul, "%": operator.mod}
    return Decimal(results[symbol](left, right))


def _digits(value: Decimal) -> tuple[int, int]:
    exponent = value.as_tuple().exponent
    scale = max(-exponent, 0) if isinstance(exponent, int) else 0
    return int(value.scaleb(scale)), scale


def _compared(symbol: str, left: Json, right: Json) -> bool | None:
    if left is None or right is None:
        equal = left is None and right is None
        return equal if symbol in ("=", "<=", ">=") and (equal or symbol == "=") else symbol == "<>" and not equal
    if isinstance(left, dict | list) or isinstance(right, dict | list) or _type_of(left) != _type_of(right):
        return None
    return _ORDERS[symbol](left, right)


def _starts_with(left: Json, right: Json) -> bool | None:
    return left.startswith(right) if isinstance(left, str) and isinstance(right, str) else None


def _matcher(pattern: str, flags: str) -> Callable[[str], bool]:
    """A test by regular expression; flags are XQuery's."""
    if "q" in flags:
        sought = pattern.lower() if "i" in flags else pattern
        return lambda text: sought in (text.lower() if "i" in flags else text)
    search = Dissector(parse_regex(pattern, regex_options(flags))).search
    return lambda text: search(text) is not None
