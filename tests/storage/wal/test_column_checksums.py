"""Columns read by themselves have the values that Polars reads in each stream alone, and no damage in them passes.

The reference is Polars' own reader (Arrow columnar format, IPC streaming format).
"""

import io
import os
import random
from collections.abc import Sequence
from pathlib import Path

import polars as pl
import pytest

from storage.wal.batches import END, names_in, read_stream, schema_bytes
from storage.wal.column_checksums import CheckedColumns, ColumnChecker
from storage.wal.column_reading import ColumnDamaged, read_columns
from storage.wal.records import to_payload
from tests.storage.wal.test_batches import FLAT, SCHEMA, rows

GAP = b"something else"


class Written:
    """Payloads in a file, and the checksums of their columns, of which the file knows nothing."""

    def __init__(self, path: Path, payloads: Sequence[bytes]) -> None:
        self.path = path
        self.payloads = payloads
        self.content = bytearray(GAP.join([b"", *payloads]))
        path.write_bytes(self.content)
        checker = ColumnChecker()
        self.checked = [checker.check(payload, len(GAP)) for payload in payloads]
        sizes = [len(GAP) + len(payload) for payload in payloads]
        self.starts = [sum(sizes[:number]) for number in range(len(sizes))]

    def records(self) -> list[tuple[int, CheckedColumns]]:
        return [(start, each) for start, each in zip(self.starts, self.checked, strict=True) if each is not None]

    def read(self, wanted: Sequence[str]) -> pl.DataFrame:
        """The columns, in the schema's order."""
        fd = os.open(self.path, os.O_RDONLY)
        try:
            streams = list(read_columns(self.records(), wanted, fd))
        finally:
            os.close(fd)
        names = names_in(self.records()[0][1].schema, wanted)
        return pl.concat([read_stream(stream, names) for stream in streams])


@pytest.mark.parametrize("nulls", [0.0, 0.3, 1.0])
@pytest.mark.parametrize("seed", range(10))
def test_columns_have_the_values_that_each_stream_has_alone(tmp_path: Path, seed: int, nulls: float) -> None:
    draw = random.Random(seed)
    names = draw.sample(list(SCHEMA), draw.randrange(1, len(SCHEMA) + 1))
    parts = [rows(draw.choice([1, 2, 7, 8, 9, 33, 64, 150]), draw.random(), nulls, names) for _ in range(12)]
    written = Written(tmp_path / "payloads", [bytes(to_payload(part)) for part in parts])

    choices = [[name] for name in names] + [draw.sample(names, draw.randrange(1, len(names) + 1)) for _ in range(8)]
    assert len(written.records()) == len(parts)
    for wanted in choices:
        assert written.read(wanted).equals(pl.concat(parts).select(n for n in names if n in wanted)), wanted


@pytest.mark.parametrize("texts", [["", "", ""], ["x" * 12, "", "y"], ["z" * 13, "", "z" * 9000], ["x" * 70_000] * 3])
def test_texts_are_read_whatever_buffers_they_take(tmp_path: Path, texts: list[str]) -> None:
    parts = [pl.DataFrame({"n": [1] * count, "t": (texts * count)[:count], "m": [2] * count}) for count in (1, 3, 40)]
    written = Written(tmp_path / "payloads", [bytes(to_payload(part)) for part in parts])

    assert written.read(["t"]).equals(pl.concat(parts).select("t"))
    assert written.read(["t", "m"]).equals(pl.concat(parts).select("t", "m"))


def test_columns_are_found_behind_texts_that_take_a_buffer_in_some_records_only(tmp_path: Path) -> None:
    """Messages are of one length if as many columns of texts have a buffer, whichever these are."""
    long, short = "x" * 50, "y"
    texts = [(long, short), (short, long), (long, short), (short, long)]
    parts = [pl.DataFrame({"a": [a] * 3, "n": [7, 8, 9], "b": [b] * 3, "m": [1, 2, 3]}) for a, b in texts]
    written = Written(tmp_path / "payloads", [bytes(to_payload(part)) for part in parts])

    assert len({len(each.message) for _, each in written.records()}) == 1
    for wanted in (["n"], ["m"], ["n", "m"], ["a", "m"], ["b"]):
        assert written.read(wanted).equals(pl.concat(parts).select(n for n in parts[0].columns if n in wanted))


