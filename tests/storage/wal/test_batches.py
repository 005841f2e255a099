"""Streams that are read together have the rows of each read by itself: every type, null, text and way to be written.

The reference is Polars' own reader (Arrow columnar format, IPC streaming format).
"""

import io
import random
from collections.abc import Sequence
from datetime import UTC, date, datetime

import polars as pl
import pytest

from columns import POLARS_TYPES
from storage.wal import batches
from storage.wal.batches import END, Streams, read_stream, schema_bytes
from storage.wal.records import to_payload

SCHEMA = {kind.value: dtype for kind, dtype in POLARS_TYPES.items()}
FLAT = [name for name, dtype in SCHEMA.items() if not dtype.is_nested()]


def value(dtype: pl.DataType, chance: random.Random) -> object:
    """A value of the type, a text of any length around what a view holds itself."""
    match dtype:
        case pl.List():
            return [value(dtype.inner, chance) for _ in range(chance.randrange(3))]  # type: ignore[arg-type]
        case pl.Boolean():
            return chance.random() < 0.5
        case pl.Int64():
            return chance.randrange(-(2**63), 2**63)
        case pl.Float64():
            return chance.choice([0.0, -0.0, 1.5, float("inf"), chance.random()])
        case pl.Date():
            return date.fromordinal(chance.randrange(1, 3_000_000))
        case pl.Datetime():
            return datetime.fromtimestamp(chance.randrange(2**32), UTC)
        case _:
            return chance.choice(["", "ä", "x" * 12, "y" * 13, "z" * chance.randrange(200)])


def rows(count: int, seed: int, nulls: float, names: Sequence[str] = tuple(SCHEMA)) -> pl.DataFrame:
    chance = random.Random(seed)
    return pl.DataFrame(
        {
            name: [None if chance.random() < nulls else value(SCHEMA[name], chance) for _ in range(count)]
            for name in names
        },
        schema={name: SCHEMA[name] for name in names},
    )


def read(payloads: Sequence[bytes], wanted: Sequence[str] | None = None) -> pl.DataFrame:
    """All streams, which begin with the same schema, out of one piece of memory in which other things stand between."""
    schema = schema_bytes(payloads[0], 0, len(payloads[0]))
    assert schema is not None
    streams = Streams(schema, wanted)
    data = b"?".join(payloads)
    at = 0
    for payload in payloads:
        streams.add(data, at, at + len(payload))
        at += len(payload) + 1
    return streams.rows()


@pytest.mark.parametrize("nulls", [0.0, 0.3, 1.0])
@pytest.mark.parametrize("portion_bytes", [1, 20_000, 10**9])
@pytest.mark.parametrize(
    "sizes", [[1] * 50, [3, 1, 8, 9, 64, 7], [5, 300, 2, 128, 127, 1]], ids=["ones", "few", "many"]
)
def test_joined_rows_are_those_of_the_streams(
    sizes: list[int], portion_bytes: int, nulls: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(batches, "PORTION_BYTES", portion_bytes)
    parts = [rows(size, seed, nulls) for seed, size in enumerate(sizes)]
    payloads = [bytes(to_payload(part)) for part in parts]

    choices = (list(SCHEMA), FLAT[:6], *([name] for name in SCHEMA), [*FLAT[:3], "none of it"])
    for wanted in choices:
        names = [name for name in SCHEMA if name in wanted]
        assert read(payloads, wanted).equals(pl.concat(parts).select(names))


def test_rows_are_counted_when_no_wanted_column_is_there() -> None:
    parts = [rows(3, seed, 0.2) for seed in range(5)]

    assert read([bytes(to_payload(part)) for part in parts], ["elsewhere"]).height == 15


def test_streams_of_other_layouts_are_joined_too() -> None:
    """Several batches, none, and compressed ones, which a writer may choose (Arrow IPC, BodyCompression)."""
    simple = rows(2, 1, 0.2, FLAT)
    compressed = io.BytesIO()
    rows(3, 4, 0.0, FLAT).write_ipc_stream(compressed, compression="zstd")
    many = bytes(to_payload(rows(200, 5, 0.1, FLAT)))
    one, empty = bytes(to_payload(simple)), bytes(to_payload(simple.clear()))
    schema = schema_bytes(one, 0, len(one)) or b""
    two = one.removesuffix(END) + many.removeprefix(schema)
    payloads = [one, two, one, empty, one, many, compressed.getvalue(), one]

    found = read(payloads, FLAT[:4])

    expected = [read_stream(payload) for payload in payloads]
    assert found.equals(pl.concat(expected).select(FLAT[:4]))


def test_texts_without_views_are_joined_too() -> None:
    """Polars calls both string; only one has views (Arrow columnar format, variable-size binary layouts)."""
    stream = io.BytesIO()
    part = rows(5, 1, 0.2, FLAT)
    part.write_ipc_stream(stream, compression="uncompressed", compat_level=pl.CompatLevel.oldest())

    assert read([stream.getvalue()] * 3, FLAT[:4]).equals(pl.concat([part] * 3).select(FLAT[:4]))


def test_texts_of_several_buffers_keep_their_places() -> None:
    """A builder of Polars' starts with small buffers of data and goes on with larger ones."""
    parts = [
        pl.DataFrame({"t": ["x" * 100 + str(n) for n in range(count)], "n": [1] * count})
        for count in (1, 120, 1, 1, 125, 2)
    ]
    payloads = [bytes(to_payload(part)) for part in parts]
    assert len(payloads[1]) > 8192 < batches.PORTION_BYTES

    assert read(payloads, ["t"]).equals(pl.concat(parts).select("t"))
