"""What the messages of OTLP cost as objects, in bytes of memory (bench/wire_cost.py). Knows no decoding rules."""

from typing import Final

from ingest.wire_cost import Field, Fields, Shape, sized

_LARGE_VALUE: Final = 4 * 1024
"""Attributes and bodies from this size on are looked into. They are parsed one at a time: small ones hardly count."""

_NESTED: Final = 80


def _values() -> Fields:
    """The fields of AnyValue, which nests in itself."""
    value: dict[int, Field] = {}
    pair = {sized(2): Field(_NESTED, fields=value)}
    value[sized(5)] = Field(_NESTED, fields={sized(1): Field(_NESTED, fields=value)})  # array_value
    value[sized(6)] = Field(_NESTED, fields={sized(1): Field(_NESTED, fields=pair)})  # kvlist_value
    return value


_VALUE: Final = _values()
_PAIR: Final[Fields] = {sized(2): Field(_NESTED, fields=_VALUE)}
_ATTRIBUTE: Final = Field(120, fields=_PAIR, walked_from=_LARGE_VALUE)
_BODY: Final = Field(120, fields=_VALUE, walked_from=_LARGE_VALUE)

_RESOURCE: Final = Field(100, fields={sized(1): _ATTRIBUTE, sized(3): Field(200)})
_SCOPE: Final = Field(100, fields={sized(3): _ATTRIBUTE})


def _request(records: Field) -> Shape:
    """The levels that all signals have, above their records."""
    scopes = Field(1100, fields={sized(1): _SCOPE, sized(2): records})
    return Shape({sized(1): Field(1100, fields={sized(1): _RESOURCE, sized(2): scopes})})


LOGS: Final = _request(Field(900, fields={sized(5): _BODY, sized(6): _ATTRIBUTE}, scanned=True))

_EVENT: Final = Field(1100, fields={sized(3): _ATTRIBUTE})
_LINK: Final = Field(1200, fields={sized(4): _ATTRIBUTE})
TRACES: Final = _request(Field(1100, fields={sized(9): _ATTRIBUTE, sized(11): _EVENT, sized(13): _LINK}, scanned=True))

_EXEMPLAR: Final = Field(1100, fields={sized(7): _ATTRIBUTE})
_NUMBER: Final = Field(700, fields={sized(7): _ATTRIBUTE, sized(5): _EXEMPLAR}, scanned=True)
_HISTOGRAM: Final = Field(
    1400,
    fields={
        sized(9): _ATTRIBUTE,
        sized(8): _EXEMPLAR,
        # Lists of numbers of eight bytes each.
        sized(6): Field(50, per_byte=7),
        sized(7): Field(50, per_byte=7),
    },
)
_BUCKETS: Final = Field(100, per_byte=35)
_EXPONENTIAL: Final = Field(
    1900, fields={sized(1): _ATTRIBUTE, sized(11): _EXEMPLAR, sized(8): _BUCKETS, sized(9): _BUCKETS}
)
_SUMMARY: Final = Field(1200, fields={sized(7): _ATTRIBUTE, sized(6): Field(300)})
_DATA: Final = 200


def _data(points: Field) -> Field:
    return Field(_DATA, fields={sized(1): points})


METRICS: Final = _request(
    Field(
        1200,
        fields={
            sized(5): _data(_NUMBER),
            sized(7): _data(_NUMBER),
            sized(9): _data(_HISTOGRAM),
            sized(10): _data(_EXPONENTIAL),
            sized(11): _data(_SUMMARY),
            sized(12): _ATTRIBUTE,
        },
    )
)


# Of one `{}`: a dictionary, its place in a list, and the row that is made of it; of one comma: a member or an element.
_OBJECT_BYTES: Final = 240
_MEMBER_BYTES: Final = 40


def json_estimate(body: bytes) -> int:
    """Bytes that the objects of a JSON body take, at least: by its brackets and commas, those in texts too.

    Measured by bench/body_cost.py: 61 kB of gzip may hold 22 million empty records, which take 2 GB when parsed.
    """
    return _OBJECT_BYTES * (body.count(b"{") + body.count(b"[")) + _MEMBER_BYTES * body.count(b",")
