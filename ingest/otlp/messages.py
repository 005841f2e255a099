"""Lists of decoded messages and the protocol by which both encodings are read. Knows no column names.

A request is a tree, and a row needs values from every level of it (resource, scope, record). So each level is held
as one flat list, which is read column by column: all `severity_text`s, then all `trace_id`s.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple, Protocol

from ingest.otlp.values import Value
from ingest.sparse_column import Sparse


class IntegerRange(NamedTuple):
    """The inclusive range of a protobuf integer type, which JSON has to be held to."""

    lowest: int
    highest: int


INT32: Final = IntegerRange(-(2**31), 2**31 - 1)
UINT32: Final = IntegerRange(0, 2**32 - 1)
INT64: Final = IntegerRange(-(2**63), 2**63 - 1)
UINT64: Final = IntegerRange(0, 2**64 - 1)


@dataclass(frozen=True, slots=True)
class Messages:
    """All messages of one level in order. `counts[i]` of them belong to message `i` of `parent`.

    `items` are protobuf messages or dicts. `counts` is None where every parent has exactly one.
    """

    items: Sequence[Any]
    parent: "Messages | None" = None
    name: str = ""
    counts: Sequence[int] | None = field(default=None)

    def __len__(self) -> int:
        return len(self.items)

    def owners(self) -> list[int]:
        """For every message the position of its parent."""
        if self.counts is None:
            return list(range(len(self.items)))
        return [owner for owner, count in enumerate(self.counts) for _ in range(count)]

    def path(self, index: int) -> str:
        """Where message `index` stands in the request: `resourceLogs[0].scopeLogs[2]`."""
        if self.parent is None:
            return self.name
        if self.counts is None:
            return join(self.parent.path(index), self.name)
        owner = 0
        while index >= self.counts[owner]:
            index -= self.counts[owner]
            owner += 1
        return f"{join(self.parent.path(owner), self.name)}[{index}]"


def join(path: str, rest: str) -> str:
    """A longer path: `join("attributes", "[2].value")` is `attributes[2].value`."""
    return f"{path}.{rest}" if path and rest and not rest.startswith("[") else path + rest


def camel_case(name: str) -> str:
    """The JSON name of a field.

    >>> camel_case("time_unix_nano")
    'timeUnixNano'
    """
    first, *others = name.split("_")
    return first + "".join(word.capitalize() for word in others)


class Reader(Protocol):
    """Reads one field of every message of a list. Absent fields read as protobuf's defaults.

    Names are those of the OTLP protocol files, in snake_case. Every method raises InvalidBody for a value of the
    wrong shape, naming its path.
    """

    def children(self, messages: Messages, name: str) -> Messages:
        """The messages of a repeated field, flat."""

    def child(self, messages: Messages, name: str) -> Messages:
        """The message of a singular field, an empty one where it is absent."""

    def present(self, messages: Messages, name: str) -> list[bool]:
        """Whether the singular message is there."""

    def strings(self, messages: Messages, name: str) -> list[str]: ...

    def ids(self, messages: Messages, name: str) -> list[str]:
        """Trace and span ids as lower-case hexadecimal text."""

    def booleans(self, messages: Messages, name: str) -> list[bool]: ...

    def integers(self, messages: Messages, name: str, limits: IntegerRange) -> list[int]: ...

    def doubles(self, messages: Messages, name: str) -> list[float]: ...

    def optional_doubles(self, messages: Messages, name: str) -> list[float | None]: ...

    def numbers(self, messages: Messages) -> list[int | float | None]:
        """`as_int` or `as_double`, whichever is set."""

    def integer_lists(self, messages: Messages, name: str) -> list[list[int]]:
        """Unsigned 64-bit integers."""

    def double_lists(self, messages: Messages, name: str) -> list[list[float]]: ...

    def values(self, messages: Messages, name: str) -> list[Value | None]:
        """An `AnyValue` field."""

    def attributes(self, messages: Messages, name: str) -> dict[str, Sparse]:
        """The values of every attribute name, in order of first appearance. Nulls are left out."""

    def attribute_objects(self, messages: Messages, name: str) -> list[dict[str, Any]]:
        """The attributes of each message as what JSON is made from. A repeated key keeps its first value."""
