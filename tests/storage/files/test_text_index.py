"""Text indexes: a row group that has a row that is wanted is never ruled out, and most of the others are."""

import base64
import random
import re
import zlib
from pathlib import Path

import polars as pl
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from storage.files.bit_filters import (
    LONG_GRAMS,
    SHORT_GRAMS,
    SPARSE_GRAMS,
    WINDOW,
    collect_grams,
    hash_text,
    hash_texts,
    places_of_value,
    value_bits,
    value_places,
)
from storage.files.index_reader import IndexReader, fetched_index, open_index
from storage.files.row_range import RowRange, TimedRows
from storage.files.text_conditions import AnyOf, HasParts, IsOneOf, TextCondition
from storage.files.text_index import MOST_SHARE, Chosen, IndexLocation, RowGroups, add_index, build

GROUP_ROWS = 5
LETTERS = 'aAbBkKiIsS019 -_\u0130\u0131\u017f\u212aäÄßΣσς日\0\n"\\'
TEXTS = st.lists(st.none() | st.text(LETTERS, max_size=60), min_size=1, max_size=23)

Indexed = tuple[Path, pl.DataFrame, IndexLocation]


def groups_found(texts: list[str | None], condition: TextCondition) -> set[int]:
    """The row groups that the index of these texts leaves."""
    rows = pl.DataFrame({"text": pl.Series(texts, dtype=pl.String())})
    return groups_of(build(rows, RowGroups(GROUP_ROWS), 10**6), len(texts), condition)


