"""Reads OTLP protobuf. Knows the wire form of attributes, no column names."""

from collections.abc import Callable, Iterable
from itertools import chain
from typing import Any, Final

from google.protobuf.message import DecodeError

from errors import InvalidBody
from ingest.otlp.messages import IntegerRange, Messages
from ingest.otlp.values import Value, base64_text, json_text
from ingest.proto.otlp import AnyValue, KeyValue
from ingest.sparse_column import Sparse

# Attributes that a request is remembered by. Each takes some 400 bytes; those that repeat are among the first.
_MOST_SEEN: Final = 20_000

_STRING_TAG: Final = 0x0A  # field 1, length-delimited: `string_value` of AnyValue


def parse(body: bytes, message_class: Any) -> Messages:
    """The request. Several messages one after another are one message, as protobuf merges them."""
    return Messages([_parsed(message_class, body)])


def _parsed(message_class: Any, encoded: bytes) -> Any:
    try:
        return message_class.FromString(encoded)
    except DecodeError as error:
        raise InvalidBody(f"the body is not an OTLP protobuf message: {error}") from error


class ProtobufReader:
    """See messages.Reader. Serves one request: it remembers the attributes of that request."""

    def children(self, messages: Messages, name: str) -> Messages:
        lists = [getattr(item, name) for item in messages.items]
        return Messages(list(chain.from_iterable(lists)), messages, name, list(map(len, lists)))

    def child(self, messages: Messages, name: str) -> Messages:
        return Messages([getattr(item, name) for item in messages.items], messages, name)

    def present(self, messages: Messages, name: str) -> list[bool]:
        return [item.HasField(name) for item in messages.items]

    def strings(self, messages: Messages, name: str) -> list[str]:
        return [getattr(item, name) for item in messages.items]

    def ids(self, messages: Messages, name: str) -> list[str]:
        return [getattr(item, name).hex() for item in messages.items]

    def booleans(self, messages: Messages, name: str) -> list[bool]:
        return [getattr(item, name) for item in messages.items]

    def integers(self, messages: Messages, name: str, limits: IntegerRange) -> list[int]:
        return [getattr(item, name) for item in messages.items]

    def doubles(self, messages: Messages, name: str) -> list[float]:
        return [getattr(item, name) for item in messages.items]

    def optional_doubles(self, messages: Messages, name: str) -> list[float | None]:
        return [getattr(item, name) if item.HasField(name) else None for item in messages.items]

    def numbers(self, messages: Messages) -> list[int | float | None]:
        kinds = [item.WhichOneof("value") for item in messages.items]
        return [kind and getattr(item, kind) for item, kind in zip(messages.items, kinds, strict=True)]

    def integer_lists(self, messages: Messages, name: str) -> list[list[int]]:
        return [list(getattr(item, name)) for item in messages.items]

    def double_lists(self, messages: Messages, name: str) -> list[list[float]]:
        return [list(getattr(item, name)) for item in messages.items]

    def values(self, messages: Messages, name: str) -> list[Value | None]:
        return [_value_of(getattr(item, name)) for item in messages.items]

    def attributes(self, messages: Messages, name: str) -> dict[str, Sparse]:
        columns: dict[str, Sparse] = {}
        targets: dict[bytes, _Target] = {}
        for row, item in enumerate(messages.items):
            for encoded in getattr(item, name):
                target = targets.get(encoded)
                if target is None:
                    target = _target(encoded, columns)
                    if len(targets) < _MOST_SEEN:
                        targets[encoded] = target
                append_row, append_value, value = target
                append_row(row)
                append_value(value)
        return columns

    def attribute_objects(self, messages: Messages, name: str) -> list[dict[str, Any]]:
        return [_object(_parsed(KeyValue, encoded) for encoded in getattr(item, name)) for item in messages.items]


_Target = tuple[Callable[[int], None], Callable[[Value], None], Value]


def _target(encoded: bytes, columns: dict[str, Sparse]) -> _Target:
    """Where an encoded attribute goes. One without a value goes to a list that nobody reads."""
    pair = _parsed(KeyValue, encoded)
    value = _value(pair.value)
    column = Sparse() if value is None else columns.setdefault(pair.key, Sparse())
    return column.rows.append, column.values.append, "" if value is None else value


def _value_of(encoded: bytes) -> Value | None:
    """The value of an encoded AnyValue. Almost every one is a string and needs no message object."""
    size = len(encoded)
    if 2 <= size < 130 and encoded[0] == _STRING_TAG and encoded[1] == size - 2:
        try:
            return encoded[2:].decode()
        except UnicodeDecodeError as error:
            raise InvalidBody(f"the body is not an OTLP protobuf message: {error.reason} in a string") from error
    return _value(_parsed(AnyValue, encoded)) if encoded else None


def _value(message: Any) -> Value | None:
    kind = message.WhichOneof("value")
    if kind in _SCALARS:
        scalar: Value = getattr(message, kind)
        return scalar
    nested = _nested(message)
    return nested if nested is None or kind == "bytes_value" else json_text(nested)


_SCALARS: Final = frozenset({"string_value", "bool_value", "int_value", "double_value"})


def _nested(message: Any) -> Any:
    """The value as what JSON is made from. Protobuf's own limit on nesting bounds the recursion."""
    kind = message.WhichOneof("value")
    if kind in _SCALARS:
        return getattr(message, kind)
    if kind == "bytes_value":
        return base64_text(message.bytes_value)
    if kind == "array_value":
        return [_nested(value) for value in message.array_value.values]
    if kind == "kvlist_value":
        return _object(message.kvlist_value.values)
    return None


def _object(pairs: Iterable[Any]) -> dict[str, Any]:
    members: dict[str, Any] = {}
    for pair in pairs:
        members.setdefault(pair.key, _nested(pair.value))
    return members
