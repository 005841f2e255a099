"""Attribute values as Python holds them between a reader and a table."""

from base64 import b64encode
from collections.abc import Iterable
from itertools import islice
from typing import Any, Final

import orjson


class JsonText(str):
    """A value that is one JSON document: an array or a list of keys and values."""

    __slots__ = ()


Value = str | bool | int | float | JsonText

# Deeper than protobuf's own limit of 100 nested messages allows (an array costs two, a list of keys three), so JSON
# accepts whatever protobuf does. Without it, a body of brackets could exhaust the interpreter's stack.
MAX_DEPTH: Final = 64


def json_text(document: Any) -> JsonText:
    """JSON has no NaN or infinity: they become null inside arrays and objects."""
    return JsonText(orjson.dumps(document).decode())


def base64_text(content: bytes) -> str:
    return b64encode(content).decode()


def json_arrays(counts: Iterable[int], objects: Iterable[Any]) -> list[JsonText]:
    """A flat list as JSON arrays: the first of `counts[0]` objects, the next of `counts[1]` and so on."""
    remaining = iter(objects)
    return [json_text(list(islice(remaining, count))) for count in counts]
