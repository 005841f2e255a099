"""Reads OTLP JSON. Knows the JSON mapping of the OTLP specification, no column names.

Rules that differ from protobuf's general mapping: ids are hexadecimal, enums are integers. Unknown members are
ignored, null is absent, 64-bit integers may be text or numbers. Never `json_format`: it takes ids for base64.
"""

from base64 import b64decode
from binascii import Error as Base64Error
from collections.abc import Callable, Sequence
from itertools import chain
from typing import Any, Final, TypeVar

import orjson

from errors import InvalidBody
from ingest.otlp.messages import INT64, UINT64, IntegerRange, Messages, camel_case, join
from ingest.otlp.values import MAX_DEPTH, Value, base64_text, json_text
from ingest.sparse_column import Sparse

R = TypeVar("R")

_NON_FINITE: Final = {"NaN": float("nan"), "Infinity": float("inf"), "-Infinity": float("-inf")}
_HEX_DIGITS: Final = "0123456789abcdefABCDEF"


class WrongShape(ValueError):
    """A value is not what its place asks for. `path` leads to it from where the raiser stands."""

    def __init__(self, path: str, expected: str) -> None:
        super().__init__(path, expected)
        self.path = path
        self.expected = expected

    def within(self, outer: str) -> "WrongShape":
        return WrongShape(join(outer, self.path), self.expected)

    def refusal(self) -> InvalidBody:
        return InvalidBody(f"{self.path or 'the body'}: expected {self.expected}")


def parse(body: bytes, root: str) -> Messages:
    """The request; `root` is its one member in snake_case. An empty body is an empty request."""
    try:
        document = orjson.loads(body) if body.strip() else {}
    except orjson.JSONDecodeError as error:
        raise InvalidBody(f"the body is not JSON: {error}") from error
    if not isinstance(document, dict):
        raise WrongShape("", "an object").refusal()
    if root in document:
        # Not valid, but taken by every protobuf library; to ignore it would be to lose the data without a word.
        document = _camel_cased(document)
    return Messages([document])


def _camel_cased(value: Any, depth: int = 0) -> Any:
    if depth > 4 * MAX_DEPTH:
        raise InvalidBody("the body is nested too deeply")
    if isinstance(value, dict):
        return {camel_case(name): _camel_cased(member, depth + 1) for name, member in value.items()}
    if isinstance(value, list):
        return [_camel_cased(member, depth + 1) for member in value]
    return value


class JsonReader:
    """See messages.Reader."""

    def children(self, messages: Messages, name: str) -> Messages:
        key = camel_case(name)
        lists = self._column(messages, key, _list, [], {list})
        children = Messages(list(chain.from_iterable(lists)), messages, key, list(map(len, lists)))
        for index, item in enumerate(children.items):
            if type(item) is not dict:
                raise WrongShape(children.path(index), "an object").refusal()
        return children

    def child(self, messages: Messages, name: str) -> Messages:
        key = camel_case(name)
        return Messages(self._column(messages, key, _object, {}, {dict}), messages, key)

    def present(self, messages: Messages, name: str) -> list[bool]:
        key = camel_case(name)
        return [item.get(key) is not None for item in messages.items]

    def strings(self, messages: Messages, name: str) -> list[str]:
        return self._column(messages, camel_case(name), _string, "", {str})

    def ids(self, messages: Messages, name: str) -> list[str]:
        key = camel_case(name)
        texts = self._column(messages, key, _string, "", {str})
        if not "".join(texts).strip(_HEX_DIGITS) and not any(len(text) % 2 for text in texts):
            return [text.lower() for text in texts]
        wrong = next(i for i, text in enumerate(texts) if len(text) % 2 or text.strip(_HEX_DIGITS))
        raise WrongShape(join(messages.path(wrong), key), "an even number of hexadecimal digits").refusal()

    def booleans(self, messages: Messages, name: str) -> list[bool]:
        return self._column(messages, camel_case(name), _boolean, False, {bool})

    def integers(self, messages: Messages, name: str, limits: IntegerRange) -> list[int]:
        key = camel_case(name)
        values = [item.get(key, 0) for item in messages.items]
        plain = _plain_integers(values)
        if plain and limits.lowest <= min(plain) and max(plain) <= limits.highest:
            return plain
        return self._convert(messages, key, values, lambda value: 0 if value is None else _integer(value, limits))

    def doubles(self, messages: Messages, name: str) -> list[float]:
        return self._column(messages, camel_case(name), _double, 0.0, {float})

    def optional_doubles(self, messages: Messages, name: str) -> list[float | None]:
        return self._column(messages, camel_case(name), _optional_double, None, {float})

    def numbers(self, messages: Messages) -> list[int | float | None]:
        return self._convert(messages, "", messages.items, _number)

    def integer_lists(self, messages: Messages, name: str) -> list[list[int]]:
        return self._column(messages, camel_case(name), _integers, [], set())

    def double_lists(self, messages: Messages, name: str) -> list[list[float]]:
        return self._column(messages, camel_case(name), _doubles, [], set())

    def values(self, messages: Messages, name: str) -> list[Value | None]:
        key = camel_case(name)
        members = [item.get(key) for item in messages.items]
        return _plain_strings(members) or self._convert(messages, key, members, _value)

    def attributes(self, messages: Messages, name: str) -> dict[str, Sparse]:
        key = camel_case(name)
        collector = _Collector()
        row = 0
        try:
            for row, item in enumerate(messages.items):
                pairs = item.get(key)
                if pairs is not None:
                    collector.add(pairs, row)
        except WrongShape as error:
            raise error.within(join(messages.path(row), key)).refusal() from error
        return collector.found

    def attribute_objects(self, messages: Messages, name: str) -> list[dict[str, Any]]:
        return self._column(messages, camel_case(name), _attribute_object, {}, set())

    def _column(
        self, messages: Messages, key: str, read: Callable[[Any], Any], absent: Any, plain: set[type]
    ) -> list[Any]:
        """One member of every message. Where all are of the `plain` types there is nothing to convert."""
        values = [item.get(key, absent) for item in messages.items]
        if set(map(type, values)) <= plain:
            return values
        return self._convert(messages, key, [absent if value is None else value for value in values], read)

    def _convert(self, messages: Messages, key: str, values: Sequence[Any], read: Callable[[Any], Any]) -> list[Any]:
        converted: list[Any] = []
        try:
            for value in values:
                converted.append(read(value))
        except WrongShape as error:
            raise error.within(join(messages.path(len(converted)), key)).refusal() from error
        return converted