def groups_of(data: bytes, rows: int, condition: TextCondition) -> set[int]:
    """The row groups that this index leaves."""
    ranges = IndexReader().ranges("", fetched_index(data), rows, [(condition,)])
    if ranges is None:
        return set(range((rows + GROUP_ROWS - 1) // GROUP_ROWS))
    return {row // GROUP_ROWS for each in ranges for row in range(each.start, each.start + each.rows)}


@given(TEXTS, st.text(LETTERS, max_size=30), st.data())
def test_row_group_with_the_value_is_never_ruled_out(texts: list[str | None], other: str, data: st.DataObject) -> None:
    value = data.draw(st.sampled_from([*(text for text in texts if text is not None), other]))

    found = groups_found(texts, IsOneOf("text", (value, "neither")))

    assert {number // GROUP_ROWS for number, text in enumerate(texts) if text == value} <= found


@given(TEXTS, st.data(), st.booleans())
def test_row_group_with_the_part_is_never_ruled_out(
    texts: list[str | None], data: st.DataObject, ignore_case: bool
) -> None:
    """Case is ignored as ILIKE and `~*` do it: both the engine's lower case and folding of expressions."""
    source = data.draw(st.sampled_from([text or "nothing" for text in texts]))
    start = data.draw(st.integers(0, len(source)))
    part = source[start : start + data.draw(st.integers(1, 20))]
    part = data.draw(st.sampled_from([part, part.lower(), part.upper()])) if ignore_case else part

    found = groups_found(texts, HasParts("text", (part,), ignore_case))

    matches = re.compile(re.escape(part), re.IGNORECASE if ignore_case else 0)
    has = {
        number // GROUP_ROWS
        for number, text in enumerate(texts)
        if text is not None and (matches.search(text) or (ignore_case and part.lower() in text.lower()))
    }
    assert has <= found


def needle(number: int) -> str:
    """A word that is in one line only."""
    return f"needle{random.Random(number).getrandbits(40):010x}"


def log_lines(count: int) -> pl.DataFrame:
    """Lines with an id each, a user of few, and a word of their own in every thousandth."""
    draw = random.Random(7)
    words = "connection reset by peer while the upstream was reading a response of the request queue".split()
    texts = [
        f"{' '.join(draw.choices(words, k=9))} id={draw.randrange(10**7)}" + (f" {needle(n)}" if n % 1000 == 0 else "")
        for n in range(count)
    ]
    return pl.DataFrame(
        {
            "trace": [f"{draw.getrandbits(128):032x}" for _ in range(count)],
            "user": [f"user-{draw.randrange(50_000)}" for _ in range(count)],
            "level": [draw.choice(("info", "error")) for _ in range(count)],
            "message": texts,
            "n": range(count),
        }
    )


@pytest.fixture(scope="module")
def indexed(tmp_path_factory: pytest.TempPathFactory) -> Indexed:
    """A file of 20 row groups with an index."""
    rows = log_lines(40_000)
    path = tmp_path_factory.mktemp("index") / "file.parquet"
    rows.write_parquet(path, compression="zstd", compression_level=1, row_group_size=2_000)
    return path, rows, add_index(path, rows, RowGroups(2_000))


def ranges_of(indexed: Indexed, *conditions: TextCondition) -> list[RowRange]:
    path, rows, place = indexed
    with open_index(str(path), place) as read:
        found = IndexReader().ranges(str(path), read, rows.height, [conditions])
    return [RowRange(0, rows.height)] if found is None else list(found)


def test_value_is_found_in_its_row_group(indexed: Indexed) -> None:
    """And now and then in another one, since the filters of these long lines have less than their usual room."""
    found = [ranges_of(indexed, IsOneOf("trace", (trace,))) for trace in indexed[1]["trace"][12_000:12_050]]

    assert all(any(each.start <= 12_000 < each.start + each.rows for each in ranges) for ranges in found)
    assert sum(ranges == [RowRange(12_000, 2_000)] for ranges in found) > 30


def test_value_that_is_nowhere_is_found_nowhere(indexed: Indexed) -> None:
    assert ranges_of(indexed, IsOneOf("trace", ("1" * 32,))) == []
    assert ranges_of(indexed, IsOneOf("level", ("fatal",))) == []


def test_last_row_group_is_shorter(tmp_path: Path) -> None:
    rows = log_lines(4_500)
    path = tmp_path / "file.parquet"
    rows.write_parquet(path, row_group_size=2_000)
    place = add_index(path, rows, RowGroups(2_000))

    assert ranges_of((path, rows, place), IsOneOf("trace", (rows["trace"][4_400],))) == [RowRange(4_000, 500)]


def test_part_is_found_in_its_row_group(indexed: Indexed) -> None:
    assert ranges_of(indexed, HasParts("message", (needle(31_000),))) == [RowRange(30_000, 2_000)]
    assert ranges_of(indexed, HasParts("message", (needle(31_000).upper(),), ignore_case=True)) == [
        RowRange(30_000, 2_000)
    ]


def test_part_of_three_letters_that_is_nowhere_is_found_nowhere(
    indexed: Indexed,
) -> None:
    assert ranges_of(indexed, HasParts("message", ("zqj",))) == []


def test_part_of_two_letters_rules_nothing_out(indexed: Indexed) -> None:
    assert ranges_of(indexed, HasParts("message", ("zq",))) == [RowRange(0, 40_000)]


def test_all_conditions_have_to_hold_and_one_branch_is_enough(
    indexed: Indexed,
) -> None:
    traces = indexed[1]["trace"]
    first, second = IsOneOf("trace", (traces[2],)), IsOneOf("trace", (traces[30_002],))

    assert ranges_of(indexed, first, second) == []
    assert ranges_of(indexed, AnyOf(((first,), (second,)))) == [RowRange(0, 2_000), RowRange(30_000, 2_000)]


def test_column_without_an_index_rules_nothing_out(indexed: Indexed) -> None:
    assert ranges_of(indexed, IsOneOf("unknown", ("x",))) == [RowRange(0, 40_000)]


def test_index_takes_no_more_than_its_share_of_the_file(indexed: Indexed) -> None:
    path, _, place = indexed

    assert 0 < place.bytes <= MOST_SHARE * (path.stat().st_size - place.bytes)


def test_file_with_an_index_is_read_as_before(indexed: Indexed) -> None:
    """Parquet format, "File format": readers find the footer from the end, and pages by offsets from the beginning."""
    path, rows, _ = indexed

    assert pl.read_parquet(path).equals(rows)
    assert pl.scan_parquet(path).slice(12_000, 2_000).collect().equals(rows[12_000:14_000])
    assert pl.from_arrow(pq.read_table(path)).select(rows.columns).equals(rows)  # type: ignore[union-attr]


def test_file_with_an_index_is_read_by_duckdb(indexed: Indexed) -> None:
    path, _, _ = indexed
    duckdb = pytest.importorskip("duckdb")

    assert duckdb.sql(f"SELECT count(DISTINCT trace) FROM '{path}' WHERE n < 100").fetchall() == [(100,)]


def test_only_the_columns_that_are_wanted_are_indexed(tmp_path: Path) -> None:
    rows = log_lines(5_000)
    path = tmp_path / "file.parquet"
    rows.write_parquet(path, row_group_size=2_000)

    place = add_index(path, rows, RowGroups(2_000), Chosen(frozenset({"user"})))

    assert ranges_of((path, rows, place), IsOneOf("user", ("nobody",))) == []
    assert ranges_of((path, rows, place), IsOneOf("trace", ("nothing",))) == [RowRange(0, 5_000)]


def test_no_columns_are_no_index(tmp_path: Path) -> None:
    rows = log_lines(5_000)
    path = tmp_path / "file.parquet"
    rows.write_parquet(path)
    before = path.read_bytes()

    assert add_index(path, rows, RowGroups(2_000), Chosen(frozenset())) == IndexLocation()
    assert path.read_bytes() == before


def test_escaped_letters_of_json_are_not_missed() -> None:
    rest = ',"path":"/orders/checkout/confirm","host":"node-12"}'
    plain, escaped, other = '{"user":"annabel"' + rest, r'{"user":"\u0061nnabel"' + rest, '{"user":"bob"' + rest
    wanted = HasParts("text", ("annabel",), in_json=True)

    assert groups_found([plain] * 5 + [escaped] * 5 + [other] * 5, wanted) == {0, 1}


def test_hashes_are_written_in_files_and_stay_the_same() -> None:
    texts = ["", "a", "trace-12345", "日本語のテキスト"]
    hashes = hash_texts(pl.Series(texts))

    expected = ["0000000000000000", "265a76381b7bc39f", "0c673631143dc3c2", "2d1a33d78f2bec19"]
    assert [f"{each:016x}" for each in hashes.tolist()] == expected
    assert [hash_text(text) for text in texts] == hashes.tolist()


def test_places_of_values_are_written_in_files_and_stay_the_same() -> None:
    hashes = hash_texts(pl.Series(["trace-12345", "a"]))

    for size in (100_000, 1_025, 64):
        places = value_places(hashes, size).tolist()
        assert [places_of_value(each, size) for each in hashes.tolist()] == places
        assert all(min(each) >= 0 and max(each) < size and max(each) - min(each) < WINDOW for each in places)
    assert places_of_value(int(hashes[0]), 100_000) == [8821, 8444, 8450, 8285, 9080, 8958, 8323, 8088, 9277, 8402]


def test_value_that_is_not_there_is_rarely_found() -> None:
    """One of 9,000 at 20 bits a value; with twelve places anywhere it would be one of 14,000."""
    bits = value_bits(hash_texts(pl.Series([f"there {each}" for each in range(30_000)])), 30_000 * 20)
    others = value_places(hash_texts(pl.Series([f"not there {each}" for each in range(200_000)])), 30_000 * 20)

    assert 0 < bits[others].all(axis=1).sum() < 200_000 / 6_000


def test_grams_are_written_in_files_and_stay_the_same() -> None:
    assert collect_grams(b"abcd", SHORT_GRAMS).tolist() == [45983, 55309]
    assert collect_grams(b"abcdefgh", SPARSE_GRAMS).tolist() == [813358, 928698]
    assert collect_grams(b"abcdefgh", LONG_GRAMS).tolist() == [693481, 1626717, 1857396]


# An index of the first format, as it was written: of 15 rows in three row groups, with a value and a line each.
FIRST_FORMAT = (
    "c-jkh^$ZG$2r;Z=U|^_LD#|Y}R<bhHQA#h$FD(EvjdhgLGIL5&i-7FtXr+?WiV`IqrLx4F($r$5Se<C4oXosbph$5>eo+asKu&&Mx>9Vcj#6n}T7FJSYKo"
    "FoHAK!T+Ay|OM=7;9Ik5mNTw5Cev>b*d7#SFBfY=0x*8urDfOrEC3x4rj)cB?M?V<-6-3k|(GI{d4&TwvR3>EH-b6|AkWD#Q!Y-MmrkYPC{z@Q-F(CZRlA"
    "<$zWpkSn+FhO7eGm8tOKn9b5q9Q|sgN1<tA5(*bK!cHr3JW(&+eL*224*Lb90^8t0|gdFfg22+5gv>R27D~Njtq=UiW<pE4jD=YZH*01TpSVs1`J#R2`r5q"
    "4jw8EjtWd{OdJPG6#{xWID{M+ySW&ER`94X1vD@<y)a2>;9^u^Vi0NOXb9k8Xm?`ZkWg5%s$qc^ivt6v2mpihVAc"
)


# One of the second format, of such rows with longer lines.
SECOND_FORMAT = (
    "c-jkh^$ZG$2r-(?z`#(gRFq#{tYl@Xqg0Zan+jw_M;jXG7+S{aL>n3C7=dVG107?_*jOE<^rHOI0-zFO9i_C)oRZWcuyUo6)QS=%9i_6woKm0xKn"
    "+ScnR%%|k)qN(6n=3=eo=`M$fVM|wEUcu)D$JFYKWv&v|((mj#6rIa$*5kxVAP5=sXyHjf6EA5tuc^V?)=}Y(^HYUZ-{8TnYjb$G0tdeo$%FH2sh"
    "T49W>h<SZ9FK3@31qT#U$i<1Q><8j6h3?dy24ax$1f(>;K7!;grnHaABWoA%Rv0cY_qLjgq@0ftX1NH)*gN!l^d@>pzlvx!RjubLju>4_Qe8}GCz"
    "_4)s5B5Jmy9F2+8kiaWg#)PrjIs(<3>I}jAx3sS28Tv@eufwZhX+6E84fUtSX4MPG&pncF|af|wy669)YZ@c6bGu60ea^FD}y)#13SY5hKB$43=9"
    "@P5k-b}2B0(tyTBiyf(9UFWB>pvc6n$"
)


@pytest.mark.parametrize("number", [0, 4, 5, 7, 14])
def test_index_of_the_second_format_is_read(number: int) -> None:
    data = zlib.decompress(base64.b85decode(SECOND_FORMAT))
    line = f"number {number**2:08d}" + ("\u212a" if number == 7 else "x")

    assert groups_of(data, 15, IsOneOf("text", (f"trace-{number}",))) == {number // GROUP_ROWS}
    assert number // GROUP_ROWS in groups_of(data, 15, HasParts("line", (line,)))
    assert groups_of(data, 15, IsOneOf("text", ("trace-99",))) == set()
    assert len(IndexReader().row_groups("", fetched_index(data), 15)) == 3


@pytest.mark.parametrize("number", [0, 4, 5, 7, 14])
def test_index_of_the_first_format_is_read(number: int) -> None:
    data = zlib.decompress(base64.b85decode(FIRST_FORMAT))
    line = f"number {number**2:08d}" + ("\u212a" if number == 7 else "x")
    wanted = IsOneOf("text", (f"trace-{number}",)), HasParts("line", (line,)), HasParts("line", (line,), True)

    value, *parts = (groups_of(data, 15, each) for each in wanted)

    assert value == {number // GROUP_ROWS}
    assert all(number // GROUP_ROWS in found for found in parts)
    assert groups_of(data, 15, IsOneOf("text", ("trace-99",))) == set()
    assert groups_of(data, 15, HasParts("line", ("otherwise",))) == set()
    assert IndexReader().row_groups("", fetched_index(data), 15) == []


def test_filters_of_different_sizes_are_found() -> None:
    """Those of a few values do not lie beside those of many."""
    texts = ["a"] * 5 + [f"trace-{each}" for each in range(40)] + ["a"] * 5

    assert [groups_found(texts, IsOneOf("text", (each,))) for each in ("a", "trace-12")] == [{0, 9}, {3}]


@pytest.mark.parametrize(
    ("users", "chosen", "is_there"),
    [
        (3_000, Chosen(), False),
        (500, Chosen(), True),
        (40_000, Chosen(), True),
        (3_000, Chosen(frozenset(["text"])), True),
    ],
    ids=["in most", "small", "in few", "named"],
)
def test_values_that_most_row_groups_have_are_not_looked_for(users: int, chosen: Chosen, is_there: bool) -> None:
    """Of 3,000 users each is in half of ten row groups, so that one is no reason to leave out any of them."""
    draw = random.Random(3)
    rows = pl.DataFrame({"text": [f"user-{draw.randrange(users)}" for _ in range(40_000)]})

    data = build(rows, RowGroups(4_000), 10**6, chosen)

    assert (IndexReader().ranges("", fetched_index(data), 40_000, [(IsOneOf("text", ("nobody",)),)]) == ()) == is_there


def test_times_of_row_groups_are_told() -> None:
    data = build(pl.DataFrame({"text": ["a"] * 7}), RowGroups(5, ((10, 19), (20, 21))), 10**6)

    found = IndexReader().row_groups("", fetched_index(data), 7)

    assert found == [TimedRows(RowRange(0, 5), 10, 19), TimedRows(RowRange(5, 2), 20, 21)]
