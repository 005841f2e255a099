"""What a protobuf body costs once it is objects, told from its tags and lengths. Makes no objects; knows no protocol.

An empty message is two bytes on the wire and up to two kilobytes decoded. The shapes of a protocol say what each of
its messages costs (measured by bench/wire_cost.py), and `estimate` adds that up before anything is parsed.
"""

from collections.abc import Mapping
from typing import Final, NamedTuple

FIELD_COST: Final = 32
"""Of a field without a cost of its own: a number, a name, one that nobody knows. It bounds the fields looked at."""

SCANNED_BYTES: Final = 16 * 1024
"""Messages up to this size that are marked `scanned` are not walked while the bytes that look like tags are few."""

SCANNED_FACTOR: Final = 12
"""How many bytes per byte of a body those may cost: more than ordinary telemetry, less than would fill a memory."""

_VARINT, _FIXED64, _SIZED, _FIXED32 = 0, 1, 2, 5
_GROUPS: Final = (3, 4)  # start and end, nothing else
_LONGEST_VARINT: Final = 10


class Field(NamedTuple):
    """What a length-delimited field costs in bytes of memory: each occurrence, each byte in it, and what is inside.

    `fields` are looked at only where the field has at least `walked_from` bytes; what a smaller one costs has to be
    in `cost` and `per_byte`.
    """

    cost: int
    per_byte: int = 0
    fields: "Mapping[int, Field] | None" = None
    walked_from: int = 1
    scanned: bool = False


_UNKNOWN: Final = Field(FIELD_COST)

Fields = Mapping[int, Field]
"""By their tags as numbers: `number << 3 | 2`."""


def sized(number: int) -> int:
    """The tag of a length-delimited field.

    >>> hex(sized(1))
    '0xa'
    """
    return number << 3 | _SIZED


class Shape:
    """The fields of a protocol's request, and what is derived from them once."""

    def __init__(self, fields: Fields) -> None:
        self._fields = fields
        # A tag may be written with more bytes than it takes: nobody does, but the parser takes it. Then it has its high
        # bit set. Only single bytes are found at the speed of memory.
        self._bytes = [(byte, cost) for tag, cost in _scanned_tags(fields).items() for byte in (tag, tag | 0x80)]

    def estimate(self, body: bytes, limit: int) -> int:
        """Bytes of memory that the objects of `body` take, besides the body itself; not counted much beyond `limit`.

        What follows a fault of the encoding costs nothing: the parser does not get there either.
        """
        scanned = self._scan(body)
        return self._walk(body, limit, SCANNED_BYTES if scanned is not None else 0) + (scanned or 0)

    def _scan(self, body: bytes) -> int | None:
        """An upper bound for what is inside the scanned messages: every byte that could be a tag is taken for one.

        None if it is too high to be of use. Counting bytes costs a hundredth of walking through their messages.
        """
        bound, most = 0, SCANNED_FACTOR * len(body)
        for byte, cost in self._bytes:
            bound += cost * body.count(byte)
            if bound > most:
                return None
        return bound

    def _walk(self, body: bytes, limit: int, scanned_bytes: int) -> int:
        total = position = 0
        end, fields = len(body), self._fields
        outer: list[tuple[int, int, Fields]] = []
        # One loop, without calls for what is usual: it runs for every record of every request.
        try:
            while total <= limit:
                if position >= end:
                    if not outer:
                        break
                    position, end, fields = outer.pop()
                    continue
                tag = body[position]
                position += 1
                if tag > 0x7F:
                    tag, position = _varint(body, position - 1)
                if tag & 7 != _SIZED:
                    total += FIELD_COST
                    position = _behind(body, position, tag & 7)
                    continue
                size = body[position]
                position += 1
                if size > 0x7F:
                    size, position = _varint(body, position - 1)
                start, position = position, position + size
                if position > end:
                    break
                cost, per_byte, inner, walked_from, is_scanned = fields.get(tag, _UNKNOWN)
                total += cost + size * per_byte
                if inner is not None and size >= walked_from and not (is_scanned and size <= scanned_bytes):
                    outer.append((position, end, fields))
                    position, end, fields = start, position, inner
        except IndexError:
            # The body ends inside of a field. What stands before it, the parser makes before it complains.
            return total
        return total


def _behind(body: bytes, position: int, kind: int) -> int:
    """Where the field ends that is not length-delimited. A group's content counts as fields of what it stands in."""
    if kind == _VARINT:
        return position + 1 if body[position] < 0x80 else _varint(body, position)[1]
    if kind == _FIXED64:
        return position + 8
    if kind == _FIXED32:
        return position + 4
    return position if kind in _GROUPS else len(body)


def _varint(body: bytes, position: int) -> tuple[int, int]:
    """The number that begins at `position`, and where it ends. One that is too long ends the walk."""
    first = body[position + 1]
    if first < 0x80:  # two bytes, as most lengths of records are
        return body[position] & 0x7F | first << 7, position + 2
    value = 0
    for step in range(_LONGEST_VARINT):
        byte = body[position + step]
        value |= (byte & 0x7F) << 7 * step
        if byte < 0x80:
            return value, position + step + 1
    raise IndexError(position)


def _scanned_tags(fields: Fields) -> dict[int, int]:
    """The tags inside of all scanned fields, and the highest cost of each."""
    costs: dict[int, int] = {}
    pending = [(fields, False)]
    visited: set[tuple[int, bool]] = set()
    while pending:
        fields, is_inside = pending.pop()
        if (id(fields), is_inside) in visited:
            continue
        visited.add((id(fields), is_inside))
        for tag, field in fields.items():
            if is_inside:
                costs[tag] = max(costs.get(tag, 0), field.cost)
            if field.fields is not None and field.walked_from <= 1:
                pending.append((field.fields, is_inside or field.scanned))
    return costs
