"""Reads OTLP protobuf. Knows the wire form of attributes, no column names."""

from collections.abc import Iterable
from itertools import chain
from operator import attrgetter
from typing import Any, Final

from google.protobuf.message import DecodeError

from errors import InvalidBody
from ingest.encoded_pairs import columns_of
from ingest.encoded_texts import TextHeaders, texts_of
from ingest.otlp.messages import IntegerRange, Messages
from ingest.otlp.values import Value, base64_text, json_text
from ingest.proto.building import COPIED
from ingest.proto.otlp import AnyValue, KeyValue
from ingest.sparse_column import Sparse

_STRING_TAG: Final = 0x0A  # field 1, length-delimited: `key` of KeyValue, `string_value` of AnyValue
_VALUE_TAG: Final = 0x12  # field 2, length-delimited: `value` of KeyValue
_TEXT_TAGS: Final = bytes((_VALUE_TAG, _STRING_TAG))


def parse(body: bytes, message_class: Any) -> Messages:
    """The request. Several messages one after another are one message, as protobuf merges them."""
    return Messages([_parsed(message_class, body)])


def _parsed(message_class: Any, encoded: bytes) -> Any:
    try:
        return message_class.FromString(encoded)
    except DecodeError as error:
        raise InvalidBody(f"the body is not an OTLP protobuf message: {error}") from error


class ProtobufReader:
    """See messages.Reader."""

    def children(self, messages: Messages, name: str) -> Messages:
        lists = list(map(COPIED, _all(messages, name)))
        items = lists[0] if len(lists) == 1 else list(chain.from_iterable(lists))
        return Messages(items, messages, name, list(map(len, lists)))

    def child(self, messages: Messages, name: str) -> Messages:
        return Messages(_all(messages, name), messages, name)

    def present(self, messages: Messages, name: str) -> list[bool]:
        return [item.HasField(name) for item in messages.items]

    def strings(self, messages: Messages, name: str) -> list[str]:
        return _all(messages, name)

    def ids(self, messages: Messages, name: str) -> list[str]:
        return list(map(bytes.hex, _all(messages, name)))

    def booleans(self, messages: Messages, name: str) -> list[bool]:
        return _all(messages, name)

    def integers(self, messages: Messages, name: str, limits: IntegerRange) -> list[int]:
        return _all(messages, name)

    def doubles(self, messages: Messages, name: str) -> list[float]:
        return _all(messages, name)

    def optional_doubles(self, messages: Messages, name: str) -> list[float | None]:
        return [getattr(item, name) if item.HasField(name) else None for item in messages.items]

    def numbers(self, messages: Messages) -> list[int | float | None]:
        kinds = [item.WhichOneof("value") for item in messages.items]
        return [kind and getattr(item, kind) for item, kind in zip(messages.items, kinds, strict=True)]

    def integer_lists(self, messages: Messages, name: str) -> list[list[int]]:
        return list(map(COPIED, _all(messages, name)))

    def double_lists(self, messages: Messages, name: str) -> list[list[float]]:
        return list(map(COPIED, _all(messages, name)))

    def values(self, messages: Messages, name: str) -> list[Value | None]:
        encoded = _all(messages, name)
        texts = texts_of(encoded, TextHeaders(b"", _TEXT_TAGS[-1:]))
        return list(map(_value_of, encoded)) if texts is None else list(texts)

    def attributes(self, messages: Messages, name: str) -> dict[str, Sparse]:
        return columns_of(list(map(COPIED, _all(messages, name))), _pair, _TEXT_TAGS)

    def attribute_objects(self, messages: Messages, name: str) -> list[dict[str, Any]]:
        return [_object(_parsed(KeyValue, encoded) for encoded in getattr(item, name)) for item in messages.items]


def _all(messages: Messages, name: str) -> list[Any]:
    """The field of every message; half a request's time is such lists."""
    return list(map(attrgetter(name), messages.items))


def _pair(encoded: bytes) -> tuple[str, Value | None]:
    """Name and value of an encoded KeyValue. Most values are short strings, which need no message object."""
    size = len(encoded)
    text = 6 + encoded[1] if size > 1 else size
    if 6 < text <= size < 130 and (
        encoded[0] == _STRING_TAG
        and encoded[text - 4] == _VALUE_TAG
        and encoded[text - 3] == size - text + 2
        and encoded[text - 2] == _STRING_TAG
        and encoded[text - 1] == size - text
    ):
        try:
            return encoded[2 : text - 4].decode(), encoded[text:].decode()
        except UnicodeDecodeError as error:
            raise InvalidBody(f"the body is not an OTLP protobuf message: {error.reason} in a string") from error
    pair = _parsed(KeyValue, encoded)
    return pair.key, _value(pair.value)


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
