"""Streams that are read together have the rows of each read by itself: every type, null, text and way to be written.

The reference is Polars' own reader (Arrow columnar format, IPC streaming format).
"""

import io
import random
import struct
from collections.abc import Sequence
from datetime import UTC, date, datetime

import polars as pl
import pytest

from columns import POLARS_TYPES
from storage.wal import batches
from storage.wal.arrow import END, PREFIX, schema_bytes
from storage.wal.batches import Joined, Streams, joined_bits, read_stream, shifted
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


@pytest.fixture
def joins(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Of each stream whether it was joined."""
    seen: list[bool] = []
    real = Joined.add

    def add(self: Joined, data: bytes, start: int, end: int) -> bool:
        seen.append(real(self, data, start, end))
        return seen[-1]

    monkeypatch.setattr(Joined, "add", add)
    return seen


@pytest.mark.parametrize("nulls", [0.0, 0.3, 1.0])
@pytest.mark.parametrize("portion_bytes", [1, 20_000, 10**9])
@pytest.mark.parametrize(
    "sizes", [[1] * 50, [3, 1, 8, 9, 64, 7], [5, 300, 2, 128, 127, 1]], ids=["ones", "few", "many"]
)
def test_joined_rows_are_those_of_the_streams(
    sizes: list[int], portion_bytes: int, nulls: float, monkeypatch: pytest.MonkeyPatch, joins: list[bool]
) -> None:
    monkeypatch.setattr(batches, "PORTION_BYTES", portion_bytes)
    parts = [rows(size, seed, nulls) for seed, size in enumerate(sizes)]
    payloads = [bytes(to_payload(part)) for part in parts]

    choices = (FLAT[:6], FLAT[2:], *([name] for name in FLAT), [*FLAT[:3], "none of it"])
    for wanted in choices:
        names = [name for name in SCHEMA if name in wanted]
        assert read(payloads, wanted).equals(pl.concat(parts).select(names))
    assert joins == [True] * len(parts) * len(choices)


def test_most_columns_are_left_to_the_reader(joins: list[bool]) -> None:
    parts = [rows(size, size, 0.2) for size in (1, 2, 400, 3)]
    payloads = [bytes(to_payload(part)) for part in parts]

    assert read(payloads).equals(pl.concat(parts))
    assert read(payloads, FLAT[1:]).equals(pl.concat(parts).select(FLAT[1:]))
    assert joins == []


def test_lists_are_read_beside_other_columns(joins: list[bool]) -> None:
    parts = [rows(3, seed, 0.2) for seed in range(5)]

    found = read([bytes(to_payload(part)) for part in parts], ["list_int64", "utf8"])

    assert found.equals(pl.concat(parts).select("utf8", "list_int64"))
    assert joins == []


def test_rows_are_counted_when_no_wanted_column_is_there() -> None:
    parts = [rows(3, seed, 0.2) for seed in range(5)]

    assert read([bytes(to_payload(part)) for part in parts], ["elsewhere"]).height == 15


def test_streams_of_other_layouts_are_read_in_their_turn(joins: list[bool]) -> None:
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
    assert joins == [True, False, True, False, True, True, False, True]


def test_texts_without_views_are_left_to_the_reader(joins: list[bool]) -> None:
    """Polars calls both string; only one has views (Arrow columnar format, variable-size binary layouts)."""
    stream = io.BytesIO()
    part = rows(5, 1, 0.2, FLAT)
    part.write_ipc_stream(stream, compression="uncompressed", compat_level=pl.CompatLevel.oldest())

    assert read([stream.getvalue()] * 3, FLAT[:4]).equals(pl.concat([part] * 3).select(FLAT[:4]))
    assert joins == [False] * 3


def test_metadata_of_one_size_with_its_numbers_elsewhere_is_not_taken_for_the_other(
    monkeypatch: pytest.MonkeyPatch, joins: list[bool]
) -> None:
    """What we write ourselves is as large as what Polars writes, in another order."""
    part = rows(5, 1, 0.2, FLAT)
    ours: list[bytes] = []
    monkeypatch.setattr(
        batches, "read_stream", lambda stream, *_: ours.append(bytes(stream)) or read_stream(stream, *_)
    )
    theirs = bytes(to_payload(part))
    monkeypatch.setattr(batches, "is_worth_joining", lambda *_: True)
    read([theirs], FLAT)
    mixed = [ours[-1], theirs, ours[-1], theirs]
    assert len({find_length(each) for each in mixed}) == 1
    assert len(set(mixed)) == 2

    for streams, expected in ((mixed, [False] * 4), (mixed[::-1], [True, False] * 2)):
        batches._form.cache_clear()
        joins.clear()
        assert read(streams, FLAT[:4]).equals(pl.concat([part] * 4).select(FLAT[:4]))
        assert joins == expected


def find_length(stream: bytes) -> int:
    """Of the metadata of the stream's first batch."""
    schema = schema_bytes(stream, 0, len(stream)) or b""
    return int(PREFIX.unpack_from(stream, len(schema))[1])


def test_texts_of_several_buffers_keep_their_places(joins: list[bool]) -> None:
    """A builder of Polars' starts with small buffers of data and goes on with larger ones."""
    parts = [
        pl.DataFrame({"t": ["x" * 100 + str(n) for n in range(count)], "n": [1] * count})
        for count in (1, 120, 1, 1, 125, 2)
    ]
    payloads = [bytes(to_payload(part)) for part in parts]
    assert len(payloads[1]) > 8192 < batches.PORTION_BYTES

    assert read(payloads, ["t"]).equals(pl.concat(parts).select("t"))
    assert joins == [True] * len(parts)


def test_more_layouts_than_are_kept_are_read_all_the_same(monkeypatch: pytest.MonkeyPatch, joins: list[bool]) -> None:
    monkeypatch.setattr("storage.wal.layouts.MOST_LAYOUTS", 3)
    parts = [pl.DataFrame({c: ["y" * 20 * (n >> i & 1)] for i, c in enumerate("abcde")}) for n in range(32)]

    assert read([bytes(to_payload(part)) for part in parts], ["a", "d"]).equals(pl.concat(parts).select("a", "d"))
    assert set(joins) == {True, False}


def test_what_stands_in_the_place_of_a_null_changes_no_other_text() -> None:
    """A null's view is not defined (Arrow columnar format, validity bitmaps)."""
    view, shift = struct.Struct("<I4sII"), struct.Struct("<8xII")
    views = [view.pack(40, b"abcd", 1, 7), view.pack(99, b"null", 1, 2**32 - 1), view.pack(12, b"abcd", 1, 7)]

    moved = shifted(b"".join(views), shift.pack(5, 1000) * 3)

    assert [moved[:16], moved[32:]] == [view.pack(40, b"abcd", 6, 1007), views[2]]


def test_bits_of_pieces_follow_each_other() -> None:
    assert joined_bits([b"\xff", b"", b"\x00\x05"], [3, 2, 11]) == bytes([0b00011111, 0b10100000])
