"""Blocks of rows come out of pieces of any size; rows become messages whatever their values are."""

import struct
from datetime import UTC, datetime

import polars as pl
import pytest

from errors import InternalError
from pgwire.rows import _blocks
from query.results import data_rows
from query.results.data_rows import BLOCK_BYTES, DataRows, block, blocks
from query.results.row_bytes import Texts, rows_of_cells


def read_rows(content: bytes) -> list[list[bytes | None]]:
    """Cells of the DataRow messages in blocks, as a client reads them."""
    rows = []
    for count, body in _blocks(iter([content])):
        at, before = 0, len(rows)
        while at < len(body):
            kind, length, columns = struct.unpack_from("!cih", body, at)
            assert kind == b"D"
            cells, place = [], at + 7
            for _ in range(columns):
                (size,) = struct.unpack_from("!i", body, place)
                cells.append(None if size < 0 else bytes(body[place + 4 : place + 4 + size]))
                place += 4 + max(size, 0)
            at += 1 + length
            assert place == at
            rows.append(cells)
        assert len(rows) - before == count
    return rows


@pytest.mark.parametrize("size", [1, 3, 8, 11, 1000])
def test_blocks_are_found_however_bytes_are_cut(size: int):
    content = block(b"abc") + block(b"") + block(b"x" * 50)

    pieces = [content[at : at + size] for at in range(0, len(content), size)]

    assert [bytes(body) for _, body in _blocks(iter(pieces))] == [b"abc", b"", b"x" * 50]


def test_end_within_a_block_is_an_error():
    with pytest.raises(InternalError, match="within a block"):
        list(_blocks(iter([block(b"abc")[:-1]])))


def test_texts_of_any_characters_and_lengths():
    texts = ["", None, 'a"b,c\n\r\t\\', "\0", "ü€😀", "x" * 300, "x" * 70_000]

    rows = read_rows(DataRows(["text", "text"], ()).rows(pl.DataFrame({"a": texts, "b": texts[::-1]})))

    encoded = [None if each is None else each.encode() for each in texts]
    assert rows == [list(pair) for pair in zip(encoded, encoded[::-1], strict=True)]


def test_few_rows_are_the_same_as_in_whole_columns(monkeypatch: pytest.MonkeyPatch):
    moment = datetime(2026, 11, 20, 1, 2, 3, 450_000, tzinfo=UTC)
    columns = {
        "text": ["ü", None, ""],
        "float8": [1.5, float("nan"), None],
        "bool": [True, None, False],
        "timestamptz": [moment, None, moment.replace(microsecond=0)],
        "int8[]": [[1, None], None, []],
    }
    frame, types = pl.DataFrame(columns), list(columns)

    few = DataRows(types, ()).rows(frame)
    monkeypatch.setattr(data_rows, "FEW_ROWS", 0)

    assert read_rows(few) == read_rows(DataRows(types, ()).rows(frame))
    assert few == DataRows(types, ()).rows(frame)