class _Collector:
    """Adds attributes to the columns of their names. Decides how fast JSON is, hence the bound methods."""

    def __init__(self) -> None:
        self.found: dict[str, Sparse] = {}
        self._append: dict[str, tuple[Callable[[int], None], Callable[[Value], None]]] = {}

    def add(self, pairs: Any, row: int) -> None:
        """The attributes of one message."""
        for pair in _list(pairs):
            try:
                append_row, append_value = self._append[pair["key"]]
                ((kind, content),) = pair["value"].items()
                if type(content) is not _EXACT.get(kind):
                    content = _CONVERTED[kind](content)
            except (AttributeError, KeyError, TypeError, ValueError):
                self._add_unusual(pairs, pair, row)
            else:
                append_row(row)
                append_value(content)

    def _add_unusual(self, pairs: list[Any], pair: Any, row: int) -> None:
        """An attribute whose name is new, or that needs more than a look, or that is wrong."""
        try:
            name = _string(_object(pair).get("key", ""))
            value = _read("value", _value, pair.get("value"))
        except WrongShape as error:
            index = next(index for index, other in enumerate(pairs) if other is pair)
            raise error.within(f"[{index}]") from error
        if value is None:
            return
        column = self.found.get(name)
        if column is None:
            column = self.found[name] = Sparse()
            self._append[name] = column.rows.append, column.values.append
        column.rows.append(row)
        column.values.append(value)


def _value(value: Any) -> Value | None:
    """An AnyValue as a column holds it: arrays and lists of keys and values are JSON text."""
    member = _member(value)
    if member is None:
        return None
    kind, content = member
    read = _SCALARS.get(kind)
    return json_text(_nested(value, 0)) if read is None else _read(kind, read, content)


def _plain_strings(members: list[Any]) -> list[Value | None] | None:
    """A column of AnyValues that are nothing but strings."""
    try:
        texts = [member["stringValue"] for member in members]
    except (KeyError, TypeError):
        return None
    return texts if set(map(type, texts)) == {str} and max(map(len, members)) == 1 else None


def _nested(value: Any, depth: int) -> Any:
    """An AnyValue as what JSON is made from."""
    member = _member(value)
    if member is None:
        return None
    if depth > MAX_DEPTH:
        raise WrongShape("", f"at most {MAX_DEPTH} levels of nesting")
    kind, content = member
    read = _SCALARS.get(kind)
    if read is not None:
        return _read(kind, read, content)
    values = _read(f"{kind}.values", _list, _read(kind, _object, content).get("values") or [])
    if kind == "arrayValue":
        return [_read(f"{kind}.values[{i}]", _nested, item, depth + 1) for i, item in enumerate(values)]
    return _read(f"{kind}.values", _attribute_object, values, depth + 1)


