"""Text indexes are made by conversion and compaction, counted in the statistics, and gone with their files."""

from random import Random

import pytest

from models import column, dataset, file
from models.file import File
from storage.files.index_reader import IndexReader, open_index
from storage.files.row_range import RowRange
from storage.files.text_conditions import IsOneOf
from storage.files.text_index import LEAST_ROWS, MOST_SHARE, IndexLocation
from storage.read.dataset_stats import dataset_stats
from storage.upkeep.compaction import compact
from storage.upkeep.inspection import inspect
from tests.storage.workbench import NOON, Bench

ROWS = LEAST_ROWS + 1


def stored(bench: Bench) -> list[File]:
    return file.find(bench.app.id, None, None)


def trace(number: int) -> str:
    """Nothing that compresses: an index of texts that do would be large beside them, and is not made."""
    return f"{Random(number).getrandbits(128):032x}"


def append(bench: Bench, first: int) -> None:
    bench.append(trace=[trace(number) for number in range(first, first + ROWS)])
    bench.convert()


def ranges(bench: Bench, found: File, wanted: str, column_name: str = "trace") -> tuple[RowRange, ...] | None:
    path = f"{bench.layout.root}/{found.path}"
    with open_index(path, IndexLocation(found.index_start, found.index_bytes)) as read:
        return IndexReader().ranges(path, read, found.rows, [(IsOneOf(column_name, (wanted,)),)])


def test_conversion_makes_an_index(bench: Bench) -> None:
    append(bench, 0)

    (found,) = stored(bench)

    assert 0 < found.index_bytes <= MOST_SHARE * found.bytes
    assert ranges(bench, found, trace(7)) is None
    assert ranges(bench, found, "trace-of-nobody") == ()


def test_compaction_makes_an_index_of_all_rows(bench: Bench) -> None:
    append(bench, 0)
    append(bench, 10 * ROWS)

    assert compact(bench.layout, now=NOON.replace(year=2100)) == 2

    (found,) = stored(bench)
    assert ranges(bench, found, trace(7)) is None
    assert ranges(bench, found, trace(10 * ROWS)) is None
    assert ranges(bench, found, "trace-of-nobody") == ()


def test_few_rows_have_no_index(bench: Bench) -> None:
    bench.append(trace=["a", "b"])
    bench.convert()

    assert [each.index_bytes for each in stored(bench)] == [0]


@pytest.mark.parametrize(("columns", "is_indexed"), [(["trace"], True), (["other"], False), ([], False), (None, True)])
def test_dataset_chooses_its_columns(bench: Bench, columns: list[str] | None, is_indexed: bool) -> None:
    dataset.set_indexed_columns(bench.app.id, columns)
    append(bench, 0)

    assert [each.index_bytes > 0 for each in stored(bench)] == [is_indexed]


def test_statistics_tell_the_bytes_of_indexes(bench: Bench) -> None:
    append(bench, 0)
    append(bench, 10 * ROWS)

    stats = dataset_stats(bench.layout, bench.app)

    assert stats.index_bytes == sum(each.index_bytes for each in stored(bench)) > 0
    assert stats.stored_bytes == sum(each.bytes for each in stored(bench)) > stats.index_bytes


def test_inspection_finds_nothing_wrong_with_a_file_that_has_an_index(bench: Bench) -> None:
    append(bench, 0)

    assert list(inspect(bench.layout)) == []


def test_index_of_a_dropped_column_says_nothing_of_another_one_of_its_name(bench: Bench) -> None:
    """A column that comes again under the name of a dropped one is stored under another name."""
    append(bench, 0)
    before = column.schema(bench.app.id).by_name["trace"]
    bench.storage.drop_column("default", "app", str(before.id))
    append(bench, 10 * ROWS)

    after = column.schema(bench.app.id).by_name["trace"]

    assert after.stored != before.stored
    assert [ranges(bench, each, trace(7), after.stored) for each in stored(bench)] == [None, ()]
