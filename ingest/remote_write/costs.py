"""What the messages of remote write cost as objects, in bytes of memory (bench/wire_cost.py)."""

from typing import Final

from ingest.remote_write.decoding import Version
from ingest.wire_cost import Field, Shape, sized

_LABEL: Final = Field(140)
_SAMPLE: Final = Field(260)
_SPAN: Final = Field(190)
_INTEGERS: Final = Field(50, per_byte=60)
_DOUBLES: Final = Field(50, per_byte=15)
_HISTOGRAM: Final = Field(
    2000,
    fields={
        sized(8): _SPAN,
        sized(9): _INTEGERS,
        sized(10): _DOUBLES,
        sized(11): _SPAN,
        sized(12): _INTEGERS,
        sized(13): _DOUBLES,
        sized(16): _DOUBLES,
    },
)
VERSION_1: Final = Shape(
    {
        sized(1): Field(
            150,
            fields={
                sized(1): _LABEL,
                sized(2): _SAMPLE,
                sized(3): Field(750, fields={sized(1): _LABEL}),
                sized(4): _HISTOGRAM,
            },
        ),
        sized(3): Field(150),
    }
)

_REFERENCES: Final = Field(50, per_byte=70)
VERSION_2: Final = Shape(
    {
        sized(4): Field(60),
        sized(5): Field(
            150,
            fields={
                sized(1): _REFERENCES,
                sized(2): _SAMPLE,
                sized(3): _HISTOGRAM,
                sized(4): Field(750, fields={sized(1): _REFERENCES}),
            },
        ),
    }
)


def estimate(body: bytes, version: Version, limit: int) -> int:
    """Of a request whose every message becomes an object."""
    return (VERSION_2 if version is Version.TWO else VERSION_1).estimate(body, limit)


# Series that stay encoded: their bytes and where they begin, told by the only tag that they and their labels have.
_ENCODED_SERIES: Final = 60
_SERIES_TAG: Final = sized(1)
_SMALLEST: Final = 2
_NOT_COUNTED_BYTES: Final = 16 * 1024 * 1024


def estimate_encoded(body: bytes) -> int:
    """Of a version 1 request whose series are looked up as they are: an upper bound.

    Where even a body of empty series costs little, nothing is counted: counting takes a tenth of the decoding.
    """
    highest = _ENCODED_SERIES * (len(body) // _SMALLEST)
    return highest if highest <= _NOT_COUNTED_BYTES else _ENCODED_SERIES * body.count(_SERIES_TAG)
