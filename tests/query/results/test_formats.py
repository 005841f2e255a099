"""Results as bytes: api.md section 5, "Result"."""

import csv
import io
import json
from collections.abc import Callable
from datetime import UTC, date, datetime, time
from decimal import Decimal
from typing import Any, NamedTuple, cast

import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from query.lower.output import unique_names
from query.results import formats
from query.results.options import Format, Options

NOON = datetime(2026, 1, 31, 12, tzinfo=UTC)


class Column(NamedTuple):
    name: str
    type: str


def render(frame: pl.DataFrame, types: dict[str, str] | None = None, **options: Any) -> bytes:
    """The bytes of `frame`. Columns without an entry in `types` are text, which no format treats specially."""
    columns = [Column(name, (types or {}).get(name, "text")) for name in frame.columns]
    pieces: list[bytes] = []
    formats.stream(frame.lazy(), columns, Options(**options), pieces.append)
    return b"".join(pieces)


def one(values: list[Any], dtype: Any = None, kind: str = "text", **options: Any) -> str:
    """The text of a single column `v` of these values."""
    return render(pl.DataFrame({"v": pl.Series(values, dtype=dtype)}), {"v": kind}, **options).decode()


def test_json_is_compact_with_keys_in_select_order() -> None:
    assert render(pl.DataFrame({"b": [1, 2], "a": ["x", None]})) == b'[{"b":1,"a":"x"},{"b":2,"a":null}]'


def test_a_count_is_byte_for_byte_what_clients_compare() -> None:
    assert render(pl.DataFrame({"count": [50]}), {"count": "int8"}) == b'[{"count":50}]'


def test_no_rows_are_an_empty_array() -> None:
    assert render(pl.DataFrame(schema={"a": pl.Int64})) == b"[]"


def test_fields_form_names_the_columns_before_the_records() -> None:
    frame = pl.DataFrame({'q"': [1]})

    assert render(frame, fields=True) == b'{"fields":["q\\""],"records":[{"q\\"":1}]}'
    assert render(frame.clear(), fields=True) == b'{"fields":["q\\""],"records":[]}'


def test_ndjson_is_one_object_a_line() -> None:
    frame = pl.DataFrame({"a": [1, 2]})

    assert render(frame, format=Format.NDJSON) == b'{"a":1}\n{"a":2}\n'
    assert render(frame, format=Format.NDJSON, fields=True) == b'{"fields":["a"]}\n{"a":1}\n{"a":2}\n'
    assert render(frame.clear(), format=Format.NDJSON) == b""


def test_without_nulls_their_members_are_left_out() -> None:
    frame = pl.DataFrame({"a": [1, None, None], "n": [None, Decimal("1.5"), None], "f": [float("nan"), 1.0, None]})

    assert render(frame, {"n": "numeric"}, send_null=False) == b'[{"a":1},{"n":1.5,"f":1.0},{}]'


def test_every_key_is_in_every_row_by_default() -> None:
    assert one([None, None], pl.Int64) == '[{"v":null},{"v":null}]'


@pytest.mark.parametrize(
    ("values", "dtype", "kind", "expected"),
    [
        pytest.param([NOON, None], None, "timestamptz", ["2026-01-31T12:00:00Z", None], id="microseconds"),
        pytest.param(
            [NOON.replace(microsecond=7)], None, "timestamptz", ["2026-01-31T12:00:00.000007Z"], id="fraction"
        ),
        pytest.param([NOON], pl.Datetime("ns", "UTC"), "timestamptz", ["2026-01-31T12:00:00Z"], id="nanoseconds"),
        pytest.param([1], pl.Datetime("ns", "UTC"), "timestamptz", ["1970-01-01T00:00:00.000000001Z"], id="one-ns"),
        pytest.param([NOON.replace(tzinfo=None)], None, "timestamp", ["2026-01-31T12:00:00"], id="without-zone"),
        pytest.param([[NOON], None, []], None, "timestamptz[]", [["2026-01-31T12:00:00Z"], None, []], id="list"),
        pytest.param([date(2026, 1, 31)], None, "date", ["2026-01-31"], id="date"),
        pytest.param([time(1, 2, 3, 4)], None, "time", ["01:02:03.000004"], id="time"),
        pytest.param([1.5, float("nan"), float("inf"), -float("inf")], None, "float8", [1.5, None, None, None], id="f"),
        pytest.param([[1.5, float("nan")], None], None, "float8[]", [[1.5, None], None], id="float-list"),
        pytest.param([True, None], None, "bool", [True, None], id="bool"),
        pytest.param([2**63 - 1, -(2**63)], None, "int8", [2**63 - 1, -(2**63)], id="int8"),
        pytest.param([2**100], pl.Int128, "numeric", [2**100], id="wide-integer"),
        pytest.param([["a", None], []], None, "text[]", [["a", None], []], id="text-list"),
        pytest.param(['{"a": [1, "x"]}', "null", None], None, "jsonb", [{"a": [1, "x"]}, None, None], id="jsonb"),
        pytest.param(['{"a":\n 1}'], None, "json", [{"a": 1}], id="json-over-lines"),
        pytest.param([['{"a": 1}', None, "2"]], None, "jsonb[]", [[{"a": 1}, None, 2]], id="jsonb-list"),
        pytest.param([b"\x01\xff", None], None, "bytea", ["\\x01ff", None], id="bytea"),
        pytest.param(["NaN", "1.50", None], None, "numeric", [None, 1.5, None], id="numeric-text"),
        pytest.param(['q"\\\n\x00\x1f\u2028é😀'], None, "text", ['q"\\\n\x00\x1f\u2028é😀'], id="text"),
        pytest.param(["", "null", "NaN"], None, "text", ["", "null", "NaN"], id="text-that-looks-like-json"),
    ],
)
@pytest.mark.parametrize("send_null", [True, False])
def test_json_values(values: list[Any], dtype: Any, kind: str, expected: list[Any], send_null: bool) -> None:
    """api.md section 5: RFC 3339 with Z, NaN and infinities as null, JSON inlined, lists as arrays."""
    found = json.loads(one(values, dtype, kind, send_null=send_null))

    assert [row.get("v") for row in found] == expected