def test_texts_that_share_no_buffer_are_read(tmp_path: Path) -> None:
    """A column that was appended to has several buffers of texts."""
    part = pl.concat([pl.DataFrame({"t": ["x" * 100 + str(n)] * 3, "n": [n] * 3}) for n in range(9)], rechunk=False)
    parts = [part.rechunk(), part.head(5).rechunk(), part.rechunk()]
    written = Written(tmp_path / "payloads", [bytes(to_payload(each)) for each in parts])

    assert written.read(["t"]).equals(pl.concat(parts).select("t"))


def test_damage_in_any_byte_of_a_wanted_column_is_noticed(tmp_path: Path) -> None:
    """Every byte of the payload counts for one column at least, or the reader does not look at it."""
    part = rows(9, 3, 0.3)
    written = Written(tmp_path / "payloads", [bytes(to_payload(part))])
    expected = {name: part.select(name) for name in SCHEMA}
    noticed = 0

    for at in range(len(GAP), len(written.content)):
        damaged = bytearray(written.content)
        damaged[at] ^= 1 << at % 8
        written.path.write_bytes(damaged)
        for name in SCHEMA:
            try:
                assert written.read([name]).equals(expected[name])
            except ColumnDamaged:
                noticed += 1

    schema = schema_bytes(written.payloads[0], 0, len(written.payloads[0])) or b""
    (checked,) = written.checked
    assert checked is not None
    assert noticed == len(written.payloads[0]) - len(schema) - len(checked.message) - len(END)


def test_file_that_ends_within_a_column_is_damaged(tmp_path: Path) -> None:
    written = Written(tmp_path / "payloads", [bytes(to_payload(rows(50, 1, 0.2)))])
    os.truncate(written.path, len(written.content) // 2)

    with pytest.raises(ColumnDamaged):
        written.read([list(SCHEMA)[-1]])


def _compressed() -> bytes:
    stream = io.BytesIO()
    rows(30, 1, 0.2).write_ipc_stream(stream, compression="zstd")
    return stream.getvalue()


def _without_views() -> bytes:
    stream = io.BytesIO()
    rows(30, 1, 0.2).write_ipc_stream(stream, compression="uncompressed", compat_level=pl.CompatLevel.oldest())
    return stream.getvalue()


def _of_two_batches() -> bytes:
    one = bytes(to_payload(rows(30, 1, 0.2)))
    schema = schema_bytes(one, 0, len(one)) or b""
    return one.removesuffix(END) + one.removeprefix(schema)


UNKNOWN = {
    "compressed": _compressed(),
    "without views": _without_views(),
    "two batches": _of_two_batches(),
    "no row": bytes(to_payload(rows(0, 1, 0.0))),
    "no end mark": bytes(to_payload(rows(30, 1, 0.2)))[: -len(END)],
    "another type": bytes(to_payload(pl.DataFrame({"t": [1, 2]}, schema={"t": pl.Duration("us")}))),
    "a structure": bytes(to_payload(pl.DataFrame({"t": [{"a": 1}]}))),
    "nothing": b"",
}


@pytest.mark.parametrize("payload", UNKNOWN.values(), ids=UNKNOWN)
def test_payload_of_another_form_has_no_checksums(payload: bytes) -> None:
    assert ColumnChecker().check(payload, 0) is None


def test_columns_without_texts_have_checksums_too(tmp_path: Path) -> None:
    names = [name for name in FLAT if SCHEMA[name] != pl.String()]
    part = rows(20, 1, 0.2, names)
    written = Written(tmp_path / "payloads", [bytes(to_payload(part))] * 3)

    assert written.read(names[1:3]).equals(pl.concat([part] * 3).select(names[1:3]))
