"""A JSON body as runs of events: one object, an array, NDJSON, or objects one behind the other. Knows no columns.

A big body is cut into runs, so that its Python objects never exist all at once and no call into a parser holds the
interpreter for long. A cut is a guess that the parser proves: text between two top-level commas is valid inside
brackets, and text cut anywhere else (in a string, in a nested value) is not, because it leaves something open.
Where a guess fails, the standard library reads the rest value by value.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any, Final

import orjson

from columns import Batch
from errors import InvalidJSON, TooLarge
from ingest.json.exact import ExactReader, loads, repeats_a_key, replace_lone_surrogates
from ingest.json.fast_path import SchemaCache

RUN_BYTES: Final = 512 * 1024
"""About 1,000 events of ordinary size. Above 1 MiB the objects no longer fit the processor's cache and everything
slows down; orjson holds the interpreter for about 1 ms for one run."""

LARGEST_RUN_BYTES: Final = 4 * RUN_BYTES
"""How far a place to cut is looked for."""

RUN_EVENTS: Final = 1000
"""Events of one run where they are read one by one."""

MAX_VALUES: Final = 2_000_000
"""Values (commas) of a text that cannot be cut, as one huge event. Each takes up to 100 bytes as a Python object."""

GUESSES: Final = 4
"""Places tried for one cut."""

_BYTE_ORDER_MARK: Final = b"\xef\xbb\xbf"
_FIRST: Final = re.compile(rb"[ \t\n\r]*([^ \t\n\r])")
_FIRST_KEY: Final = re.compile(rb'\s*\[\s*(\{\s*(?:"(?:[^"\\]|\\.){0,200}"\s*:)?)')


@dataclass(frozen=True, slots=True)
class Chunk:
    """Some consecutive events; not yet known to be objects.

    `text` is what they were parsed from, if big integers may have been rounded; then `exactly` reads it again.
    """

    events: list[Any]
    text: bytes | None

    def exactly(self) -> "Chunk":
        """The same events with every integer exact."""
        return self if self.text is None else Chunk(list(ExactReader(self.text).events()), None)


def runs(body: bytes, shapes: SchemaCache | None = None) -> Iterator[Chunk | Batch]:
    """The events of a body in order, as columns where their shape is known. Raises InvalidJSON, also after some.

    >>> [run.events for run in runs(b'{"a": 1}{"a": 2}')]
    [[{'a': 1}, {'a': 2}]]
    """
    body = body.removeprefix(_BYTE_ORDER_MARK)
    first = _FIRST.match(body)
    if not first:
        raise InvalidJSON("the body is empty")
    return _array_runs(body, shapes) if first[1] == b"[" else _sequence_runs(body, shapes)


def _array_runs(body: bytes, shapes: SchemaCache | None) -> Iterator[Chunk | Batch]:
    first = start = body.index(b"[") + 1
    if len(body) > LARGEST_RUN_BYTES:
        separators = (_separator(_FIRST_KEY.match(body)), _separator(None))
        while run_and_end := _guessed_run(body, start, separators, shapes):
            run, start = run_and_end
            yield run
    # Of a body that was not cut, which most are, no copy.
    text = (body[start - 1 :] if start == first else b"[" + body[start:]).rstrip()
    alike = shapes.read(text) if shapes and len(text) <= LARGEST_RUN_BYTES else None
    yield from (alike,) if alike is not None else _rest(text, start - 1)


def _separator(first_key: re.Match[bytes] | None) -> re.Pattern[bytes]:
    """What stands between two events: most begin with the same key, and few nested objects begin with it."""
    opening = re.escape(first_key[1]) if first_key else rb"\{"
    return re.compile(rb"\}(?:[ \t\n\r]*,[ \t\n\r]*)(?=" + opening + rb")")


def _guessed_run(
    body: bytes, start: int, separators: Iterable[re.Pattern[bytes]], shapes: SchemaCache | None
) -> tuple[Chunk | Batch, int] | None:
    """The elements of an array from `start` to a separator a run further on, and where the next element begins."""
    if len(body) - start <= LARGEST_RUN_BYTES:
        return None
    target = start + RUN_BYTES
    for separator in separators:
        for cut in islice(separator.finditer(body, target, start + LARGEST_RUN_BYTES), GUESSES):
            text = b"[" + body[start : cut.start() + 1] + b"]"
            try:
                return (shapes and shapes.read(text)) or Chunk(loads(text), text), cut.end()
            except InvalidJSON:
                continue
    return None


def _sequence_runs(body: bytes, shapes: SchemaCache | None) -> Iterator[Chunk | Batch]:
    """Objects, each on its line or one directly behind the other."""
    start = 0
    while start < len(body):
        end = _line_end(body, start + RUN_BYTES)
        text = body[start:end]
        run = (shapes and _read_objects(text, shapes)) or _separated_run(text)
        if run is None:
            yield from _rest(body[start:], start)
            return
        yield run
        start = end


def parts_of(text: bytes) -> tuple[list[bytes], int]:
    """A text as those parts that may have objects and nothing but commas between them, as `SchemaCache` reads.

    And how many objects those have to be, if they were not in an array; else 0.

    >>> parts_of(b'[{"a":1},{"a":2}]'), parts_of(b'{"a":1}{"a":2}')
    (([b'{"a":1},{"a":2}'], 0), ([b'{"a":1}', b'{"a":2}'], 2))
    """
    text = text.strip()
    if text.startswith(b"[") and text.endswith(b"]"):
        return [text[1:-1].strip()], 0
    parts = text.split(b"\n") if b"\n" in text or b"}{" not in text else list(_objects(text))
    return parts, len(parts)


def _read_objects(text: bytes, shapes: SchemaCache) -> Batch | None:
    """The events of a text with one object behind the other, if they are alike."""
    text = text.strip()
    if text.startswith(b"{") and b"}{" in text and b"\n" not in text:
        return shapes.read_joined(text.split(b"}{"))
    parts, objects = parts_of(text)
    read = shapes.read_parts(parts)
    return read[0] if read and read[0].height == objects else None


def _separated_run(text: bytes) -> Chunk | None:
    values = _separate(text)
    return None if values is None else Chunk(_elements(values), text)


def _line_end(body: bytes, target: int) -> int:
    """Where a run that is at least `target` long may end: before an object on its line, else at any line feed."""
    for first, then in ((b"\n", b"{"), (b"}", b"{"), (b"\n", b"")):
        found = body.find(first + then, target, target + LARGEST_RUN_BYTES)
        if found != -1:
            return found + 1
    return len(body)


def _separate(text: bytes) -> list[Any] | None:
    """The values of a text that stand one to a line, or are objects without anything between them; else None."""
    _require_values(text)
    text = replace_lone_surrogates(text)
    for pieces in (_lines, _objects):
        try:
            values = list(map(orjson.loads, pieces(text)))
        except orjson.JSONDecodeError:
            continue
        return list(ExactReader(text).events()) if repeats_a_key(text, values) else values
    return None


def _lines(text: bytes) -> Iterator[bytes]:
    return filter(bytes.strip, text.split(b"\n"))


def _objects(text: bytes) -> Iterator[bytes]:
    """The objects of `{...}{...}`, if no string has `}{` in it; else pieces that are no JSON."""
    inner = text.split(b"}{")
    for number, piece in enumerate(inner):
        yield (b"{" if number else b"") + piece + (b"}" if number < len(inner) - 1 else b"")


def _elements(values: list[Any]) -> list[Any]:
    """The values; of those that are arrays, their elements."""
    if list not in set(map(type, values)):
        return values
    return [element for value in values for element in (value if type(value) is list else [value])]


def _rest(text: bytes, offset: int) -> Iterator[Chunk]:
    """The events of a text that stands at `offset` of the body: by one parse if it is small, else one by one."""
    _require_values(text)
    try:
        yield from _whole(text) if len(text) <= LARGEST_RUN_BYTES else _one_by_one(text)
    except InvalidJSON as error:
        position = error.details.get("position")
        if offset and isinstance(position, int):
            raise InvalidJSON(error.message, position=position + offset) from error
        raise


def _whole(text: bytes) -> Iterator[Chunk]:
    try:
        yield Chunk(_elements([loads(text)]), text)
    except InvalidJSON:  # several values, or really invalid: the reader tells
        yield from _one_by_one(text)


def _one_by_one(text: bytes) -> Iterator[Chunk]:
    events = ExactReader(text).events()
    while run := list(islice(events, RUN_EVENTS)):
        yield Chunk(run, None)


def _require_values(text: bytes) -> None:
    """Raises TooLarge for a text that could not be cut into runs and would fill the memory with small objects."""
    if len(text) > LARGEST_RUN_BYTES and text.count(b",") > MAX_VALUES:
        raise TooLarge(
            f"one event, or events that we cannot tell apart, has over {MAX_VALUES} values", limit=MAX_VALUES
        )
