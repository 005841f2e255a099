"""What text indexes leave of a snapshot: of files on the disk, of objects, and of copies of objects."""

from dataclasses import replace
from pathlib import Path
from random import Random

import polars as pl
import pytest

from storage.context import CacheLimits
from storage.files.index_reader import IndexReader
from storage.files.row_range import RowRange, TimedRows
from storage.files.text_conditions import IsOneOf
from storage.read.scan import scan
from storage.read.snapshot import Snapshot, take_snapshot
from storage.read.text_search import TextSearch
from tests.storage.workbench import NOON, Bench

ROWS = 5_000


def trace(number: int) -> str:
    return f"{Random(number).getrandbits(128):032x}"


def filled(bench: Bench, files: int) -> Snapshot:
    for number in range(files):
        bench.append(trace=[trace(each) for each in range(number * ROWS, number * ROWS + ROWS)])
        bench.convert()
    return take_snapshot(bench.layout, bench.app)


def wanted(number: int) -> list[tuple[IsOneOf, ...]]:
    return [(IsOneOf("trace", (trace(number),)),)]


def test_files_without_the_value_drop_out(bench: Bench) -> None:
    whole = filled(bench, 3)

    narrowed = TextSearch().narrow(whole, wanted(ROWS + 7))

    assert narrowed.files == whole.files[1:2]
    assert trace(ROWS + 7) in scan(narrowed).collect()["trace"]


def test_segments_stay(bench: Bench) -> None:
    filled(bench, 1)
    bench.append(trace=["later"])
    whole = take_snapshot(bench.layout, bench.app)

    narrowed = TextSearch().narrow(whole, [(IsOneOf("trace", ("later",)),)])

    assert (narrowed.files, narrowed.segments) == ((), whole.segments)
    assert scan(narrowed).collect()["trace"].to_list() == ["later"]


def test_scan_without_a_condition_reads_everything(bench: Bench) -> None:
    whole = filled(bench, 2)

    assert TextSearch().narrow(whole, [*wanted(7), ()]) == whole
    assert TextSearch().narrow(whole, []) == whole


def test_a_file_that_is_gone_expires_the_snapshot(bench: Bench) -> None:
    whole = filled(bench, 1)
    Path(whole.root, whole.files[0].path).unlink()

    with pytest.raises(FileNotFoundError):
        TextSearch().narrow(whole, wanted(7))


def test_only_ranges_of_rows_are_read(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = filled(bench, 1)
    monkeypatch.setattr(IndexReader, "ranges", lambda *_: (RowRange(2, 3), RowRange(10, 1)))

    narrowed = TextSearch().narrow(whole, wanted(7))

    rows = scan(replace(whole, files=whole.files)).collect()["trace"]
    assert scan(narrowed).collect()["trace"].to_list() == [*rows[2:5], rows[10]]
    assert narrowed.rows_of(whole.files[0]) == 4


def test_ranges_of_one_file_are_scans_of_their_own(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """Polars would read the whole file once, convert its times, and take both ranges of that."""
    bench.append(trace=[trace(each) for each in range(ROWS)], begun=[NOON] * ROWS)
    bench.convert()
    monkeypatch.setattr(IndexReader, "ranges", lambda *_: (RowRange(2, 3), RowRange(10, 1)))
    narrowed = TextSearch().narrow(take_snapshot(bench.layout, bench.app), wanted(7))

    rows = scan(narrowed).filter(pl.col("trace") != trace(2))

    assert "CACHE" not in rows.explain(engine="streaming")
    assert rows.collect(engine="streaming")["trace"].to_list() == [trace(3), trace(4), trace(10)]


def test_indexes_of_objects_are_fetched(tmp_path: Path, database: None, bucket: str) -> None:
    bench = Bench(tmp_path, bucket)
    whole = filled(bench, 3)

    narrowed = TextSearch().narrow(whole, wanted(ROWS + 7))

    assert narrowed.files == whole.files[1:2]
    assert trace(ROWS + 7) in scan(narrowed).collect()["trace"]
    bench.storage.close()


def test_indexes_of_copies_are_read_there(
    tmp_path: Path, database: None, bucket: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench = Bench(tmp_path, bucket)
    bench.layout = replace(bench.layout, cached=CacheLimits(2**30))
    whole = filled(bench, 2)
    monkeypatch.setattr("storage.read.text_search.read_range", pytest.fail)

    assert TextSearch().narrow(whole, wanted(7)).files == whole.files[:1]
    bench.storage.close()


def test_times_of_row_groups_are_those_of_this_host(tmp_path: Path, database: None, bucket: str) -> None:
    """To fetch them would cost as much as to read what they spare."""
    bench = Bench(tmp_path, bucket)
    plain = filled(bench, 1)
    (file,) = plain.files
    copied = replace(bench.layout, cached=CacheLimits(2**30))

    assert TextSearch().row_groups(plain, file) == []
    whole = take_snapshot(copied, bench.app)
    scan(whole).collect()
    assert TextSearch().row_groups(whole, file) == [TimedRows(RowRange(0, ROWS), file.tmin, file.tmax)]
    bench.storage.close()


def test_a_store_that_is_away_leaves_all_files(tmp_path: Path, database: None, bucket: str) -> None:
    """Whoever reads the rows gets the error."""
    bench = Bench(tmp_path, bucket)
    whole = filled(bench, 2)

    elsewhere = replace(whole, root="s3://no-such-bucket/prefix")

    assert TextSearch().narrow(elsewhere, wanted(7)).files == whole.files
    bench.storage.close()