def test_numeric_keeps_every_digit() -> None:
    values = [Decimal("12345678901234567890.123456"), Decimal("-0.500000"), None]

    assert one(values, pl.Decimal(38, 6), "numeric") == (
        '[{"v":12345678901234567890.123456},{"v":-0.500000},{"v":null}]'
    )
    assert one([values], pl.List(pl.Decimal(38, 6)), "numeric[]") == (
        '[{"v":[12345678901234567890.123456,-0.500000,null]}]'
    )


def test_csv_has_postgresql_text() -> None:
    """As `COPY ... TO ... (FORMAT csv, HEADER)` in time zone UTC."""
    frame = pl.DataFrame(
        {
            "t": [NOON.replace(microsecond=120_000), None],
            "b": [True, False],
            "f": [1.0, 1e15],
            "s": ["", 'say "x", y'],
            "l": [["a", "b c", None, ""], []],
            "n": [Decimal("1.50"), None],
        }
    )
    types = {"t": "timestamptz", "b": "bool", "f": "float8", "l": "text[]", "n": "numeric"}

    assert render(frame, types, format=Format.CSV).decode().splitlines() == [
        "t,b,f,s,l,n",
        '2026-01-31 12:00:00.12+00,t,1,"","{a,""b c"",NULL,""""}",1.50',
        ',f,1e+15,"say ""x"", y",{},',
    ]


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0"),
        (0.1, "0.1"),
        (1e-4, "0.0001"),
        (1e-5, "1e-05"),
        (123456.0, "123456"),
        (-1e20, "-1e+20"),
        (float("nan"), "NaN"),
        (float("inf"), "Infinity"),
        (None, ""),
    ],
)
def test_csv_floats_are_postgresql_text(value: float | None, text: str) -> None:
    assert one([value], pl.Float64, "float8", format=Format.CSV) == f"v\n{text}\n"


def test_an_empty_csv_has_its_header() -> None:
    assert render(pl.DataFrame(schema={"a,b": pl.Int64, "c": pl.Int64}), format=Format.CSV) == b'"a,b",c\n'


FORMULAS = ["=1+1", "+1", "-2+3", "@SUM(A1)", "\t=1", "\r=1", "＝1+1"]


def test_formulas_are_neutralised_on_request() -> None:
    """attacks.md 25: a cell that a spreadsheet would execute; numbers keep their sign."""
    frame = pl.DataFrame({"=h": FORMULAS, "n": [-1] * len(FORMULAS)})

    found = list(
        csv.reader(
            io.StringIO(render(frame, {"n": "int8"}, format=Format.CSV, escape_formulas=True).decode(), newline="")
        )
    )

    assert found == [["'=h", "n"], *([f"'{text}", "-1"] for text in FORMULAS)]


def test_formulas_are_untouched_without_the_request() -> None:
    assert one(["=1+1", "a=b"], format=Format.CSV) == "v\n=1+1\na=b\n"