def _attribute_object(pairs: Any, depth: int = 0) -> dict[str, Any]:
    members: dict[str, Any] = {}
    for index, pair in enumerate(_list(pairs) if pairs else []):
        try:
            name = _string(_object(pair).get("key", ""))
            members.setdefault(name, _read("value", _nested, pair.get("value"), depth))
        except WrongShape as error:
            raise error.within(f"[{index}]") from error
    return members


def _member(value: Any) -> tuple[str, Any] | None:
    """The one member of an AnyValue that is set."""
    if value is None:
        return None
    members = [member for member in _object(value).items() if member[0] in _KINDS and member[1] is not None]
    if len(members) > 1:
        raise WrongShape("", f"one value, found {' and '.join(kind for kind, _ in members)}")
    return members[0] if members else None


def _read(path: str, read: Callable[..., R], *args: Any) -> R:
    try:
        return read(*args)
    except WrongShape as error:
        raise error.within(path) from error


def _list(value: Any) -> list[Any]:
    if type(value) is not list:
        raise WrongShape("", "an array")
    return value


def _object(value: Any) -> dict[str, Any]:
    if type(value) is not dict:
        raise WrongShape("", "an object")
    return value


def _string(value: Any) -> str:
    if type(value) is not str:
        raise WrongShape("", "a string")
    return value


def _boolean(value: Any) -> bool:
    if type(value) is not bool:
        raise WrongShape("", "true or false")
    return value


def _integer(value: Any, limits: IntegerRange) -> int:
    """An integer as a number or as decimal text; `5.0` is one, too."""
    number: int | None = value if type(value) is int else None
    if (type(value) is str and _is_decimal(value)) or (type(value) is float and value.is_integer()):
        number = int(value)
    if number is None or not limits.lowest <= number <= limits.highest:
        raise WrongShape("", f"an integer from {limits.lowest} to {limits.highest}")
    return number


def _int64(value: Any) -> int:
    return _integer(value, INT64)


def _plain_integers(values: list[Any]) -> list[int] | None:
    """A column of nothing but numbers, or of nothing but digits, as numbers."""
    kinds = set(map(type, values))
    if kinds == {int}:
        return values
    if kinds != {str} or not all(values) or max(map(len, values)) > 20:
        return None
    digits = "".join(values)
    return list(map(int, values)) if digits.isascii() and digits.isdigit() else None


def _is_decimal(text: str) -> bool:
    return len(text) <= 20 and text.isascii() and text.removeprefix("-").isdigit()


def _double(value: Any) -> float:
    if type(value) is float or type(value) is int:
        return float(value)
    if type(value) is str:
        if value in _NON_FINITE:
            return _NON_FINITE[value]
        try:
            return _double(orjson.loads(value))
        except orjson.JSONDecodeError:
            pass
    raise WrongShape("", "a number, NaN, Infinity or -Infinity")


def _optional_double(value: Any) -> float | None:
    return None if value is None else _double(value)


def _number(point: dict[str, Any]) -> int | float | None:
    as_int, as_double = point.get("asInt"), point.get("asDouble")
    if as_int is not None and as_double is not None:
        raise WrongShape("", "one value, found asInt and asDouble")
    if as_int is not None:
        return _read("asInt", _int64, as_int)
    return None if as_double is None else _read("asDouble", _double, as_double)


def _integers(value: Any) -> list[int]:
    return [_read(f"[{index}]", _integer, item, UINT64) for index, item in enumerate(_list(value))]


def _doubles(value: Any) -> list[float]:
    return [_read(f"[{index}]", _double, item) for index, item in enumerate(_list(value))]


def _base64(value: Any) -> str:
    """Bytes as standard base64. Protobuf's JSON mapping takes the URL-safe alphabet and missing padding as well."""
    text = _string(value).translate(_STANDARD_ALPHABET).rstrip("=")
    try:
        return base64_text(b64decode(text + "=" * (-len(text) % 4), validate=True))
    except (Base64Error, ValueError) as error:
        raise WrongShape("", "base64 text") from error


_STANDARD_ALPHABET: Final = str.maketrans("-_", "+/")

_SCALARS: Final[dict[str, Callable[[Any], Any]]] = {
    "stringValue": _string,
    "boolValue": _boolean,
    "intValue": _int64,
    "doubleValue": _double,
    "bytesValue": _base64,
}
# What JSON's own type says already, and what one conversion away is.
_EXACT: Final = {"stringValue": str, "boolValue": bool, "doubleValue": float}
_CONVERTED: Final = {kind: read for kind, read in _SCALARS.items() if kind not in _EXACT}
_KINDS: Final = frozenset({*_SCALARS, "arrayValue", "kvlistValue"})