@pytest.mark.parametrize("longest", [10, 1000, 100_000])
def test_bytes_of_any_length_in_binary(longest: int):
    values = [b"\xff" * longest, None, b"", bytes(range(10)), b"x" * (longest // 2)]

    rows = read_rows(DataRows(["bytea", "text"], (True,)).rows(pl.DataFrame({"v": values, "t": ["a"] * 5})))

    assert rows == [[value, b"a"] for value in values]


def test_blocks_are_of_whole_rows_and_bounded():
    rows = pl.DataFrame({"a": ["x" * 1000] * 500})

    found = list(_blocks(iter([DataRows(["text"], ()).rows(rows)])))

    assert sum(count for count, _ in found) == 500
    assert len(found) > 3
    assert all(len(body) < BLOCK_BYTES + 2000 for _, body in found)


def test_one_row_larger_than_a_block():
    rows = pl.DataFrame({"a": ["x" * (3 * BLOCK_BYTES), "y", "z" * (2 * BLOCK_BYTES)]})

    read = read_rows(DataRows(["text"], ()).rows(rows))

    assert [len(row[0] or b"") for row in read] == [3 * BLOCK_BYTES, 1, 2 * BLOCK_BYTES]


def test_no_rows_are_no_blocks():
    assert blocks(*rows_of_cells(b"D", [Texts(pl.Series([], dtype=pl.String))])) == b""


@pytest.mark.parametrize(
    "moment",
    [
        "2026-11-22 10:00:00",
        "1969-12-31 23:59:59.999999",
        "2000-02-29 00:00:00.5",
        "1000-01-01 00:00:00.000001",
        "9999-12-31 23:59:59.99",
        "2026-01-01 12:30:45.120340",
        "0044-03-15 01:02:03.25",
    ],
)
@pytest.mark.parametrize("zone", [None, "UTC"])
def test_timestamps_are_written_as_postgresql_writes_them(moment: str, zone: str | None):
    """timestamp_out: no zeros at the end of a fraction, years of four digits at least."""
    values = pl.Series([moment, None, moment]).str.to_datetime(time_unit="us").dt.replace_time_zone(zone)

    rows = read_rows(DataRows(["timestamptz"], ()).rows(pl.DataFrame({"at": values})))

    shown = (moment.rstrip("0") if "." in moment else moment) + ("+00" if zone else "")
    assert rows == [[shown.encode()], [None], [shown.encode()]]


def test_nanoseconds_end_at_microseconds():
    values = pl.Series([1_795_000_000_123_456_999, -1]).cast(pl.Datetime("ns", "UTC"))

    rows = read_rows(DataRows(["timestamptz"], ()).rows(pl.DataFrame({"at": values})))

    assert rows == [[b"2026-11-18 11:06:40.123456+00"], [b"1969-12-31 23:59:59.999999+00"]]


@pytest.mark.parametrize(
    ("values", "kind", "expected"),
    [
        (pl.Series([1, None, -2]), "int8", ["0000000000000001", None, "fffffffffffffffe"]),
        (pl.Series([1, None, -2], dtype=pl.Int16), "int2", ["0001", None, "fffe"]),
        (pl.Series([True, None, False]), "bool", ["01", None, "00"]),
        (pl.Series([1.5, None], dtype=pl.Float32), "float4", ["3fc00000", None]),
        (pl.Series([b"\x00\xff", None, b""]), "bytea", ["00ff", None, ""]),
        (pl.Series(['{"a":1}', None]), "jsonb", ["017b2261223a317d", None]),
        (pl.Series(["a", None]), "text", ["61", None]),
        (pl.Series(["10.0.0.1/8", None, "1.2.3.4"]), "inet", ["020800040a000001", None, "0220000401020304"]),
        (pl.Series(["::/0"]), "cidr", ["03000110" + "00" * 16]),
        (pl.Series([[[1, 2], [3, None]]]), "int4[][]", [
            "00000002" "00000001" "00000017" "0000000200000001" "0000000200000001"
            "0000000400000001" "0000000400000002" "0000000400000003" "ffffffff"
        ]),
        (pl.Series([None, []], dtype=pl.List(pl.Int64)), "int8[]", [None, "000000000000000000000014"]),
        (pl.Series([["a"], [], None]), "text[]", [
            "00000001" "00000000" "00000019" "0000000100000001" "0000000161", "000000000000000000000019", None
        ]),
    ],
)  # fmt: skip
def test_binary_format(values: pl.Series, kind: str, expected: list[str | None]):
    """int8send, int2send, boolsend, float4send, byteasend, jsonb_send, textsend, network_send, array_send."""
    rows = read_rows(DataRows([kind], (True,)).rows(pl.DataFrame({"v": values})))

    assert rows == [[None if each is None else bytes.fromhex(each)] for each in expected]