def test_an_arrow_stream_of_many_batches_is_one_stream(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(formats, "PIECE_BYTES", 64)
    frame = pl.DataFrame({"i": range(1000), "s": [f"row {i}" for i in range(1000)], "t": [NOON] * 1000})

    table = pa.ipc.open_stream(render(frame, format=Format.ARROW)).read_all()

    assert table.to_pylist() == frame.to_dicts()
    assert table.schema.field("s").type == pa.large_string()


def test_an_empty_arrow_stream_has_its_schema() -> None:
    table = pa.ipc.open_stream(render(pl.DataFrame(schema={"i": pl.Int64}), format=Format.ARROW)).read_all()

    assert (table.num_rows, table.schema.names) == (0, ["i"])


def test_parquet_reads_back() -> None:
    frame = pl.DataFrame({"i": [1, None], "t": [NOON, None], "n": pl.Series([2**70, None], dtype=pl.Int128)})

    found = pl.read_parquet(io.BytesIO(render(frame, format=Format.PARQUET)))

    assert found.rows() == [(1, NOON, Decimal(2**70)), (None, None, None)]


def test_a_big_result_comes_in_pieces_that_join_to_one_document(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(formats, "PIECE_BYTES", 1024)
    frame = pl.DataFrame({"i": range(10_000)})
    pieces: list[bytes] = []

    formats.stream(frame.lazy(), [Column("i", "int8")], Options(), pieces.append)

    assert len(pieces) > 50
    assert json.loads(b"".join(pieces)) == [{"i": i} for i in range(10_000)]


def test_an_error_while_the_plan_runs_reaches_the_caller() -> None:
    def fail(_: pl.DataFrame) -> pl.DataFrame:
        raise ArithmeticError("on the way")

    frame = pl.DataFrame({"i": [1]}).lazy().map_batches(fail, schema={"i": pl.Int64})

    with pytest.raises(ArithmeticError, match="on the way"):
        formats.stream(frame, [Column("i", "int8")], Options(), lambda _: None)


JSON_VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53), 2**53)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@settings(max_examples=60)
@given(
    st.lists(
        st.tuples(
            st.none() | st.text(),
            st.none() | st.integers(-(2**63), 2**63 - 1),
            JSON_VALUES,
            st.none() | st.floats(width=64),
        ),
        max_size=5,
    ),
    st.text(min_size=1, max_size=5) | st.sampled_from(["*", "^.*$", "^$"]),
)
def test_what_is_rendered_parses_back_to_the_values(rows: list[tuple[Any, ...]], name: str) -> None:
    names = unique_names([name, "i", "j", "f"])
    frame = pl.DataFrame(
        {
            names[0]: pl.Series([row[0] for row in rows], dtype=pl.String),
            names[1]: pl.Series([row[1] for row in rows], dtype=pl.Int64),
            names[2]: pl.Series([json.dumps(row[2], indent=1) for row in rows], dtype=pl.String),
            names[3]: pl.Series([row[3] for row in rows], dtype=pl.Float64),
        }
    )

    found = json.loads(render(frame, {names[2]: "jsonb"}))

    finite = [row[3] if row[3] is not None and abs(row[3]) < float("inf") else None for row in rows]
    assert [list(row.values()) for row in found] == [[*row[:3], f] for row, f in zip(rows, finite, strict=True)]
    assert all(list(row) == names for row in found)


class Panicking:
    """A plan at which the streaming engine panics after a number of rows, and which runs in memory."""

    def __init__(self, rows: pl.DataFrame, before: int) -> None:
        self._rows, self._before = rows, before

    def sink_batches(self, function: Callable[[pl.DataFrame], None], **_: object) -> None:
        function(self._rows.head(self._before))
        raise pl.exceptions.PanicException("assertion failed")

    def collect(self, *, engine: str) -> pl.DataFrame:
        assert engine == "in-memory"
        return self._rows


def test_plan_that_panics_is_run_anew_in_memory() -> None:
    """Polars panics at a few plans that are right: the answer is neither cut short nor lost."""
    pieces: list[bytes] = []
    frame = cast(pl.LazyFrame, Panicking(pl.DataFrame({"a": [1, 2, 3]}), before=2))

    formats.stream(frame, [Column("a", "int8")], Options(Format.CSV), pieces.append)

    assert b"".join(pieces).split() == [b"a", b"1", b"2", b"3"]


def test_plan_that_panics_after_much_was_sent_is_an_error() -> None:
    pieces: list[bytes] = []
    frame = cast(pl.LazyFrame, Panicking(pl.DataFrame({"a": ["x" * 1000] * 1000}), before=1000))

    with pytest.raises(pl.exceptions.PanicException):
        formats.stream(frame, [Column("a", "text")], Options(Format.CSV), pieces.append)

    assert pieces
